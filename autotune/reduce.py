"""Whether a winner holds its own without the knobs that bring nothing measurable: pure functions over launches."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.compare import Comparison
from autotune.confirm import Beside, alongside, compared, decided
from autotune.folder import LaunchRecord, TrialRecord
from autotune.rounds import BASELINE, CANDIDATE, REDUCED, due, failure, measured, of
from search_spaces import Config, SearchSpace
from trials.outcome import Measured

SLACK = -0.01
"""A simpler recipe may be this much slower than the winner, as measured, and takes its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """
    The winner without some of its knobs, launched afresh.

    Attributes:
        launches: Of it, so far.
        comparison: Of it against the baseline, at the last look; None before the first.
        full: Of it against the whole winner.
        out: Why it can't take the winner's place whatever its speed: it failed, or did not pass its gate.
        beside: The other recipes that were launched in the same rounds.
        next: The round and the arm to launch next; None when there is nothing left to launch.
    """

    config: Config
    launches: tuple[Measured, ...]
    comparison: Comparison | None
    full: Comparison | None
    out: str | None
    beside: tuple[Beside, ...]
    next: tuple[int, str] | None

    @property
    def stands(self) -> bool:
        """Say whether it takes the winner's place: it beats the baseline too, and nothing measurable is lost."""
        if self.next or self.out or self.comparison is None or self.full is None:
            return False
        unharmed = self.full.result != "loss" and self.full.overall.change >= SLACK
        return self.comparison.result == "win" and unharmed


def reduction(
    winner: TrialRecord,
    config: Config,
    launches: Sequence[LaunchRecord],
    space: SearchSpace,
    *,
    beside: Sequence[str] = (),
) -> Reduction:
    """
    Return how a reduced winner stands after its launches so far.

    Args:
        beside: Arms that are to be launched in the same rounds.
    """
    own, goal = of(launches, "reduce", winner.number), space.objective
    arms = (BASELINE, CANDIDATE, REDUCED, *beside)
    comparison = compared(own, BASELINE, REDUCED, goal)
    baseline_out = failure(own, BASELINE)
    out = failure(own, REDUCED) or (baseline_out and f"the baseline beside it failed: {baseline_out}")
    over = out or decided(own, arms, comparison)
    return Reduction(
        config=config,
        launches=measured(own, REDUCED),
        comparison=comparison,
        full=compared(own, CANDIDATE, REDUCED, goal),
        out=out,
        beside=alongside(own, REDUCED, goal),
        next=None if over else due(arms, own, space.budget.confirm_launches),
    )
