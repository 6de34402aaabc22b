"""Beside Welch's interval: an estimate no outlier moves, an interval by resampling, and a drift. Pure, on logs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy import special

RESAMPLED = 8
"""Launches an arm from which resampling says anything: with fewer its intervals are far too short."""
RESAMPLES = 4999
DRIFTING = 3
"""Launches an arm from which a drift is tested."""
SEEN = 0.01
"""A drift less likely than this by chance is said to be there."""
NOTHING = 1e-12
"""Of a log: what rounding leaves."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drift:
    """
    How the launches changed with time, whichever arm they are of.

    Attributes:
        change: From one launch to the next, relative.
        p: Chance of such a trend, or a steeper one, where there is none.
    """

    change: float
    p: float

    @property
    def seen(self) -> bool:
        """Whether it is more than chance."""
        return self.p < SEEN


def hodges_lehmann(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the median of all differences between a value of B and one of A."""
    return median(other - one for one in a for other in b)


def resampled(a: Sequence[float], b: Sequence[float], *, confidence: float) -> Interval | None:
    """Return the percentile bootstrap's interval of the difference of means; None under `RESAMPLED` values an arm."""
    if min(len(a), len(b)) < RESAMPLED:
        return None
    draw = np.random.default_rng(0)
    means = [np.asarray(arm)[draw.integers(0, len(arm), (RESAMPLES, len(arm)))].mean(axis=1) for arm in (a, b)]
    low, high = np.quantile(means[1] - means[0], [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def drift(a: Sequence[float], b: Sequence[float], order: str) -> Drift | None:
    """
    Return the linear trend over launches beside the difference of the arms, by least squares.

    Args:
        a: Values of A in the order they were launched; B's likewise.
        order: The arm of each launch in turn, `A` or `B`.

    Returns:
        None with fewer than `DRIFTING` launches an arm.
    """
    if min(len(a), len(b)) < DRIFTING:
        return None
    arms = {"A": iter(a), "B": iter(b)}
    values = np.array([next(arms[arm]) for arm in order])
    places = np.arange(len(order)) - (len(order) - 1) / 2
    model = np.column_stack([np.ones(len(order)), [arm == "B" for arm in order], places])
    fitted = np.linalg.lstsq(model, values, rcond=None)[0]
    freedom = len(order) - model.shape[1]
    left = float(np.sqrt(np.sum((values - model @ fitted) ** 2) / freedom))
    error = left * math.sqrt(np.linalg.inv(model.T @ model)[-1, -1])
    slope = float(fitted[-1])
    if error < NOTHING:
        return Drift(math.expm1(slope), 1.0 if abs(slope) < NOTHING else 0.0)
    return Drift(math.expm1(slope), float(2 * special.stdtr(freedom, -abs(slope) / error)))
