"""What the plots show: pure functions from what a study holds to numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, assert_never

from autotune import rounds
from autotune.confirm import level, passed, value
from autotune.design import Row
from autotune.evidence.evidence import Evidence, judged
from autotune.folder import TrialRecord
from autotune.pooled import Change
from autotune.rounds import BASELINE, CANDIDATE, REDUCED
from search_spaces import Objective
from trials.outcome import Infeasible, Judgement, Lost, Measured

Kind = Literal["passed", "gate not passed", "infeasible", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """
    One concurrency in the plane of interactivity and throughput.

    Attributes:
        interactivity: tok/s a user.
        throughput: tok/s/GPU, of the kind that the study maximises.
    """

    concurrency: int
    interactivity: float
    throughput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One recipe over the ladder: geometric means over its launches, and each launch."""

    name: str
    means: tuple[Spot, ...]
    runs: tuple[tuple[Spot, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One trial of the search that ended, in its place; what was not measured has no value."""

    number: int
    kind: Kind
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulation:
    """
    How a gate's accuracy settled, on the filter with the lowest one.

    Attributes:
        threshold: Of the gate.
        shares: After each answered question: how many were asked, and the share of right answers among the answered.
        low: Lower end of the interval at the end.
        high: Upper end.
        confirmed: True for a launch of the confirmation, False for a trial of the search.
    """

    name: str
    threshold: float
    shares: tuple[tuple[int, float], ...]
    low: float
    high: float
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """
    What one recipe makes of its power, by concurrency: means over its launches; a point without power is not there.

    Attributes:
        watts: Of all GPUs together.
        per_watt: Input and output tok/s a watt.
    """

    name: str
    watts: Mapping[int, float]
    per_watt: Mapping[int, float]


def curves(found: Evidence) -> tuple[Curve, ...]:
    """Return the baseline and the last candidate, from their fresh launches or, where there are none, the search."""
    searched = (found.baseline, *([found.standing.candidate] if found.standing else []))
    fresh = zip(_fresh(found).items(), searched, strict=True)
    return tuple(_curve(name, launches, trial, found.space.objective) for (name, launches), trial in fresh)


def _fresh(found: Evidence) -> dict[str, Sequence[Measured]]:
    """Return the fresh launches of the baseline and of the last candidate, by name; as it is in the recipe."""
    if (last := found.standing) is None:
        return {rounds.name(BASELINE, 0): ()}
    number = last.candidate.number
    if found.reduced is None:
        return {rounds.name(BASELINE, 0): last.a, rounds.name(CANDIDATE, number): last.b}
    beside = rounds.measured(rounds.of(found.launches, "reduce", number), BASELINE)
    return {rounds.name(BASELINE, 0): beside, rounds.name(REDUCED, number): found.reduced.launches}


def _curve(name: str, launches: Sequence[Measured], searched: TrialRecord, goal: Objective) -> Curve:
    own = launches or ([searched.outcome] if isinstance(searched.outcome, Measured) else [])
    runs = tuple(_spots(one, goal) for one in own)
    source = f"{len(launches)} fresh launch{'es' if len(launches) > 1 else ''}" if launches else "search only"
    return Curve(name=f"{name}, {source}", means=tuple(map(_mean, zip(*runs, strict=True))), runs=runs)


def _spots(measured: Measured, goal: Objective) -> tuple[Spot, ...]:
    return tuple(
        Spot(concurrency=point.concurrency, interactivity=point.intvty, throughput=level(point, goal))
        for point in measured.points
    )


def _mean(spots: Sequence[Spot]) -> Spot:
    return Spot(
        concurrency=spots[0].concurrency,
        interactivity=_geometric(spot.interactivity for spot in spots),
        throughput=_geometric(spot.throughput for spot in spots),
    )


def _geometric(values: Iterator[float]) -> float:
    return math.exp(fmean(map(math.log, values)))


def ablated(found: Evidence) -> tuple[tuple[str, Change], ...]:
    """Return each setting of an ablation that runs, and how it changes the objective of the recipe it is made from."""
    findings = found.proof.ablation.findings if found.proof.ablation else ()
    return tuple((_setting(each.row, found), each.overall) for each in findings if each.overall)


def _setting(row: Row, found: Evidence) -> str:
    """Return a row in words that fit beside a bar: a group is counted."""
    if len(row.knobs) == 1:
        return row.words
    return f"trial {found.conclusion.winner.number} without {len(row.knobs)} at once"


def efficiencies(found: Evidence) -> tuple[Efficiency, ...]:
    """Return the power of baseline and last candidate from their fresh launches; nothing where no tool told it."""
    every = (_efficiency(name, launches) for name, launches in _fresh(found).items())
    return tuple(one for one in every if one.watts)


def _efficiency(name: str, launches: Sequence[Measured]) -> Efficiency:
    told: dict[int, list[tuple[float, float]]] = {}
    for point in (point for one in launches for point in one.points):
        if point.power_w and point.tok_per_s_per_watt:
            told.setdefault(point.concurrency, []).append((point.power_w, point.tok_per_s_per_watt))
    return Efficiency(
        name=name,
        watts={concurrency: fmean(watts for watts, _ in values) for concurrency, values in told.items()},
        per_watt={concurrency: fmean(each for _, each in values) for concurrency, values in told.items()},
    )


def searched(found: Evidence) -> tuple[tuple[Spot, ...], ...]:
    """Return the trials of the search that passed their gate, over the ladder."""
    return tuple(
        _spots(trial.outcome, found.space.objective)
        for trial in found.trials
        if isinstance(trial.outcome, Measured) and passed(trial)
    )


def steps(found: Evidence) -> tuple[Step, ...]:
    """Return the trials that ended, in their order."""
    return tuple(step for trial in found.trials if (step := _step(trial, found.space.objective)))


def _step(trial: TrialRecord, goal: Objective) -> Step | None:
    match trial.outcome:
        case Measured() as measured:
            kind: Kind = "passed" if passed(trial) else "gate not passed"
            return Step(number=trial.number, kind=kind, value=value(measured, goal))
        case Infeasible():
            return Step(number=trial.number, kind="infeasible", value=None)
        case Lost():
            return Step(number=trial.number, kind="lost", value=None)
        case None:
            return None
        case _:
            assert_never(trial.outcome)


def best_so_far(walked: Sequence[Step]) -> tuple[tuple[int, float], ...]:
    """Return, from the first trial that passed on, the best value of those that passed until then."""
    best, line = -math.inf, []
    for step in walked:
        if step.kind == "passed" and step.value is not None:
            best = max(best, step.value)
        if best > -math.inf:
            line.append((step.number, best))
    return tuple(line)


def accumulations(found: Evidence) -> tuple[Accumulation, ...]:
    """Return the gates of the confirmation, and those that trials of the search did not pass."""
    failed = [
        (f"trial {trial.number}", trial.outcome.worst)
        for trial in found.trials
        if isinstance(trial.outcome, Measured) and trial.outcome.worst and not passed(trial)
    ]
    gates = [_accumulation(*one, confirmed=True) for one in judged(found)]
    gates += [_accumulation(*one, confirmed=False) for one in failed]
    return tuple(gate for gate in gates if gate)


def _accumulation(name: str, judgement: Judgement, *, confirmed: bool) -> Accumulation | None:
    if not judgement.verdict.filters:
        return None
    lowest = min(judgement.verdict.filters, key=lambda each: each.accuracy)
    return Accumulation(
        name=name,
        threshold=judgement.verdict.threshold,
        shares=shares(judgement.correct[lowest.name]),
        low=lowest.low,
        high=lowest.high,
        confirmed=confirmed,
    )


def shares(correct: Sequence[bool | None]) -> tuple[tuple[int, float], ...]:
    """Return the share of right answers after each question that was answered, beside how many were asked by then."""
    line, right, answered = [], 0, 0
    for asked, one in enumerate(correct, start=1):
        if one is not None:
            answered += 1
            right += one
            line.append((asked, right / answered))
    return tuple(line)
