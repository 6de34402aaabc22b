"""What Ray alone must keep: a worker that dies costs its trial, and nothing else."""

import json
import time
from pathlib import Path

import psutil
import pytest

from autotune.dispatch import on_ray
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials.outcome import Lost


@pytest.mark.ray
def test_a_worker_that_is_killed_loses_its_trial_and_leaves_no_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
    with on_ray() as ray:
        plan = plans.plan(tmp_path / f"killed-{tmp_path.name}", "--never-listen")
        future = ray.submit(plan)
        engine = started(plan.folder)
        worker(plan.folder.name).kill()
        outcome = future.result(60)
        assert isinstance(outcome, Lost)
        assert outcome.reason.startswith("ray: ")
        engine.wait(30)
    assert (plan.folder / "exit.json").exists()


def started(folder: Path) -> psutil.Process:
    """Wait until a trial's engine runs; return it."""
    deadline = time.monotonic() + 60
    while not (folder / "supervisor.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return psutil.Process(json.loads((folder / "supervisor.json").read_text())["engine_pid"])


def worker(task: str) -> psutil.Process:
    """Return the Ray worker that runs a task: it bears the task's name."""
    (found,) = (p for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[:1] == [f"ray::{task}"])
    return found
