"""Telemetry beside a block: programs with a vendor's name, sampled, hanging, failing or absent."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trials.smi import Gpu
from trials.telemetry import Sample, Telemetry, telemetry, visible

SMI = Path(__file__).parents[1] / "fakes/smi.py"
CAPTURES = Path(__file__).parents[1] / "captures/telemetry"
TWO_GPUS = "0, 700.00, 1900, 60, 1000\n1, 300.00, 1700, 70, 500\n"
WAIT_S = 20.0


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on PATH, without any tool."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def install(folder: Path, name: str, **behaviour: object) -> None:
    """Put a tool of this name on PATH."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\n" + SMI.read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)
    (folder / f"{name}.json").write_text(json.dumps(behaviour), encoding="utf-8")


def calls(folder: Path, name: str) -> int:
    file = folder / f"{name}.calls"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def wait_for(condition: Callable[[], object]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def sample(at_s: float, *power_w: float | None) -> Sample:
    gpus = (
        Gpu(index=i, power_w=w, clock_mhz=1000 + i, temperature_c=50 + i, memory_mib=100) for i, w in enumerate(power_w)
    )
    return Sample(at_s, tuple(gpus))


def seen(*samples: Sample) -> Telemetry:
    return Telemetry(tool="nvidia-smi", samples=list(samples))


def test_a_block_is_sampled_on_the_clock_of_the_timings(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=TWO_GPUS)
    begun_s = time.perf_counter()
    with telemetry(every_s=0.01) as samples:
        wait_for(lambda: len(samples.samples) >= 3)
    use = samples.use(begun_s, time.perf_counter())
    assert use is not None
    assert (use.tool, use.gpus, use.power_w) == ("nvidia-smi", 2, 1000.0)
    assert (use.clock_mhz, use.temperature_c, use.memory_mib) == (1800.0, 70.0, 1500.0)
    assert samples.absent is None


def test_only_the_gpus_that_are_watched_are_counted(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=TWO_GPUS)
    with telemetry(gpus={1}, every_s=0.01) as samples:
        wait_for(lambda: samples.samples)
    assert {gpu.index for sample in samples.samples for gpu in sample.gpus} == {1}


@pytest.mark.parametrize(
    ("tool", "answer", "power_w"), [("amd-smi", "amd-smi.json", 883.0), ("rocm-smi", "rocm-smi.json", 285.0)]
)
def test_the_tools_of_the_other_vendor_are_sampled_too(
    bin_folder: Path, tool: str, answer: str, power_w: float
) -> None:
    install(bin_folder, tool, answer=(CAPTURES / answer).read_text(encoding="utf-8"))
    with telemetry(every_s=0.01) as samples:
        wait_for(lambda: samples.samples)
    use = samples.use(0.0, time.perf_counter())
    assert use is not None
    assert (use.tool, use.power_w) == (tool, power_w)


@pytest.mark.skipif(shutil.which("rocm-smi", path="/opt/rocm/bin") is not None, reason="ROCm is here")
def test_a_machine_without_a_tool_has_no_samples_and_says_so(bin_folder: Path) -> None:
    with telemetry() as samples:
        wait_for(lambda: samples.absent)
    assert samples.absent == "none of nvidia-smi, amd-smi, rocm-smi is on PATH"
    assert samples.use(0.0, time.perf_counter()) is None
    assert not list(bin_folder.iterdir())


def test_a_tool_that_fails_leaves_its_words_and_the_next_one_is_tried(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", says="couldn't communicate with\nthe NVIDIA driver", code=9)
    install(bin_folder, "amd-smi", answer="no GPU here")
    with telemetry() as samples:
        wait_for(lambda: samples.absent)
    reasons = (
        "nvidia-smi: exited with code 9: couldn't communicate with the NVIDIA driver; amd-smi: no JSON: no GPU here"
    )
    assert samples.absent is not None
    assert samples.absent.startswith(reasons)


def test_a_tool_that_hangs_is_given_up(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", hangs=True)
    with telemetry(timeout_s=0.3) as samples:
        wait_for(lambda: samples.absent)
    assert samples.absent is not None
    assert "nvidia-smi: no answer within 0.3 s" in samples.absent


def test_a_tool_that_fails_later_keeps_its_samples_and_is_not_asked_for_ever(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=TWO_GPUS, good=2, code=1)
    with telemetry(every_s=0.01) as samples:
        wait_for(lambda: samples.absent)
    assert samples.absent == "nvidia-smi: exited with code 1: " + " ".join(TWO_GPUS.split()) + ", 3 times in a row"
    assert len(samples.samples) == 2
    assert calls(bin_folder, "nvidia-smi") == 5


def test_a_block_that_ends_while_a_tool_hangs_ends_too(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", hangs=True, good=1, answer=TWO_GPUS)
    with telemetry(every_s=0.01, timeout_s=60.0) as samples:
        wait_for(lambda: calls(bin_folder, "nvidia-smi") == 2)
    assert len(samples.samples) == 1


def test_an_error_in_the_block_passes_through(bin_folder: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=TWO_GPUS)
    with pytest.raises(KeyError), telemetry():
        raise KeyError


def test_power_is_the_mean_over_time_of_the_sum_over_gpus_inside_the_stretch() -> None:
    use = seen(sample(0.0, 1.0, 1.0), sample(1.0, 100.0, 200.0), sample(2.0, 300.0, 400.0), sample(3.0, 9.0, 9.0)).use(
        0.5, 2.5
    )
    assert use is not None
    assert (use.samples, use.power_w, use.temperature_c) == (2, 500.0, 51.0)


def test_a_stretch_without_a_sample_has_no_power() -> None:
    assert seen(sample(0.0, 1.0)).use(1.0, 2.0) is None


def test_the_sum_of_some_gpus_is_not_taken_for_all() -> None:
    use = seen(sample(0.0, 1.0, None)).use(0.0, 1.0)
    assert use is not None
    assert use.power_w is None
    assert use.clock_mhz == 1000.5


@pytest.mark.parametrize(
    ("env", "indices"),
    [
        ({}, None),
        ({"CUDA_VISIBLE_DEVICES": "0,3"}, {0, 3}),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0"}, {2}),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1f2e"}, None),
        ({"CUDA_VISIBLE_DEVICES": None}, None),
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_an_engines_environment_says_which_gpus_are_its(env: dict[str, str | None], indices: set[int] | None) -> None:
    assert visible(env) == indices
