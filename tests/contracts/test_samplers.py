"""What every sampler that the seam offers must keep: a value that always crashes is learned, not forgotten."""

import importlib.util
import warnings

import pytest
from optuna import Study, create_study
from optuna.trial import TrialState

from autotune.search.samplers import SAMPLERS
from autotune.search.tell import imputed, tell
from search_spaces import Objective
from tests.support import measured
from trials.outcome import Infeasible, Lost, Outcome

TRIALS = 80
SEEDS = (0, 1, 2)
GOAL = Objective()


def told(sampler: str, seed: int, *, crash: Outcome) -> Study:
    """Run a study in which `kv=bad` always crashes, and is told as `crash`; any other value measures about 100."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GPSampler says that it is experimental
        study = create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
    for _ in range(TRIALS if sampler != "gp" else 40):
        trial = study.ask()
        kv = trial.suggest_categorical("kv", ["good", "fair", "bad"])
        depth = trial.suggest_int("depth", 1, 8)
        outcome = crash if kv == "bad" else measured({"good": 100.0, "fair": 90.0}[kv] + depth)
        tell(study, trial, outcome, GOAL)
    return study


def crashes(study: Study) -> float:
    """Return how often the crashing value was proposed after the start."""
    later = study.get_trials(deepcopy=False)[20:]
    return sum(bool(trial.params["kv"] == "bad") for trial in later) / len(later)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_value_that_always_crashes_is_proposed_less_often_than_when_told_as_fail(sampler: str) -> None:
    if sampler == "gp" and importlib.util.find_spec("torch") is None:
        pytest.skip("GPSampler needs torch: pip install 'autotune-serve[gp]'")
    infeasible = Infeasible(failure="memory", reason="out of memory", seconds={})
    learned = sum(crashes(told(sampler, seed, crash=infeasible)) for seed in SEEDS)
    forgotten = sum(crashes(told(sampler, seed, crash=Lost(reason="told as FAIL", seconds={}))) for seed in SEEDS)
    if sampler == "random":
        assert learned == forgotten  # it learns nothing, and must not be steered by how a crash is told
    else:
        assert learned < forgotten


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


def test_a_lost_trial_is_failed_and_carries_no_value() -> None:
    study = create_study(direction="maximize")
    tell(study, study.ask(), Lost(reason="node gone", seconds={}), GOAL)
    assert [(trial.state, trial.value) for trial in study.get_trials()] == [(TrialState.FAIL, None)]
