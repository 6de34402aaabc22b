"""ATOM's adapter: its command line, and what lines of its source's form mean."""

import sys
from pathlib import Path

import pytest

from trials.data import data_root
from trials.engines import EngineNotFound, engine
from trials.engines.asked import mismatches
from trials.engines.atom import BUILDING, METRICS, PATTERNS, READINGS
from trials.load.counters import Counters, parse

ATOM = engine("atom")
OURS = ["--served-model-name", "m", "--host", "127.0.0.1", "--server-port", "1234"]
IMAGE = ["python3", "-m", "atom.entrypoints.openai_server"]


def argv(*args: str, image: bool = True) -> list[str]:
    return ATOM.argv(args, model="m", host="127.0.0.1", port=1234, data_root=None if image else data_root())


@pytest.mark.parametrize(
    ("args", "weights"),
    [
        ((), ["--model", "m"]),
        (("--level", "3"), ["--model", "m", "--level", "3"]),
        (("/weights", "--level", "3"), ["--model", "/weights", "--level", "3"]),
        (("--level", "3", "--model", "/weights"), ["--level", "3", "--model", "/weights"]),
        (("--model=/weights",), ["--model=/weights"]),
    ],
)
def test_weights_are_always_named_and_the_api_is_at_the_servers_own_port(
    args: tuple[str, ...], weights: list[str]
) -> None:
    assert argv(*args) == [*IMAGE, *weights, *OURS]


def test_on_this_machine_its_python_is_named_or_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_ATOM_PYTHON", sys.executable)
    assert argv(image=False)[0] == sys.executable
    monkeypatch.setenv("AUTOTUNE_ATOM_PYTHON", "/no/such/python")
    with pytest.raises(EngineNotFound, match="AUTOTUNE_ATOM_PYTHON=/no/such/python is no program"):
        argv(image=False)
    monkeypatch.delenv("AUTOTUNE_ATOM_PYTHON")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineNotFound, match="no python3 on PATH"):
        argv(image=False)
    (tmp_path / "python3").symlink_to(sys.executable)
    assert argv(image=False)[0] == str(tmp_path / "python3")


def test_a_python_without_atom_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_ATOM_PYTHON", sys.executable)
    with pytest.raises(EngineNotFound, match=f"atom is not in {sys.executable}: activate its environment"):
        ATOM.version(data_root())


def test_a_program_that_is_no_python_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "python"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    monkeypatch.setenv("AUTOTUNE_ATOM_PYTHON", str(broken))
    with pytest.raises(EngineNotFound, match="name another python in AUTOTUNE_ATOM_PYTHON"):
        ATOM.version(data_root())


def test_a_layout_is_sizes_and_a_switch_for_experts() -> None:
    assert ATOM.layout({"tp": 4, "dp": 2, "ep": 8}) == [
        *("--tensor-parallel-size", "4", "--data-parallel-size", "2"),
        "--enable-expert-parallel",
    ]
    assert ATOM.layout({"tp": 8, "ep": 1}) == ["--tensor-parallel-size", "8"]
    assert engine("vllm").layout({"pp": 2}) == ["--pipeline-parallel-size", "2"]
    assert engine("llamacpp").layout({"tp": 2}) == []


BUDGET = "Per-request cache tensor (12.00GB for 512 slots) exceeds available KV budget (-10.98GB) at "


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (f"RuntimeError: {BUDGET}--gpu-memory-utilization 0.90. Set --gpu-memory-utilization >= 0.97", "memory"),
        (f"RuntimeError: {BUDGET}--gpu-memory-utilization 0.90. Only 3.00GB is physically free on the GPU (", "world"),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 12.95 GiB. GPU 0 has a total", "memory"),
        ("[Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use", "world"),
        ("ValueError: Calculated local_device_rank=8 exceeds available GPUs (4). ", "refused"),
        ("ValueError: Calculated local_device_rank=0 exceeds available GPUs (0). ", "world"),
        ("openai_server.py: error: unrecognized arguments: --no-such-flag", "refused"),
        ("ValueError: --draft-model is required when --method eagle3.", "refused"),
        ("ValueError: Unknown --dspark-config key(s): ['x']. Supported keys: ['y']", "refused"),
        ("ValueError: num_speculative_tokens must be between 1 and 3, got 9.", "refused"),
        ("synthetic_acceptance_length (--spec-decode-acceptance-length) must be in [1, 3] for", "refused"),
        ("--enable-dp-attention and pipeline-parallel (pp>1) cannot be used together.", "refused"),
        ("ValueError: Error parsing size list: [1,2", "refused"),
        ("RuntimeError: Failed to start all EngineCore processes", "unknown"),
    ],
)
def test_a_line_has_its_kind_and_is_quoted(line: str, kind: str) -> None:
    failure = ATOM.explain(f"[atom] starting\n{line}\n[atom] bye", 1)
    assert failure.kind == kind
    assert failure.reason in line


def test_what_it_took_and_what_it_has_room_for_is_read() -> None:
    log = (
        "INFO Engine kwargs: {'kv_cache_dtype': 'fp8', 'enforce_eager': False, 'max_num_batched_tokens': 16384, "
        "'enable_prefix_caching': True, 'speculative_config': None}\n"
        "INFO [rank 0] Model load done: m (weights loaded in 41.50s)\n"
        "INFO Concurrent capacity vs context length (max_model_len=10240, block_size=16, max_slots=512, "
        "pool_blocks=123456):\n"
    )
    assert ATOM.effective(log) == {
        "kv_cache_dtype": "fp8",
        "max_num_batched_tokens": "16384",
        "enable_prefix_caching": "True",
        "enforce_eager": "False",
        "max_model_len": "10240",
        "block_size": "16",
        "max_num_seqs": "512",
        "kv_cache_blocks": "123456",
        "load_s": "41.50",
    }
    assert set(ATOM.effective(log) or ()) == set(READINGS)
    assert ATOM.effective("nothing") is None


def test_its_counters_are_known_by_name() -> None:
    page = "\n".join(f"# TYPE {name} untyped\n{name} 5" for names in METRICS.values() for name in names)
    assert parse(f"{page}\n", ATOM.metrics) == Counters(
        prompt_tokens=5, generation_tokens=5, prefix_query_tokens=5, prefix_hit_tokens=5, running=5
    )


def test_every_line_has_a_source() -> None:
    assert all(pattern.source for pattern in PATTERNS)
    assert all(line.source for line in BUILDING)
    assert all(reading.source for reading in READINGS.values())


def test_arguments_that_it_takes_otherwise_are_mismatches() -> None:
    log = "INFO Engine kwargs: {'kv_cache_dtype': 'bf16', 'enforce_eager': False, 'enable_prefix_caching': True}\n"
    args = ["--kv_cache_dtype", "fp8", "--enable_prefix_caching", "--enforce-eager", "--max-num-seqs", "64"]
    found = {each.setting: (each.asked, each.effective) for each in mismatches(ATOM, args, {}, log)}
    assert found == {"--kv-cache-dtype": ("fp8", "bf16"), "--enforce-eager": ("True", "False")}
