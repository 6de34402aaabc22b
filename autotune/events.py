"""What a running study tells whoever shows it: values, yielded in order."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from autotune.confirm import Conclusion
from autotune.folder import Stage
from search_spaces import Scalar
from trials.outcome import Infeasible, Lost, Measured, Outcome

Changes = dict[str, tuple[Scalar, Scalar]]  # knob: (baseline's value, this config's value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """
    How the search stands.

    Attributes:
        baseline: The baseline's objective, or None while it runs.
        best: Number and objective of the best config that passed its gate; the baseline until something beats it.
        trials_left: Trials that may still be submitted.
        left_s: Seconds to the end of the study, about; None while nothing is known.
    """

    baseline: float | None
    best: tuple[int, float] | None
    trials_left: int
    left_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStarted:
    """A trial was submitted; number 0 is the baseline."""

    number: int
    changes: Changes
    standings: Standings


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded:
    """A trial ended; `value` is its objective, if it was measured."""

    number: int
    changes: Changes
    outcome: Outcome
    value: float | None
    standings: Standings


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """The search is over, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchStarted:
    """A fresh launch began."""

    number: int
    arm: str
    candidate: int
    stage: Stage = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEnded:
    """A fresh launch ended; `value` is its objective, if it was measured."""

    number: int
    arm: str
    candidate: int
    outcome: Outcome
    value: float | None
    stage: Stage = "confirm"


@dataclass(frozen=True, slots=True)
class StudyEnded:
    """The study is over and its evidence written."""

    conclusion: Conclusion


Event = TrialStarted | TrialEnded | SearchEnded | LaunchStarted | LaunchEnded | StudyEnded


def record(event: Event, *, study: str, at: datetime) -> dict[str, object]:
    """Return an event as the JSON object that `--json` prints: a stable form, described in the README."""
    name, fields = _named(event)
    return {"event": name, "time": at.isoformat(timespec="seconds"), "study": study, **fields}


def _named(event: Event) -> tuple[str, dict[str, object]]:
    match event:
        case TrialStarted():
            return "trial_started", _of_trial(event)
        case TrialEnded(outcome=outcome, value=value):
            return "trial_ended", {**_of_trial(event), **_outcome(outcome), "value": value}
        case SearchEnded(why=why):
            return "search_ended", {"why": why}
        case LaunchStarted():
            return "launch_started", _of_launch(event)
        case LaunchEnded(outcome=outcome, value=value):
            return "launch_ended", {**_of_launch(event), **_outcome(outcome), "value": value}
        case StudyEnded(conclusion=conclusion):
            return "study_ended", {"result": conclusion.result, "winner": conclusion.winner.number}
        case _:
            assert_never(event)


def _of_trial(event: TrialStarted | TrialEnded) -> dict[str, object]:
    standings = event.standings
    return {
        "trial": event.number,
        "changes": {knob: own for knob, (_, own) in event.changes.items()},
        "baseline": standings.baseline,
        "best": standings.best and {"trial": standings.best[0], "value": standings.best[1]},
        "trials_left": standings.trials_left,
        "left_s": standings.left_s,
    }


def _of_launch(event: LaunchStarted | LaunchEnded) -> dict[str, object]:
    return {"launch": event.number, "stage": event.stage, "arm": event.arm, "candidate": event.candidate}


def _outcome(outcome: Outcome) -> dict[str, object]:
    fields: dict[str, object] = {"outcome": outcome.kind, "seconds": outcome.seconds}
    match outcome:
        case Measured(verdict=verdict, ignored=ignored):
            return {**fields, "gate": verdict and verdict.result, "not_in_effect": list(ignored)}
        case Infeasible(failure=failure, reason=reason):
            return {**fields, "failure": failure, "reason": reason}
        case Lost(reason=reason):
            return {**fields, "reason": reason}
