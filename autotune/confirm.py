"""Which launches confirm a candidate, and what they say: pure functions over what the study folder holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from autotune.compare import FEWEST, Comparison, LaunchValues, compare
from autotune.folder import LaunchRecord, TrialRecord
from autotune.retries import fault
from autotune.rounds import BASELINE, BESIDE, CANDIDATE, due, failure, given_up, measured, of
from search_spaces import Objective, Scalar, SearchSpace, differences, resolve
from trials.load.metrics import PointMetrics, objective
from trials.outcome import Measured

FINALISTS = 3
NOISE = 0.01  # search values closer than this are equals: the config nearest to the baseline goes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """
    Another recipe that a candidate was launched beside, without a part in the verdict: it is not judged either.

    Attributes:
        comparison: Of the candidate against it, at the last look; None before the first.
        out: Why there is no more of it; None while it is well.
    """

    arm: str
    launches: tuple[Measured, ...]
    comparison: Comparison | None
    out: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    How one candidate stands against the baseline.

    Attributes:
        a: The baseline's launches so far.
        b: The candidate's.
        comparison: At the last look with as many launches of each; None before the first.
        dropped: Why the candidate is out: it failed its gate, crashed, or is slower and not the last; None if it is in.
        stopped: Why nothing can be decided: the baseline failed; or None.
        beside: The other recipes that were launched in the same rounds.
        next: The round and the arm to launch next; None when there is nothing left to launch.
    """

    candidate: TrialRecord
    a: tuple[Measured, ...]
    b: tuple[Measured, ...]
    comparison: Comparison | None
    dropped: str | None
    stopped: str | None
    beside: tuple[Beside, ...] = ()
    next: tuple[int, str] | None = None

    @property
    def next_arm(self) -> str | None:
        """The arm to launch next."""
        return self.next[1] if self.next else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """
    What a study proved.

    Attributes:
        result: `no candidate` if nothing that passed the gate looked faster than the baseline.
        winner: The candidate after a win; else the baseline, which wins ties.
        standings: The candidates that were launched, in order; the last one decided.
    """

    result: Literal["win", "loss", "tie", "undecided", "no candidate"]
    winner: TrialRecord
    standings: tuple[Standing, ...]


def value(measured: Measured, goal: Objective) -> float:
    """Return a trial's or launch's objective."""
    return objective(measured.points, goal.metric, goal.weights)


def passed(record: TrialRecord) -> bool:
    """Say whether a trial was measured and passed its gate."""
    match record.outcome:
        case Measured(verdict=verdict) if verdict is not None:
            return verdict.result == "pass"
        case _:
            return False


def baseline(trials: Sequence[TrialRecord]) -> TrialRecord:
    """Return the baseline's trial: the first that was not lost or stuck, for nothing else runs before it ended."""
    return next((t for t in trials if not fault(t.outcome)), trials[-1])


def changes(record: TrialRecord, space: SearchSpace) -> dict[str, tuple[Scalar, Scalar]]:
    """Return the knobs in which a trial really differs from the baseline: (the baseline's value, its own)."""
    return differences(space, resolve(space, record.config).config)


def finalists(trials: Sequence[TrialRecord], space: SearchSpace) -> list[TrialRecord]:
    """Return the trials that passed and looked faster than the baseline: best first, of equals the nearest to it."""
    values = {t.number: value(t.outcome, space.objective) for t in trials if isinstance(t.outcome, Measured)}
    bar = values.get(baseline(trials).number, math.inf) if trials else math.inf
    faster = [t for t in trials if passed(t) and values[t.number] > bar]
    faster.sort(key=lambda t: (-round(math.log(values[t.number]) / NOISE), len(changes(t, space)), -values[t.number]))
    return faster[:FINALISTS]


