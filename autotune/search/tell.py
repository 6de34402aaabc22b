"""What each outcome is told to Optuna as. Decided in docs/decisions/0002-outcomes.md; nothing else calls `tell`."""

from collections.abc import Mapping
from typing import assert_never

from optuna import Study
from optuna.trial import Trial, TrialState

from search_spaces import Objective
from trials.load.metrics import objective
from trials.outcome import Infeasible, Lost, Measured, Outcome

IMPUTED = "imputed"
FEASIBLE, INFEASIBLE = -1.0, 1.0  # Optuna's constraints hold at <= 0
NOT_JUDGED = 0.0


def tell(study: Study, trial: Trial, outcome: Outcome, goal: Objective) -> None:
    """
    Finish a trial.

    Every told trial carries the same constraint keys. A config's own failure is COMPLETE with the worst value measured
    so far: samplers forget FAIL and PRUNED, and would propose it again and again. A failure before anything was
    measured is told as 0, the worst that a throughput can be.
    """
    match outcome:
        case Measured(points=points, verdict=verdict):
            _constrain(trial, FEASIBLE, verdict.violation if verdict else NOT_JUDGED)
            study.tell(trial, objective(points, goal.metric, goal.weights))
        case Infeasible():
            _constrain(trial, INFEASIBLE, NOT_JUDGED)
            trial.set_user_attr(IMPUTED, value=True)
            study.tell(trial, worst_measured(study))
        case Lost():
            study.tell(trial, state=TrialState.FAIL)
        case _:
            assert_never(outcome)


def _constrain(trial: Trial, feasible: float, accuracy: float) -> None:
    trial.set_constraint("feasible", feasible)
    trial.set_constraint("accuracy", accuracy)


def worst_measured(study: Study) -> float:
    """Return the lowest value that was really measured in this study, or 0 if none was."""
    told = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    return min(
        (trial.value for trial in told if trial.value is not None and not imputed(trial.user_attrs)), default=0.0
    )


def imputed(attributes: Mapping[str, object]) -> bool:
    """Say whether a told value was filled in, not measured."""
    return bool(attributes.get(IMPUTED))
