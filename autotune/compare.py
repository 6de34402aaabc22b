"""A against B: pure functions from launches to a verdict with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import fmean, stdev
from typing import Literal

from scipy import special

ALPHA = 0.05
LOOKS = 5  # after 2, 3, 4, 5 and 6 launches an arm; each look spends ALPHA / LOOKS, so peeking costs no false wins
FEWEST = 2  # launches an arm before the first look
BAND = 0.02  # two recipes closer than this are a tie
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
    """

    change: float
    low: float | None
    high: float | None
    a: float
    b: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """
    What launches of A and B say.

    Attributes:
        overall: Of the objective, one value a launch.
        levels: Of each concurrency, for the table; no test of their own.
        launches: Launches of A and of B.
        launch_sd: Pooled standard deviation of a launch, relative.
        settled_by: Launches an arm after which a difference like this one would be decided, at this launch sd; None if
            it is decided, or if more than `MOST` would be needed.
    """

    result: Result
    overall: Ratio
    levels: dict[int, Ratio]
    launches: tuple[int, int]
    launch_sd: float | None
    settled_by: int | None


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


def compare(a: Sequence[LaunchValues], b: Sequence[LaunchValues]) -> Comparison:
    """
    Compare arms launch by launch: Welch's interval of the difference of logs, and a tie by two one-sided tests.

    The launch is the unit: levels and windows of one launch share its luck and are no repeats.

    Raises:
        ValueError: If an arm has no launch.

    Source: docs/decisions/0004-confirmation.md.
    """
    overall = ratio([one.objective for one in a], [one.objective for one in b])
    levels = {c: ratio([one.levels[c] for one in a], [one.levels[c] for one in b]) for c in a[0].levels}
    result = _result(overall, [level.change for level in levels.values()])
    sd = _pooled_sd([math.log(one.objective) for one in a], [math.log(one.objective) for one in b])
    return Comparison(
        result=result,
        overall=overall,
        levels=levels,
        launches=(len(a), len(b)),
        launch_sd=sd,
        settled_by=None if sd is None or result != "undecided" else settled_by(math.log1p(overall.change), sd),
    )


def settled_by(difference: float, sd: float) -> int | None:
    """
    Return the fewest launches an arm after which a win, a loss or a tie would be declared.

    Args:
        difference: Of the arms' mean logs, as if it were the true one.
        sd: Of the log of a launch.

    Returns:
        None if `MOST` would not be enough.
    """
    for launches in range(FEWEST, MOST + 1):
        half = _quantile(2 * launches - 2) * sd * math.sqrt(2 / launches)
        if half < abs(difference) or abs(difference) + half < BAND:
            return launches
    return None


def _quantile(freedom: float) -> float:
    return float(special.stdtrit(freedom, 1 - ALPHA / LOOKS / 2))


def _result(overall: Ratio, changes: Sequence[float]) -> Result:
    if overall.low is None or overall.high is None:
        return "undecided"
    if overall.low > 0 and min(changes) > LEVEL_LOSS:
        return "win"
    if overall.high < 0:
        return "loss"
    if overall.low > -BAND and overall.high < BAND:
        return "tie"
    return "undecided"


def ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """
    Return B over A with Welch's interval on logs.

    Args:
        a: One positive value a launch.
        b: The same.
    """
    log_a, log_b = [math.log(v) for v in a], [math.log(v) for v in b]
    difference = fmean(log_b) - fmean(log_a)
    half = _half_width(log_a, log_b)
    return Ratio(
        change=math.expm1(difference),
        low=None if half is None else math.expm1(difference - half),
        high=None if half is None else math.expm1(difference + half),
        a=math.exp(fmean(log_a)),
        b=math.exp(fmean(log_b)),
    )


def _half_width(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Half the width of Welch's interval with Welch-Satterthwaite degrees of freedom; None under two values an arm."""
    if min(len(a), len(b)) < FEWEST:
        return None
    parts = [stdev(arm) ** 2 / len(arm) for arm in (a, b)]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        return 0.0
    freedom = sum(parts) ** 2 / sum(part**2 / (len(arm) - 1) for part, arm in zip(parts, (a, b), strict=True))
    return _quantile(freedom) * error


def _pooled_sd(a: Sequence[float], b: Sequence[float]) -> float | None:
    squares = [sum((v - fmean(arm)) ** 2 for v in arm) for arm in (a, b)]
    freedom = len(a) + len(b) - 2
    return math.sqrt(sum(squares) / freedom) if freedom > 0 else None
