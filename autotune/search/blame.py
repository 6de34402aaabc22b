"""
Which levels, alone or in pairs, are to blame for trials that went wrong. Pure.

Every level and every pair of levels is a suspect. What goes well clears all that was in it; what goes wrong is blamed
on each suspect as far as neither the others in it nor chance explain it. Nothing is ever banned: a crash costs minutes,
and the best config often lies beside one that crashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autotune.search.axes import Axes, Point

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SINGLE = 0.01
PAIR = 0.0015
CHANCE = 0.03
"""Share of trials that go wrong whatever their config."""
CLEARED = 0.02
"""How probable it is that what is guilty goes well once: three knobs may be guilty together."""
PASSES = 8
"""Rounds in which suspects explain each other away; half of each change is taken, or they would swing."""
SUREST = 0.98
"""Never is anything certain to go wrong."""


@dataclass(frozen=True, slots=True)
class Blame:
    """
    The suspicion of each pair of levels, on the diagonal of each level alone.

    Attributes:
        starts: Where the levels of each axis begin among all levels.
        log_innocent: Logarithm of the probability that a suspect is innocent; symmetric.
        accused: How often each level went wrong.
        cleared: How often each level went well.
    """

    starts: tuple[int, ...]
    log_innocent: Floats
    accused: Floats
    cleared: Floats

    def risk(self, point: Point) -> float:
        """Return the probability that a point goes wrong by its own fault."""
        at = _at(self.starts, [point])[0]
        return min(SUREST, float(1 - np.exp(_total(self.log_innocent[at[:, None], at]))))

    def untried(self, axis: int, level: int) -> bool:
        """Say whether a level has never gone well."""
        return not self.cleared[self.starts[axis] + level]

    def suspicions(self, axis: int, level: int) -> int:
        """Return how often a level went wrong; none once it has gone well."""
        return int(self.accused[self.starts[axis] + level]) if self.untried(axis, level) else 0


def blame(axes: Axes, *, well: Sequence[Point], wrong: Sequence[Point]) -> Blame:
    """Return the suspicions after what went well and what went wrong."""
    sizes = [len(axis.levels) for axis in axes.each]
    starts = tuple(int(start) for start in np.cumsum([0, *sizes[:-1]]))
    good, bad = _held(starts, sum(sizes), well), _held(starts, sum(sizes), wrong)
    cleared = good.T @ good
    prior = np.full(cleared.shape, PAIR)
    np.fill_diagonal(prior, SINGLE)
    odds = np.log(prior / (1 - prior)) + cleared * np.log(CLEARED)
    return Blame(starts, _log_innocent(odds, _at(starts, wrong)), bad.sum(0), good.sum(0))


def together(blames: Sequence[Blame]) -> Blame:
    """Return the suspicions of being guilty of any of several things."""
    return Blame(
        blames[0].starts,
        np.sum([each.log_innocent for each in blames], axis=0),
        np.sum([each.accused for each in blames], axis=0),
        np.min([each.cleared for each in blames], axis=0),
    )


def _log_innocent(odds: Floats, wrong: Indices) -> Floats:
    """
    Return each suspect's innocence, from its odds before anything went wrong.

    Belief propagation: what one crash says of a suspect depends on what all the others say of its companions.

    Args:
        wrong: A row for each crash, the places of its levels.
    """
    suspects = wrong[:, :, None], wrong[:, None, :]
    said = np.zeros((*wrong.shape, wrong.shape[1]))
    for _ in range(PASSES):
        innocent = -np.logaddexp(0.0, _believed(odds, suspects, said)[suspects] - said)
        others = _total(innocent)[:, None, None] - innocent
        said = (said - np.log(1 - (1 - CHANCE) * np.exp(others))) / 2
    return -np.logaddexp(0.0, _believed(odds, suspects, said))


def _believed(odds: Floats, suspects: tuple[Indices, Indices], said: Floats) -> Floats:
    """Return the odds of each suspect after what every crash says."""
    believed = odds.copy()
    np.add.at(believed, suspects, said)
    return believed


def _total(inside: Floats) -> Floats:
    """Return the sum over a point's suspects, each pair once; of each point where there are several."""
    total: Floats = (inside.sum((-2, -1)) + np.trace(inside, axis1=-2, axis2=-1)) / 2
    return total


def _at(starts: Sequence[int], points: Sequence[Point]) -> Indices:
    """Return a row for each point, the places of its levels among all."""
    return np.array(points, dtype=np.intp).reshape(-1, len(starts)) + np.array(starts, dtype=np.intp)


def _held(starts: Sequence[int], count: int, points: Sequence[Point]) -> Floats:
    """Return for each point which of all levels it has."""
    held = np.zeros((len(points), count))
    np.put_along_axis(held, _at(starts, points), 1.0, axis=1)
    return held
