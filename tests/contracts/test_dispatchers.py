"""What every place where trials run must keep: the same trial, the same outcome."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from autotune.dispatch import Dispatcher, in_process, on_ray
from evals import Gate, TaskError
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials import outcome as outcomes
from trials.outcome import Infeasible, Lost, Measured

PLACES = {"local": in_process, "ray": on_ray}


@pytest.fixture(scope="module", params=[pytest.param(place, marks=pytest.mark.ray) for place in PLACES])
def dispatcher(request: pytest.FixtureRequest) -> Iterator[Dispatcher]:
    """Open each place once; its workers find the fake engine in their environment."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
        with PLACES[request.param]() as opened:
            yield opened


def test_a_measured_trial_comes_back_as_its_folder_holds_it(dispatcher: Dispatcher, tmp_path: Path) -> None:
    plan = plans.plan(tmp_path / "trial")
    outcome = dispatcher.submit(plan).result(120)
    assert isinstance(outcome, Measured)
    assert outcomes.read(plan.folder / "outcome.json") == outcome


def test_a_config_that_fails_comes_back_as_a_value(dispatcher: Dispatcher, tmp_path: Path) -> None:
    outcome = dispatcher.submit(plans.plan(tmp_path / "trial", "--exit-at-start", "3")).result(120)
    assert isinstance(outcome, Infeasible)


def test_a_fault_of_ours_is_raised(dispatcher: Dispatcher, tmp_path: Path) -> None:
    nonsense = Gate(task="./none.yaml", threshold=0.9, filters=("strict-match",), questions=1, smell=1)
    with pytest.raises(TaskError, match=r"none\.yaml"):
        dispatcher.submit(plans.plan(tmp_path / "trial", gate=nonsense)).result(120)


def test_one_machine_runs_one_trial_at_a_time(dispatcher: Dispatcher) -> None:
    assert dispatcher.slots == 1


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
    (found,) = (p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"][:1] == [f"ray::{task}"])
    return found