def stand(
    candidate: TrialRecord, launches: Sequence[LaunchRecord], space: SearchSpace, beside: Sequence[str] = ()
) -> Standing:
    """
    Return how a candidate stands after its launches so far.

    Args:
        beside: Arms that are to be launched in the same rounds.
    """
    own = of(launches, "confirm", candidate.number)
    a, b = measured(own, BASELINE), measured(own, CANDIDATE)
    comparison = compared(own, BASELINE, CANDIDATE, space.objective)
    dropped, baseline_out = failure(own, CANDIDATE), failure(own, BASELINE)
    stopped = baseline_out and f"the baseline failed: {baseline_out}"
    over = dropped or stopped or decided(own, (BASELINE, CANDIDATE, *beside), comparison)
    return Standing(
        candidate=candidate,
        a=a,
        b=b,
        comparison=comparison,
        dropped=dropped,
        stopped=stopped,
        beside=alongside(own, CANDIDATE, space.objective),
        next=None if over else due((BASELINE, CANDIDATE, *beside), own, space.budget.confirm_launches),
    )


def compared(launches: Sequence[LaunchRecord], a: str, b: str, goal: Objective) -> Comparison | None:
    """Return the comparison of two arms at the last look with as many launches of each; None before the first."""
    arms = [launch_values(measured(launches, arm), goal) for arm in (a, b)]
    each = min(map(len, arms))
    return compare(arms[0][:each], arms[1][:each]) if each >= FEWEST else None


def decided(launches: Sequence[LaunchRecord], arms: Sequence[str], comparison: Comparison | None) -> bool:
    """Say whether a comparison has decided and its round is whole: all arms that can be launched as often."""
    alive = [arm for arm in arms if not (failure(launches, arm) or given_up(launches, arm))]
    whole = len({len(measured(launches, arm)) for arm in alive}) == 1
    return whole and comparison is not None and comparison.result != "undecided"


def alongside(launches: Sequence[LaunchRecord], candidate: str, goal: Objective) -> tuple[Beside, ...]:
    """Return what was launched beside an arm, and how the arm stands against it."""
    return tuple(
        Beside(
            arm=arm,
            launches=measured(launches, arm),
            comparison=compared(launches, arm, candidate, goal),
            out=failure(launches, arm) or given_up(launches, arm),
        )
        for arm in BESIDE
        if any(one.arm == arm for one in launches)
    )


def launch_values(launches: Sequence[Measured], goal: Objective) -> list[LaunchValues]:
    """Return what of launches is compared."""
    return [LaunchValues(value(one, goal), {p.concurrency: level(p, goal) for p in one.points}) for one in launches]


def level(point: PointMetrics, goal: Objective) -> float:
    """Return the metric that the study maximises, at one point."""
    return float(getattr(point, goal.metric))


def conclude(
    trials: Sequence[TrialRecord], launches: Sequence[LaunchRecord], space: SearchSpace, beside: Sequence[str] = ()
) -> Conclusion:
    """
    Return what a study's trials and launches prove; candidates are tried in order until one is not out.

    One that is slower than the baseline is out where another is left; the last that is launched decides.

    Args:
        beside: Arms that are to be launched in the same rounds.
    """
    standings, waiting = list[Standing](), finalists(trials, space)
    while waiting:
        standing = stand(waiting.pop(0), launches, space, beside)
        standings.append(replace(standing, dropped=standing.dropped or (_slower(standing) if waiting else None)))
        if not standings[-1].dropped:
            return _conclusion(baseline(trials), tuple(standings))
    return Conclusion(result="no candidate", winner=baseline(trials), standings=tuple(standings))


def _slower(standing: Standing) -> str | None:
    """Return by how much a candidate is slower than the baseline, where its launches have shown that."""
    found = standing.comparison
    if standing.next or standing.stopped or found is None or found.result != "loss":
        return None
    return f"slower than the baseline, {100 * found.overall.change:+.1f} %"


def _conclusion(base: TrialRecord, standings: tuple[Standing, ...]) -> Conclusion:
    last = standings[-1]
    result = last.comparison.result if last.comparison and not last.stopped else "undecided"
    return Conclusion(result=result, winner=last.candidate if result == "win" else base, standings=standings)
