"""vLLM's adapter: which program, and what a real vLLM's words mean."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from trials.data import data_root
from trials.engines import EngineNotFound, Failure, Pattern, engine
from trials.engines.adapter import Reading
from trials.engines.libraries import OUT_OF_MEMORY
from trials.engines.vllm import CAPTURED_GRAPHS, PATTERNS, PHASES, READINGS, Effective, read

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests/captures/vllm-0.25.1"
VLLM = engine("vllm")
OURS = ["--served-model-name", "m", "--host", "127.0.0.1", "--port", "1234"]


def captured(name: str) -> str:
    return (CAPTURES / f"{name}.log").read_text(encoding="utf-8")


def record(name: str) -> dict[str, Any]:
    records: dict[str, dict[str, Any]] = json.loads((CAPTURES / "captures.json").read_text(encoding="utf-8"))
    return records[name]


def program(path: Path, says: str = "exit 0") -> str:
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("AUTOTUNE_VLLM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def argv(*args: str) -> list[str]:
    return VLLM.argv(args, model="m", host="127.0.0.1", port=1234, data_root=data_root())


def test_the_first_argument_names_the_weights_and_ours_come_last(nothing_installed: Path) -> None:
    found = program(nothing_installed / "vllm")
    assert argv("/weights", "--max-num-seqs", "64") == [found, "serve", "/weights", "--max-num-seqs", "64", *OURS]


def test_in_an_image_vllm_is_on_the_path() -> None:
    argv = VLLM.argv(("/weights",), model="m", host="127.0.0.1", port=1234, data_root=None)
    assert argv == ["vllm", "serve", "/weights", *OURS]


@pytest.mark.parametrize("args", [(), ("--max-num-seqs", "64")])
def test_without_weights_the_models_name_is_the_hub_id(nothing_installed: Path, args: tuple[str, ...]) -> None:
    found = program(nothing_installed / "vllm")
    assert argv(*args) == [found, "serve", "m", *args, *OURS]


def test_the_help_says_why_weights_are_always_named() -> None:
    said = " ".join((CAPTURES / "help.txt").read_text(encoding="utf-8").split())
    assert "Defaults to Qwen/Qwen3-0.6B if no model is specified." in said


def test_the_named_program_wins_over_the_path(nothing_installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(nothing_installed / "vllm")
    named = program(nothing_installed / "mine")
    monkeypatch.setenv("AUTOTUNE_VLLM", named)
    assert argv()[0] == named


def test_a_named_program_that_cannot_run_is_not_passed_over(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(nothing_installed / "vllm")
    monkeypatch.setenv("AUTOTUNE_VLLM", "/no/such/program")
    with pytest.raises(EngineNotFound, match="AUTOTUNE_VLLM=/no/such/program is no program"):
        argv()


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_vllm_says_how_to_name_it() -> None:
    with pytest.raises(EngineNotFound, match="activate its environment, or name it in AUTOTUNE_VLLM"):
        argv()


def test_the_version_is_what_the_program_says_last_and_where_it_is(nothing_installed: Path) -> None:
    said = (CAPTURES / "version.txt").read_text(encoding="utf-8").strip()
    found = program(nothing_installed / "vllm", f"echo a warning; echo {said}")
    assert VLLM.version(data_root()) == f"vllm 0.25.1 at {found}"


@pytest.mark.parametrize("says", ["echo no torch >&2; exit 1", "echo no torch >&2"])
def test_a_vllm_that_does_not_tell_its_version_is_none(nothing_installed: Path, says: str) -> None:
    program(nothing_installed / "vllm", says)
    with pytest.raises(EngineNotFound, match=r"--version exited with code \d: no torch: mend it"):
        VLLM.version(data_root())


def test_a_program_in_no_format_that_runs_is_none(nothing_installed: Path) -> None:
    broken = nothing_installed / "vllm"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    with pytest.raises(EngineNotFound, match="mend it, or name another vllm"):
        VLLM.version(data_root())


DEFAULT = Effective(
    version="0.25.1",
    max_model_len=8192,
    max_num_batched_tokens=8192,
    async_scheduling=True,
    kv_cache_dtype="auto",
    kv_cache_tokens=5956560,
    kv_cache_gib=127.81,
    max_concurrency=727.12,
    attention_backend="FLASH_ATTN",
    cudagraph_mode="FULL_AND_PIECEWISE",
    captured_graphs=("FULL", "PIECEWISE"),
    weights_gib=0.26,
    compile_s=22.75,
    capture_s=5.0,
)


def differences(effective: Effective) -> dict[str, object]:
    """Return what is not as with the default flags."""
    return {name: value for name, value in vars(effective).items() if value != getattr(DEFAULT, name)}


@pytest.mark.parametrize(
    ("capture", "different"),
    [
        ("default-cold", {}),
        ("default-warm", {"compile_s": 4.66, "kv_cache_tokens": 5956512, "max_concurrency": 727.11}),
        ("no-async-scheduling", {"async_scheduling": False, "compile_s": 17.9}),
        ("stream-interval-20", {"compile_s": 5.68, "kv_cache_tokens": 5956512, "max_concurrency": 727.11}),
        (
            "piecewise",
            {
                "cudagraph_mode": "PIECEWISE",
                "captured_graphs": ("PIECEWISE",),
                "compile_s": 19.98,
                "capture_s": 3.0,
            },
        ),
        (
            "full-decode-only",
            {
                "cudagraph_mode": "FULL_DECODE_ONLY",
                "captured_graphs": ("FULL",),
                "compile_s": 14.79,
                "capture_s": 2.0,
            },
        ),
        (
            "enforce-eager",
            {"cudagraph_mode": "NONE", "captured_graphs": (), "compile_s": None, "capture_s": None},
        ),
        (
            "fp8-kv",
            {
                "kv_cache_dtype": "fp8",
                "kv_cache_tokens": 11913120,
                "max_concurrency": 1454.24,
                "compile_s": 21.74,
                "capture_s": 6.0,
            },
        ),
        (
            "int4-kv",
            {
                "kv_cache_dtype": "int4_per_token_head",
                "kv_cache_tokens": 21178880,
                "max_concurrency": 2585.31,
                "attention_backend": "TRITON_ATTN",
                "compile_s": 16.21,
                "capture_s": 15.0,
            },
        ),
    ],
)
def test_a_captured_start_says_what_runs(capture: str, different: dict[str, object]) -> None:
    assert differences(read(captured(capture))) == different


def test_what_runs_is_told_in_vllms_own_words() -> None:
    effective = VLLM.effective(captured("default-cold"))
    assert effective
    assert effective["kv_cache_tokens"] == "5,956,560"
    assert effective["captured_graphs"] == "FULL, PIECEWISE"
    assert VLLM.effective("") is None


def test_a_log_that_says_nothing_is_read_as_nothing() -> None:
    effective = read("")
    assert effective.captured_graphs == ()
    assert {value for name, value in vars(effective).items() if name != "captured_graphs"} == {None}


def test_the_metrics_tell_the_same_kv_cache_as_the_log() -> None:
    metrics = (CAPTURES / "default-cold.metrics-after.txt").read_text(encoding="utf-8")
    assert f'kv_cache_size_tokens="{DEFAULT.kv_cache_tokens}"' in metrics


WORDS = {
    "memory-kv": "CUDA out of memory. Tried to allocate 4.66 GiB for the KV cache",
    "memory-kv-below-one-sequence": "the available KV cache memory (13.06 GiB)",
    "memory-no-kv-at-all": "No available memory for the cache blocks",
    "memory-utilization-too-large": "is less than desired GPU memory utilization (1.0, 139.8 GiB)",
    "memory-weights": "CUDA out of memory. Tried to allocate 224.00 MiB for the weights",
    "refused-backend-for-kv-type": "FLASH_ATTN is not valid for this configuration. Reason: ['kv_cache_dtype not",
    "refused-bad-choice": "argument --kv-cache-dtype: invalid choice: 'fp9'",
    "refused-bad-graph-mode": "KeyError: 'SOMETIMES'",
    "refused-bad-json": "Invalid JSON: key must be a string",
    "refused-bad-number": "argument --max-num-seqs: invalid int value: 'many'",
    "refused-batched-tokens-under-seqs": "max_num_batched_tokens (128) must be greater than or equal to max_num_seqs",
    "refused-context-over-models": "max_model_len (200000) is greater than the derived max_model_len",
    "refused-environment": "Unknown level: 'LOUD'",
    "refused-experts-of-a-dense-model": "Number of experts in the model must be greater than 0",
    "refused-more-gpus-than-here": "World size (16) is larger than the number of available GPUs (1)",
    "refused-quantization-not-in-model": "Cannot find the config file for awq",
    "refused-unchunked-batch": "max_num_batched_tokens (2048) is smaller than max_model_len (131072)",
    "refused-unknown-backend": "Unknown attention backend: 'NOPE'",
    "refused-unknown-compilation-key": "no_such_key Unexpected keyword argument",
    "refused-unknown-flag": "unrecognized arguments: --no-such-flag 3",
    "refused-utilization-over-one": "gpu_memory_utilization Input should be less than or equal to 1",
    "world-no-gpu": "local rank 0 is out of bounds for 0 devices",
    "world-no-such-model": "Repo id must be in the form 'repo_name' or 'namespace/repo_name': '<missing>'",
    "world-port-taken": "Address already in use",
}


@pytest.mark.parametrize(("capture", "words"), WORDS.items())
def test_a_captured_failure_has_its_kind_and_the_engines_own_words(capture: str, words: str) -> None:
    failure = VLLM.explain(captured(capture), record(capture)["exit_code"])
    assert failure.kind == capture.partition("-")[0]
    assert words in failure.reason
    assert "\n" not in failure.reason
    assert "pid=" not in failure.reason


def test_no_captured_failure_is_left_out() -> None:
    names = {path.stem for kind in ("refused", "memory", "world") for path in CAPTURES.glob(f"{kind}-*.log")}
    assert names == set(WORDS)


def test_arguments_are_refused_with_code_2_and_configs_with_code_1() -> None:
    assert record("refused-unknown-flag")["exit_code"] == 2
    assert record("refused-unchunked-batch")["exit_code"] == 1


def test_memory_that_another_process_holds_is_the_worlds_fault() -> None:
    """The line of an engine that asks for too much, with figures of a GPU half full."""
    log = captured("memory-utilization-too-large").replace("(139.29/139.8 GiB)", "(70.1/139.8 GiB)")
    assert VLLM.explain(log, 1).kind == "world"


@pytest.mark.parametrize(("milestone", "phase"), PHASES.items())
def test_an_allocation_is_told_by_the_last_line_before_it(milestone: str, phase: str) -> None:
    """Starts of a captured log, cut after a milestone; the failure's line is another capture's."""
    whole = captured("default-cold")
    cut = whole[: whole.index(milestone) + len(milestone)]
    log = f"{cut}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has"
    assert VLLM.explain(log, 1) == Failure("memory", f"CUDA out of memory. Tried to allocate 224.00 MiB {phase}")


def test_an_allocation_in_a_log_without_a_beginning_has_no_phase() -> None:
    log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has"
    assert VLLM.explain(log, 1) == Failure("memory", "CUDA out of memory. Tried to allocate 224.00 MiB")


def test_a_core_that_was_killed_decides_nothing() -> None:
    assert VLLM.explain(captured("core-killed"), 0) == Failure("unknown", "engine core exited unexpectedly")


@pytest.mark.parametrize("capture", ["default-cold", "sigterm-under-load"])
def test_a_good_start_and_a_stop_mean_nothing(capture: str) -> None:
    assert VLLM.explain(captured(capture), 0).kind == "unknown"
    assert record(capture)["exit_code"] == 0


CAPTURED = [pattern for pattern in PATTERNS if pattern not in OUT_OF_MEMORY]


@pytest.mark.parametrize("pattern", CAPTURED, ids=lambda pattern: pattern.regex)
def test_every_pattern_is_found_in_the_source_that_it_names(pattern: Pattern) -> None:
    assert re.search(pattern.regex, (ROOT / pattern.source).read_text(encoding="utf-8"))


@pytest.mark.parametrize("reading", [*READINGS.values(), CAPTURED_GRAPHS], ids=lambda reading: reading.regex)
def test_every_reading_is_found_in_the_source_that_it_names(reading: Reading) -> None:
    assert re.search(reading.regex, (ROOT / reading.source).read_text(encoding="utf-8"))


def test_no_pattern_is_without_a_source() -> None:
    assert [pattern.regex for pattern in PATTERNS if not pattern.source] == []


def test_a_stream_interval_gives_the_first_token_alone_and_then_many_at_once() -> None:
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in (CAPTURES / "stream-interval-20.stream.http").read_text(encoding="utf-8").splitlines()
        if line.startswith("data: {")
    ]
    usage = next(chunk["usage"] for chunk in chunks if chunk.get("usage"))
    assert chunks[0]["choices"][0]["text"] == " Paris"
    assert usage["completion_tokens"] == 48
    assert len([chunk for chunk in chunks if chunk["choices"]]) == 4


@pytest.mark.parametrize(
    ("capture", "status"),
    [
        ("error-max-tokens", 400),
        ("error-long-prompt", 400),
        ("error-long-prompt-ids", 400),
        ("error-sum-over-context", 400),
        ("error-bad-json", 400),
        ("error-bad-type", 400),
        ("error-bad-token-id", 400),
        ("error-unknown-model", 404),
        ("error-unknown-path", 404),
        ("error-unknown-field", 200),
    ],
)
def test_a_request_that_cannot_be_served_is_an_error_unless_it_is_a_field_nobody_knows(
    capture: str, status: int
) -> None:
    answer = (CAPTURES / f"default-cold.{capture}.http").read_text(encoding="utf-8")
    assert answer.startswith(f"HTTP {status} ")
