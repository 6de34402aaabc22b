"""A against B: pure functions from launches to a verdict with its interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from statistics import fmean, stdev
from typing import Literal

from scipy import special

from autotune.estimates import Drift, Interval, drift, hodges_lehmann, resampled

ALPHA = 0.05
LOOKS = 5  # after 2, 3, 4, 5 and 6 launches an arm; each look spends ALPHA / LOOKS, so peeking costs no false wins
FEWEST = 2  # launches an arm before the first look
BAND = 0.02  # two recipes closer than this are a tie
MISSED = float(special.ndtri(0.8))  # standard errors by which a mean falls short in one case of five
MISSED_EITHER_WAY = float(special.ndtri(0.9))  # and is off to either side
MOST = 100  # launches an arm beyond which nobody asks when it would be decided
LEVEL_LOSS = -0.01  # a win may not lose more than this at any concurrency

Result = Literal["win", "loss", "tie", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """
    B over A, minus one.

    Attributes:
        change: Geometric mean of B over that of A, minus 1.
        low: Lower end of the two-sided interval at 1 - ALPHA / LOOKS, or None with fewer than two launches an arm.
        high: Upper end.
        a: Geometric mean of A, in the metric's unit.
        b: Geometric mean of B.
        robust: Hodges and Lehmann's estimate of the change, which one odd launch does not move; None: not asked for.
        resampled: The bootstrap's interval, at the same confidence; None with fewer than 8 launches an arm.
    """

    change: float
    low: float | None
    high: float | None
    a: float
    b: float
    robust: float | None = None
    resampled: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelVerdict:
    """
    What may be said of one concurrency, when something is said of several: they share ALPHA.

    Attributes:
        low: Lower end of the interval at 1 - ALPHA / LOOKS / family; None with fewer than two launches an arm.
        high: Upper end.
        settled_by: As in `Comparison`.
    """

    result: Result
    low: float | None
    high: float | None
    settled_by: int | None


@dataclass(frozen=True, slots=True)
class LaunchSd:
    """Relative standard deviation between launches of one recipe: of the objective, and at each concurrency."""

    objective: float
    levels: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """
    What launches of A and B say.

    Attributes:
        overall: Of the objective, one value a launch.
        levels: Of each concurrency, each with an interval as if it were the only one.
        launches: Launches of A and of B.
        launch_sd: Pooled standard deviation of a launch, relative.
        settled_by: Launches an arm after which a difference like this one would be decided, at the launch sd; None if
            it is decided, or if more than `MOST` would be needed.
        known_sd: The launch sd that was measured before, on which `settled_by` rests; None: it rests on `launch_sd`.
        verdicts: Of each concurrency.
        drift: None with fewer than three launches an arm, or not as many of one as of the other.
    """

    result: Result
    overall: Ratio
    levels: dict[int, Ratio]
    launches: tuple[int, int]
    launch_sd: float | None
    settled_by: int | None
    known_sd: float | None = None
    verdicts: dict[int, LevelVerdict] = field(default_factory=dict)
    drift: Drift | None = None


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """One launch: its objective and the metric at each concurrency."""

    objective: float
    levels: dict[int, float]


def order(launches: int) -> str:
    """
    Return which arm each launch is of, for `launches` an arm: A B B A B A A B and again.

    Any drift that is linear over four launches falls on both arms alike.
    """
    return "".join(islice(cycle("ABBABAAB"), 2 * launches))


def looks(most: int) -> tuple[int, ...]:
    """
    Return after how many launches an arm the numbers may decide: five times at most, the last time after `most`.

    Up to 6 each one from 2 on; beyond that in equal proportions, for every look costs as much as any other.
    """
    if most < FEWEST + LOOKS:
        return tuple(range(FEWEST, most + 1))
    step = (most / FEWEST) ** (1 / (LOOKS - 1))
    return tuple(round(FEWEST * step**look) for look in range(LOOKS))


def compare(
    a: Sequence[LaunchValues],
    b: Sequence[LaunchValues],
    *,
    known_sd: LaunchSd | None = None,
    family: int | None = None,
) -> Comparison:
    """
    Compare arms launch by launch: Welch's interval of the difference of logs, and a tie by two one-sided tests.

    The launch is the unit: levels and windows of one launch share its luck and are no repeats.

    Args:
        a: In the order they were launched, as are B's.
        known_sd: Between launches, where it was measured.
        family: How many levels share ALPHA where each gets a verdict; None: those compared here.

    Raises:
        ValueError: If an arm has no launch.

    Source: docs/decisions/0004-confirmation.md.
    """
    overall = ratio([one.objective for one in a], [one.objective for one in b])
    log_a, log_b = [math.log(one.objective) for one in a], [math.log(one.objective) for one in b]
    levels = {c: ratio([one.levels[c] for one in a], [one.levels[c] for one in b]) for c in a[0].levels}
    lossless = min(level.change for level in levels.values()) > LEVEL_LOSS
    result = _result(_welch(log_a, log_b), ALPHA / LOOKS, winnable=lossless)
    sd = _pooled_sd(log_a, log_b)
    known = known_sd.objective if known_sd else None
    spend = ALPHA / LOOKS / (family or len(levels))
    return Comparison(
        result=result,
        overall=overall,
        levels=levels,
        launches=(len(a), len(b)),
        launch_sd=sd,
        settled_by=_settled_by(result, overall.change, known or sd, made=max(len(a), len(b))),
        known_sd=known,
        verdicts={c: _verdict(a, b, c, known_sd.levels.get(c) if known_sd else None, spend) for c in levels},
        drift=drift(log_a, log_b, order(len(a))) if len(a) == len(b) else None,
    )


def _verdict(
    a: Sequence[LaunchValues], b: Sequence[LaunchValues], concurrency: int, known: float | None, spend: float
) -> LevelVerdict:
    log_a, log_b = ([math.log(one.levels[concurrency]) for one in arm] for arm in (a, b))
    welch = _welch(log_a, log_b)
    low, high = welch.interval(spend) or (None, None)
    result = _result(welch, spend)
    sd = known or _pooled_sd(log_a, log_b)
    settled = _settled_by(result, math.expm1(welch.difference), sd, made=max(len(a), len(b)), spend=spend)
    return LevelVerdict(result=result, low=low, high=high, settled_by=settled)


def _settled_by(
    result: Result, change: float, sd: float | None, *, made: int, spend: float = ALPHA / LOOKS
) -> int | None:
    """Return the launches that would settle what is not, more than were made."""
    if sd is None or result != "undecided":
        return None
    return settled_by(math.log1p(change), sd, beyond=made, spend=spend)


def settled_by(difference: float, sd: float, *, beyond: int = FEWEST - 1, spend: float = ALPHA / LOOKS) -> int | None:
    """
    Return the fewest launches an arm after which a win, a loss or a tie would mostly be declared.

    Args:
        difference: Of the arms' mean logs, as if it were the true one.
        sd: Of the log of a launch.
        beyond: Launches an arm that were not enough.
        spend: Chance of error of the interval that decides.

    Returns:
        None if `MOST` would not be enough.
    """
    for launches in range(max(FEWEST, beyond + 1), MOST + 1):
        error = sd * math.sqrt(2 / launches)
        freedom = (2 * launches - 2) * (1 - 0.5 / launches)  # about what Welch's interval has on average
        apart = (_quantile(freedom, spend) + MISSED) * error < abs(difference)
        alike = abs(difference) + (_quantile(freedom, 2 * spend) + MISSED_EITHER_WAY) * error < BAND
        if apart or alike:
            return launches
    return None


def _quantile(freedom: float, spend: float) -> float:
    return float(special.stdtrit(freedom, 1 - spend / 2))


def _result(welch: "_Welch", spend: float, *, winnable: bool = True) -> Result:
    """Return what an interval says; two one-sided tests, at `spend` each, need one that is narrower."""
    apart, alike = welch.interval(spend), welch.interval(2 * spend)
    if apart is None or alike is None:
        return "undecided"
    if apart[0] > 0 and winnable:
        return "win"
    if apart[1] < 0:
        return "loss"
    return "tie" if alike[0] > -BAND and alike[1] < BAND else "undecided"


def ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """
    Return B over A with Welch's interval on logs.

    Args:
        a: One positive value a launch.
        b: The same.
    """
    log_a, log_b = [math.log(v) for v in a], [math.log(v) for v in b]
    welch = _welch(log_a, log_b)
    low, high = welch.interval(ALPHA / LOOKS) or (None, None)
    ends = resampled(log_a, log_b, confidence=1 - ALPHA / LOOKS)
    return Ratio(
        change=math.expm1(welch.difference),
        low=low,
        high=high,
        a=math.exp(fmean(log_a)),
        b=math.exp(fmean(log_b)),
        robust=math.expm1(hodges_lehmann(log_a, log_b)),
        resampled=ends and (math.expm1(ends[0]), math.expm1(ends[1])),
    )


@dataclass(frozen=True, slots=True)
class _Welch:
    """The difference of mean logs, its degrees of freedom and standard error: None under two values an arm."""

    difference: float
    error: float | None
    freedom: float

    def interval(self, spend: float) -> Interval | None:
        """Return the two-sided interval of the relative change that is wrong with this chance."""
        if self.error is None:
            return None
        half = _quantile(self.freedom, spend) * self.error if self.error else 0.0
        return math.expm1(self.difference - half), math.expm1(self.difference + half)


def _welch(a: Sequence[float], b: Sequence[float]) -> _Welch:
    difference = fmean(b) - fmean(a)
    if min(len(a), len(b)) < FEWEST:
        return _Welch(difference, None, 0.0)
    parts = [stdev(arm) ** 2 / len(arm) for arm in (a, b)]
    if not (total := sum(parts)):
        return _Welch(difference, 0.0, 0.0)
    freedom = total**2 / sum(part**2 / (len(arm) - 1) for part, arm in zip(parts, (a, b), strict=True))
    return _Welch(difference, math.sqrt(total), freedom)


def _pooled_sd(a: Sequence[float], b: Sequence[float]) -> float | None:
    squares = [sum((v - fmean(arm)) ** 2 for v in arm) for arm in (a, b)]
    freedom = len(a) + len(b) - 2
    return math.sqrt(sum(squares) / freedom) if freedom > 0 else None
