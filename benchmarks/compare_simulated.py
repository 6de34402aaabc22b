"""Comparisons of simulated launches, which differ by nothing but chance, and what is counted of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from autotune.compare import FEWEST, LOOKS, Comparison, LaunchValues, Result, compare

MOST = FEWEST + LOOKS - 1
SEED = 11
CHUNK = 250
"""Campaigns of one draw: a process is given so many at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """
    How one campaign ended.

    Attributes:
        launches: An arm.
        settled_by: The launches an arm that would decide; None where it is decided, or where they are too many.
        squares: Of the logs of the launches, around the mean of their arm.
    """

    result: Result
    launches: int
    settled_by: int | None
    squares: float

    @classmethod
    def of(cls, found: Comparison) -> Self:
        """Return what is counted of a comparison."""
        launches, sd = found.launches[0], found.launch_sd or 0.0
        squares = sd**2 * (2 * launches - 2)
        return cls(result=found.result, launches=launches, settled_by=found.settled_by, squares=squares)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Campaigns to simulate, of those at one launch sd and one true effect."""

    sd: float
    effect: float
    number: int
    campaigns: int


def chunks(sd: float, effect: float, campaigns: int) -> Sequence[Chunk]:
    """Return the campaigns at one launch sd and one true effect, some at once."""
    firsts = range(0, campaigns, CHUNK)
    return [Chunk(sd, effect, first // CHUNK, min(CHUNK, campaigns - first)) for first in firsts]


def simulated(chunk: Chunk) -> list[Ended]:
    """Return how campaigns end in which B really is faster by the effect, launches differing by nothing but chance."""
    draw = np.random.default_rng([SEED, round(1e6 * chunk.sd), round(1e6 * chunk.effect), chunk.number])
    a, b = np.exp(draw.normal(0.0, chunk.sd, (2, chunk.campaigns, MOST))) * 100
    b *= 1 + chunk.effect
    return [Ended.of(sequential(one.tolist(), other.tolist())) for one, other in zip(a, b, strict=True)]


def sequential(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Look after each pair of launches until something is decided."""
    looks = (compare(arm(a[:n]), arm(b[:n])) for n in range(FEWEST, MOST + 1))
    found = next(looks)
    while found.result == "undecided" and found.launches[0] < MOST:
        found = next(looks)
    return found


def arm(objectives: Sequence[float]) -> list[LaunchValues]:
    """Return launches with one concurrency, whose metric is the objective."""
    return [LaunchValues(value, {1: value}) for value in objectives]
