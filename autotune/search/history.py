"""What a study has told, as a sampler that models levels reads it: from Optuna's trials and nothing else."""

from dataclasses import dataclass

from optuna import Study
from optuna.trial import FrozenTrial, TrialState

from autotune.search.axes import Axes, Point
from autotune.search.tell import GATE, imputed


@dataclass(frozen=True, slots=True)
class Told:
    """
    One trial that ended.

    Attributes:
        value: None if it failed.
        estimated: Whether the value was cut short, and is an estimate.
        violation: How far the gate was missed; 0 where it was not judged.
        correct: Of the gate's answers, those that were right.
        answered: 0 where nothing was counted.
        threshold: The share that the gate asks for.
    """

    point: Point
    value: float | None
    estimated: bool = False
    violation: float = 0.0
    correct: int = 0
    answered: int = 0
    threshold: float = 0.0


@dataclass(frozen=True, slots=True)
class History:
    """
    All trials of a study but the one that is asked for.

    Attributes:
        told: Each once: the same outcome of the same point is one that was stored and told again.
        running: Points that have not ended.
    """

    told: tuple[Told, ...]
    running: frozenset[Point]

    @property
    def taken(self) -> frozenset[Point]:
        """Points that need no other trial."""
        return self.running | {each.point for each in self.told}


def read(study: Study, axes: Axes, *, asking: int) -> History:
    """
    Return what a study knows.

    Args:
        asking: Number of the trial that is asked for.
    """
    known = TrialState.COMPLETE, TrialState.RUNNING
    names = {axis.name for axis in axes.each}
    trials = [
        trial
        for trial in study.get_trials(deepcopy=False, states=known)
        if trial.number != asking and names <= trial.params.keys()
    ]
    told = dict.fromkeys(_told(trial, axes) for trial in trials if trial.state == TrialState.COMPLETE)
    running = frozenset(axes.point(trial.params) for trial in trials if trial.state == TrialState.RUNNING)
    return History(tuple(told), running)


def _told(trial: FrozenTrial, axes: Axes) -> Told:
    point = axes.point(trial.params)
    if trial.constraints.get("feasible", -1.0) > 0 or trial.value is None or trial.value <= 0:
        return Told(point, None)
    counted = trial.user_attrs.get(GATE, {"correct": 0, "answered": 0, "threshold": 0.0})
    return Told(
        point,
        trial.value,
        estimated=imputed(trial.user_attrs),
        violation=trial.constraints.get("accuracy", 0.0),
        **counted,
    )
