"""Which launches confirm a winner, and what they say: pure functions over what the study folder holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from autotune.compare import FEWEST, Comparison, LaunchValues, compare, order
from autotune.folder import Arm, LaunchRecord, TrialRecord
from autotune.retries import fault
from search_spaces import Objective, Scalar, SearchSpace, differences, resolve
from trials.load.metrics import PointMetrics, objective
from trials.outcome import Infeasible, Measured

FINALISTS = 3
NOISE = 0.01  # search values closer than this are equals: the config nearest to the baseline goes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    How one candidate stands against the baseline.

    Attributes:
        a: The baseline's launches so far.
        b: The candidate's.
        comparison: At the last look with as many launches of each; None before the first.
        dropped: Why the candidate is out: it failed its gate or crashed; None if it is in.
        stopped: Why nothing can be decided: the baseline failed; or None.
        next_arm: What to launch next; None when there is nothing left to launch.
    """

    candidate: TrialRecord
    a: tuple[Measured, ...]
    b: tuple[Measured, ...]
    comparison: Comparison | None
    dropped: str | None
    stopped: str | None
    next_arm: Arm | None


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


def stand(candidate: TrialRecord, launches: Sequence[LaunchRecord], space: SearchSpace) -> Standing:
    """Return how a candidate stands after its launches so far."""
    own = [launch for launch in launches if launch.candidate == candidate.number and launch.outcome is not None]
    a, b = _measured(own, "A"), _measured(own, "B")
    balanced = len(a) == len(b) >= FEWEST
    looks = min(len(a), len(b))
    comparison = (
        compare(_values(a[:looks], space.objective), _values(b[:looks], space.objective)) if looks >= FEWEST else None
    )
    dropped, stopped = _dropped(own, b), _stopped(own, a)
    decided = balanced and comparison is not None and comparison.result != "undecided"
    plan = order(space.budget.confirm_launches)
    done = len(a) + len(b)
    over = bool(dropped or stopped or decided or done >= len(plan))
    return Standing(
        candidate=candidate,
        a=a,
        b=b,
        comparison=comparison,
        dropped=dropped,
        stopped=stopped,
        next_arm=None if over else ("A" if plan[done] == "A" else "B"),
    )


def _measured(launches: Sequence[LaunchRecord], arm: Arm) -> tuple[Measured, ...]:
    return tuple(one.outcome for one in launches if one.arm == arm and isinstance(one.outcome, Measured))


def _values(launches: Sequence[Measured], goal: Objective) -> list[LaunchValues]:
    return [LaunchValues(value(one, goal), {p.concurrency: level(p, goal) for p in one.points}) for one in launches]


def level(point: PointMetrics, goal: Objective) -> float:
    """Return the metric that the study maximises, at one point."""
    return float(getattr(point, goal.metric))


def _dropped(launches: Sequence[LaunchRecord], b: Sequence[Measured]) -> str | None:
    for one in launches:
        if one.arm == "B" and isinstance(one.outcome, Infeasible):
            return f"{one.outcome.failure} in confirmation: {one.outcome.reason}"
    for measured in b:
        if measured.verdict and measured.verdict.result != "pass":
            return f"gate {measured.verdict.result} in confirmation: {'; '.join(measured.verdict.reasons)}"
    return None


def _stopped(launches: Sequence[LaunchRecord], a: Sequence[Measured]) -> str | None:
    for one in launches:
        if one.arm == "A" and isinstance(one.outcome, Infeasible):
            return f"the baseline failed: {one.outcome.reason}"
    for measured in a:
        if measured.verdict and measured.verdict.result != "pass":
            return f"the baseline's gate: {measured.verdict.result}: {'; '.join(measured.verdict.reasons)}"
    return None


def conclude(trials: Sequence[TrialRecord], launches: Sequence[LaunchRecord], space: SearchSpace) -> Conclusion:
    """Return what a study's trials and launches prove; candidates are tried in order until one is not dropped."""
    standings: list[Standing] = []
    for candidate in finalists(trials, space):
        standings.append(stand(candidate, launches, space))
        if not standings[-1].dropped:
            return _conclusion(baseline(trials), tuple(standings))
    return Conclusion(result="no candidate", winner=baseline(trials), standings=tuple(standings))


def _conclusion(base: TrialRecord, standings: tuple[Standing, ...]) -> Conclusion:
    last = standings[-1]
    result = last.comparison.result if last.comparison and not last.stopped else "undecided"
    return Conclusion(result=result, winner=last.candidate if result == "win" else base, standings=standings)
