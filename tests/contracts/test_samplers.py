"""What every sampler that the seam offers must keep: a value that always crashes is learned, not forgotten."""

import importlib.util
import warnings
from pathlib import Path

import pytest
from optuna import Study, create_study
from optuna.trial import TrialState

from autotune.search.flat import distributions, to_config
from autotune.search.samplers import SAMPLERS, make
from autotune.search.tell import Fact, imputed, record, tell
from search_spaces import Objective, SearchSpace
from tests.autotune.studies import space
from tests.support import measured, verdict
from trials.outcome import Infeasible, Lost, Outcome

TRIALS = 80
SEEDS = (0, 1, 2)
GOAL = Objective()


KNOBS = """
baseline: {kv: good, depth: 1}
knobs:
  kv: {flag: --kv, choice: [good, fair, bad]}
  depth: {flag: --depth, int: {low: 1, high: 8}}
"""
LEARNS_NOTHING = {"random", "grid"}


@pytest.fixture
def knobs(tmp_path: Path) -> SearchSpace:
    """Return a space one of whose values always crashes."""
    return space(tmp_path, KNOBS)


def told(sampler: str, seed: int, knobs: SearchSpace, *, crash: Outcome) -> Study:
    """Run a study in which `kv=bad` always crashes, and is told as `crash`; any other value measures about 100."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GPSampler says that it is experimental
        study = create_study(direction="maximize", sampler=make(sampler, knobs, seed))
    for _ in range(TRIALS if sampler != "gp" else 40):
        trial = study.ask(distributions(knobs))
        config = to_config(knobs, trial.params)
        rate = {"good": 100.0, "fair": 90.0, "bad": 0.0}[str(config["kv"])] + float(config["depth"])
        tell(study, trial, crash if config["kv"] == "bad" else measured(rate), GOAL)
    return study


def crashes(study: Study) -> float:
    """Return how often the crashing value was proposed after the start."""
    later = study.get_trials(deepcopy=False)[20:]
    return sum(bool(trial.params["kv"] == "bad") for trial in later) / len(later)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_value_that_always_crashes_is_proposed_less_often_than_when_told_as_fail(
    sampler: str, knobs: SearchSpace
) -> None:
    if sampler == "gp" and importlib.util.find_spec("torch") is None:
        pytest.skip("GPSampler needs torch: pip install 'autotune-serve[gp]'")
    infeasible, lost = Infeasible(failure="memory", reason="out of memory", seconds={}), Lost(reason="-", seconds={})
    learned = sum(crashes(told(sampler, seed, knobs, crash=infeasible)) for seed in SEEDS)
    forgotten = sum(crashes(told(sampler, seed, knobs, crash=lost)) for seed in SEEDS)
    if sampler in LEARNS_NOTHING:
        assert learned == forgotten  # it must not be steered by how a crash is told
    else:
        assert learned < forgotten


@pytest.mark.parametrize("sampler", [name for name in SAMPLERS if name != "gp"])
def test_a_study_of_one_seed_told_the_same_proposes_the_same(sampler: str, knobs: SearchSpace) -> None:
    crash = Infeasible(failure="memory", reason="out of memory", seconds={})
    first, second = (told(sampler, 3, knobs, crash=crash) for _ in range(2))
    assert [trial.params for trial in first.get_trials()] == [trial.params for trial in second.get_trials()]


def test_an_infeasible_trial_is_complete_at_the_worst_value_measured() -> None:
    study = create_study(direction="maximize")
    for outcome in (measured(50.0), measured(40.0), Infeasible(failure="refused", reason="no", seconds={})):
        tell(study, study.ask(), outcome, GOAL)
    last = study.get_trials()[-1]
    assert (last.state, last.value, imputed(last.user_attrs)) == (TrialState.COMPLETE, 40.0, True)


def test_an_imputed_value_is_not_measured_so_it_is_never_the_worst() -> None:
    study = create_study(direction="maximize")
    crash = Infeasible(failure="refused", reason="no", seconds={})
    for outcome in (crash, measured(40.0), crash):
        tell(study, study.ask(), outcome, GOAL)
    assert [trial.value for trial in study.get_trials()] == [0.0, 40.0, 40.0]


def test_every_told_trial_carries_the_same_constraints() -> None:
    study = create_study(direction="maximize")
    for outcome in (measured(50.0), Infeasible(failure="refused", reason="no", seconds={})):
        tell(study, study.ask(), outcome, GOAL)
    keys = {frozenset(trial.constraints) for trial in study.get_trials()}
    assert keys == {frozenset({"feasible", "accuracy"})}


def test_a_trial_keeps_why_it_failed_and_what_its_gate_counted() -> None:
    study = create_study(direction="maximize")
    crash = Infeasible(failure="stuck", reason="no answer", seconds={})
    for outcome in (measured(50.0, gate=verdict(60)), crash):
        tell(study, study.ask(), outcome, GOAL)
    attributes = [trial.user_attrs for trial in study.get_trials()]
    assert attributes[0] == {"gate": {"correct": 60, "answered": 64, "threshold": 0.97}}
    assert attributes[1] == {"imputed": True, "failure": "stuck"}


def test_an_estimated_value_is_kept_as_imputed_but_feasible() -> None:
    study = create_study(direction="maximize")
    record(study, study.ask(), Fact(value=70.0, estimated=True))
    (trial,) = study.get_trials()
    assert (trial.value, imputed(trial.user_attrs), trial.constraints["feasible"]) == (70.0, True, -1.0)


def test_a_lost_trial_is_failed_and_carries_no_value() -> None:
    study = create_study(direction="maximize")
    tell(study, study.ask(), Lost(reason="node gone", seconds={}), GOAL)
    assert [(trial.state, trial.value) for trial in study.get_trials()] == [(TrialState.FAIL, None)]
