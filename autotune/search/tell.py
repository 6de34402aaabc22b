"""What each outcome is told to Optuna as. Decided in docs/decisions/0002-outcomes.md; nothing else calls `tell`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from optuna import Study
from optuna.trial import Trial, TrialState

from evals import Verdict
from search_spaces import Objective
from trials.load.metrics import objective
from trials.outcome import Infeasible, Lost, Measured, Outcome

IMPUTED, FAILURE, GATE = "imputed", "failure", "gate"
FEASIBLE, INFEASIBLE = -1.0, 1.0  # Optuna's constraints hold at <= 0
NOT_JUDGED = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """
    What Optuna keeps of a trial.

    Attributes:
        value: None: the worst measured so far is filled in.
        estimated: Whether the value is an estimate.
        accuracy: How far the gate was missed, at most 0 for a pass.
        attributes: The user attributes that samplers may read: `FAILURE`, a class of outcomes, and `GATE`, counts.
    """

    value: float | None
    estimated: bool = False
    accuracy: float = NOT_JUDGED
    attributes: Mapping[str, Any] = field(default_factory=dict)


def tell(study: Study, trial: Trial, outcome: Outcome, goal: Objective) -> None:
    """
    Finish a trial.

    Every told trial carries the same constraint keys. A config's own failure is COMPLETE with the worst value measured
    so far: samplers forget FAIL and PRUNED, and would propose it again and again. A failure before anything was
    measured is told as 0, the worst that a throughput can be.
    """
    match outcome:
        case Measured(points=points, verdict=verdict):
            value = objective(points, goal.metric, goal.weights)
            accuracy = verdict.violation if verdict else NOT_JUDGED
            record(study, trial, Fact(value=value, accuracy=accuracy, attributes=counts(verdict)))
        case Infeasible(failure=failure):
            record(study, trial, Fact(value=None, attributes={FAILURE: failure}))
        case Lost():
            study.tell(trial, state=TrialState.FAIL)
        case _:
            assert_never(outcome)


def record(study: Study, trial: Trial, fact: Fact) -> None:
    """Finish a trial that is learned from."""
    trial.set_constraint("feasible", INFEASIBLE if fact.value is None else FEASIBLE)
    trial.set_constraint("accuracy", fact.accuracy)
    if fact.value is None or fact.estimated:
        trial.set_user_attr(IMPUTED, value=True)
    for name, attribute in fact.attributes.items():
        trial.set_user_attr(name, attribute)
    study.tell(trial, worst_measured(study) if fact.value is None else fact.value)


def counts(verdict: Verdict | None) -> dict[str, Any]:
    """Return the gate's counts as an attribute, of the filter that does worst; none where nothing was answered."""
    if verdict is None or not verdict.filters:
        return {}
    worst = min(verdict.filters, key=lambda each: each.accuracy)
    return {GATE: {"correct": worst.correct, "answered": worst.answered, "threshold": verdict.threshold}}


def worst_measured(study: Study) -> float:
    """Return the lowest value that was really measured in this study, or 0 if none was."""
    told = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    return min(
        (trial.value for trial in told if trial.value is not None and not imputed(trial.user_attrs)), default=0.0
    )


def imputed(attributes: Mapping[str, object]) -> bool:
    """Say whether a told value was filled in, not measured."""
    return bool(attributes.get(IMPUTED))
