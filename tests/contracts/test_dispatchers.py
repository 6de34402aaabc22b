"""What every place where trials run must keep: the same trial, the same outcome."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.dispatch import Dispatcher, in_process, on_ray
from evals import Gate, TaskError
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials import outcome as outcomes
from trials.outcome import Infeasible, Measured

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
        dispatcher.submit(plans.plan(tmp_path / "trial", gates=[nonsense])).result(120)


def test_one_machine_runs_one_trial_at_a_time(dispatcher: Dispatcher) -> None:
    assert dispatcher.slots == 1
