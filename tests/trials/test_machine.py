"""On what machine a trial ran: noted in its folder by the machine itself, whatever its vendor's tool does."""

import json
import sys
from pathlib import Path

import pytest

from trials import machine
from trials.smi import Device

SMI = Path(__file__).parents[1] / "fakes/smi.py"
CAPTURES = Path(__file__).parents[1] / "captures/telemetry"


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on PATH, without any tool."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str, **behaviour: object) -> None:
    """Put a tool of this name on PATH."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\n" + SMI.read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)
    (folder / f"{name}.json").write_text(json.dumps(behaviour), encoding="utf-8")


def test_it_says_which_gpus_and_which_driver(bin_folder: Path, tmp_path: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=(CAPTURES / "nvidia-smi-static.csv").read_text(encoding="utf-8"))
    machine.note(tmp_path)
    found = machine.noted(tmp_path)
    assert found is not None
    assert found.gpus == (Device(index=0, name="NVIDIA H200", memory_mib=143771.0, driver="580.159.04"),)
    assert found.host
    assert found.system.startswith("Linux")
    assert found.begun.endswith("+00:00")


def test_a_tool_that_fails_or_talks_nonsense_is_passed_over(bin_folder: Path, tmp_path: Path) -> None:
    install(bin_folder, "nvidia-smi", says="no driver", code=9)
    install(bin_folder, "amd-smi", answer="what?")
    install(bin_folder, "rocm-smi", answer='{"card0": {"Card Series": "AMD Instinct MI300X"}}')
    machine.note(tmp_path)
    found = machine.noted(tmp_path)
    assert found is not None
    assert [gpu.name for gpu in found.gpus] == ["AMD Instinct MI300X"]


@pytest.mark.usefixtures("bin_folder")
def test_without_a_tool_there_are_no_gpus(tmp_path: Path) -> None:
    machine.note(tmp_path)
    found = machine.noted(tmp_path)
    assert found is not None
    assert found.gpus == ()


def test_in_a_rehearsal_no_tool_is_asked(bin_folder: Path, tmp_path: Path) -> None:
    install(bin_folder, "nvidia-smi", answer=(CAPTURES / "nvidia-smi-static.csv").read_text(encoding="utf-8"))
    machine.note(tmp_path, gpus=False)
    assert not (bin_folder / "nvidia-smi.calls").exists()


def test_a_trial_that_noted_nothing_has_no_machine(tmp_path: Path) -> None:
    assert machine.noted(tmp_path) is None
