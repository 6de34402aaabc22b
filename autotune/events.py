"""What a running study tells whoever shows it: values, yielded in order."""

from dataclasses import dataclass

from autotune.confirm import Conclusion
from autotune.folder import Arm
from search_spaces import Scalar
from trials.outcome import Outcome

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
    """A launch of the confirmation began."""

    number: int
    arm: Arm
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEnded:
    """A launch of the confirmation ended; `value` is its objective, if it was measured."""

    number: int
    arm: Arm
    candidate: int
    outcome: Outcome
    value: float | None


@dataclass(frozen=True, slots=True)
class StudyEnded:
    """The study is over and its evidence written."""

    conclusion: Conclusion


Event = TrialStarted | TrialEnded | SearchEnded | LaunchStarted | LaunchEnded | StudyEnded
