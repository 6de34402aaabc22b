"""An engine's log while it grows: which new lines mean that it still builds."""

from pathlib import Path

import pytest

from trials.engines import ENGINES, engine
from trials.engines.adapter import Building
from trials.log import LINE_CHARS, BuildWatch

ROOT = Path(__file__).parents[2]
COLD = ROOT / "tests/captures/vllm-0.25.1/default-cold.log"
JIT = (
    "(EngineCore pid=7972) WARNING 05-16 11:10:19 [jit_monitor.py:103] Triton kernel JIT compilation during inference: "
    "_zero_kv_blocks_kernel. This causes a latency spike; consider extending warmup to cover this shape/config."
)
SAID_ELSEWHERE = {
    "vllm": (
        JIT,
        (
            "(EngineCore pid=2275828) WARNING 06-19 16:22:25 [jit_monitor.py:124] CuTeDSL JIT compilation during "
            "inference: FlashAttentionForwardSm100. This causes a latency spike"
        ),
        "Triton autotuning for function _chunk_state_fwd_kernel finished after 1.26s; best config selected:",
        (
            "(EngineCore pid=79) 2026-07-30 07:11:01,504 - INFO - autotuner.py:651 - flashinfer.jit: [Autotuner]: "
            "Autotuning process starts ..."
        ),
        "[aiter] start build [module_rmsnorm] under /home/user/.aiter/jit/build/module_rmsnorm",
        "[aiter] [pid=2406910 pname=MainProcess] start build [module_xxx] under /app/aiter/jit/build/module_xxx",
    ),
    "llamacpp": (
        (
            "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel_mul_mv_f16_f32_4', name = "
            "'kernel_mul_mv_f16_f32_4_nsg=4'"
        ),
    ),
}
"""Lines of public threads that the patterns' sources name."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "engine.log"
    path.write_text("torch.compile took 22.75 s in total\nready\n", encoding="utf-8")
    return path


def say(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)


def watch(log: Path, name: str = "vllm") -> BuildWatch:
    return BuildWatch(log, engine(name).building)


def test_what_was_built_at_the_start_is_passed_over(log: Path) -> None:
    assert watch(log).built() == ()


def test_a_new_build_line_is_told_once(log: Path) -> None:
    builds = watch(log)
    say(log, f"POST /v1/completions 200\n{JIT}\n")
    assert builds.built() == (JIT,)
    assert builds.built() == ()


def test_a_line_that_comes_in_two_pieces_is_one(log: Path) -> None:
    builds = watch(log)
    say(log, JIT[:60])
    assert builds.built() == ()
    say(log, f"{JIT[60:]}\n")
    assert builds.built() == (JIT,)


def test_a_progress_bar_that_returns_to_its_start_is_seen_before_its_line_ends(log: Path) -> None:
    builds = watch(log)
    say(log, "Capturing CUDA graphs (FULL):  10%|\rCapturing CUDA graphs (FULL):  20%|")
    assert builds.built() == ("Capturing CUDA graphs (FULL):  10%|",)


def test_a_log_that_comes_later_is_read_from_its_beginning(tmp_path: Path) -> None:
    builds = watch(tmp_path / "later.log")
    assert builds.built() == ()
    say(tmp_path / "later.log", f"{JIT}\n")
    assert builds.built() == (JIT,)


def test_bytes_that_are_no_text_and_endless_lines_are_no_trouble(log: Path) -> None:
    builds = watch(log)
    with log.open("ab") as file:
        file.write(b"\xff\xfe torch.compile took " + b"9" * 10_000 + b"\n")
    (line,) = builds.built()
    assert len(line) == LINE_CHARS


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, said in SAID_ELSEWHERE.items() for line in said])
def test_a_line_that_others_saw_is_known(log: Path, name: str, line: str) -> None:
    builds = watch(log, name)
    say(log, f"{line}\n")
    assert builds.built() == (line[:LINE_CHARS],)


CAPTURED = [
    (name, sign) for name, adapter in ENGINES.items() for sign in adapter.building if sign.source.startswith("tests/")
]


@pytest.mark.parametrize(("name", "sign"), CAPTURED, ids=lambda value: getattr(value, "regex", None))
def test_every_sign_is_found_in_the_capture_that_it_names(tmp_path: Path, name: str, sign: Building) -> None:
    assert sign in ENGINES[name].building
    log = tmp_path / "engine.log"
    builds = BuildWatch(log, [sign])
    log.write_bytes((ROOT / sign.source).read_bytes())
    assert builds.built()


def test_every_sign_has_a_source() -> None:
    assert all(sign.source for adapter in ENGINES.values() for sign in adapter.building)


def test_a_whole_cold_start_is_building_and_serving_is_not(tmp_path: Path) -> None:
    lines = COLD.read_text(encoding="utf-8").splitlines(keepends=True)
    serving = next(n for n, line in enumerate(lines) if "Application startup complete" in line)
    log = tmp_path / "engine.log"
    builds = watch(log)
    say(log, "".join(lines[:serving]))
    assert builds.built()
    say(log, "".join(lines[serving:]))
    assert builds.built() == ()
