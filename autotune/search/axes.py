"""The knobs as a model of levels sees them: a handful of levels each, and one of them the baseline's. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from autotune.search.flat import GRID, levels, to_param
from search_spaces import Choice, Ordinal, Scalar, SearchSpace
from search_spaces.knob import Knob

Point = tuple[int, ...]
"""The index of a level for each axis."""


UNSURE = 0.05
"""How far off what is believed of a level may be on top of its own size, as a standard deviation of the logarithm."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a level before it is tried: the change of the objective's logarithm from the baseline's."""

    mean: float
    deviation: float


def claimed(gain: float) -> Prior:
    """
    Return the prior of a level that is said to bring a gain.

    It is doubted as much as it is large: one that is wrong must still be tried, and then the launches outvote it.

    Args:
        gain: Over the baseline's level: 0.1 is a tenth more.
    """
    mean = math.log1p(gain)
    return Prior(mean, math.hypot(UNSURE, mean))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """
    One knob.

    Attributes:
        levels: As parameters of Optuna, in their order if they have one.
        ordered: Whether neighbouring levels behave alike.
        baseline: Index of the baseline's level.
        priors: By index of the level; the others have the model's own.
    """

    name: str
    levels: tuple[Scalar, ...]
    ordered: bool
    baseline: int
    priors: Mapping[int, Prior] = field(default_factory=dict)

    def index(self, param: Any) -> int:  # noqa: ANN401 what Optuna gives
        """Return the level that a parameter is, or the nearest to a number between two."""
        if self.ordered and param not in self.levels:
            return int(np.argmin([abs(float(level) - float(param)) for level in self.levels]))
        return self.levels.index(param)


@dataclass(frozen=True)
class Axes:
    """All knobs of a space."""

    each: tuple[Axis, ...]

    @cached_property
    def baseline(self) -> Point:
        """The point of the baseline."""
        return tuple(axis.baseline for axis in self.each)

    def point(self, params: Mapping[str, Any]) -> Point:
        """Return the point of a trial's parameters."""
        return tuple(axis.index(params[axis.name]) for axis in self.each)

    def params(self, point: Point) -> dict[str, Scalar]:
        """Return the parameters of a point."""
        return {axis.name: axis.levels[level] for axis, level in zip(self.each, point, strict=True)}

    def flips(self, point: Point) -> int:
        """Return in how many knobs a point differs from the baseline."""
        return sum(level != base for level, base in zip(point, self.baseline, strict=True))


def moved(point: Point, axis: int, level: int) -> Point:
    """Return a point with one axis at another level."""
    return (*point[:axis], level, *point[axis + 1 :])


def axes(space: SearchSpace) -> Axes:
    """Return the axes of a space; a range is represented by at most `GRID` of its values and the baseline's."""
    return Axes(tuple(_axis(name, knob, space.baseline[name]) for name, knob in space.knobs.items()))


def _axis(name: str, knob: Knob, baseline: Scalar) -> Axis:
    domain = knob.domain
    ordered = isinstance(domain, Ordinal) or not isinstance(domain, Choice)
    values = levels(domain)
    if not isinstance(domain, Choice):
        values = sorted({*_thinned(values), baseline}, key=float)
    return Axis(
        name=name,
        levels=tuple(to_param(domain, value) for value in values),
        ordered=ordered,
        baseline=values.index(baseline),
        priors={
            values.index(value): claimed(gain)
            for value, gain in ((domain.read(text), gain) for text, gain in knob.prior.items())
            if value in values and value != baseline
        },
    )


def _thinned(values: Sequence[Scalar]) -> list[Scalar]:
    """Return so many of the values that a model can learn each, evenly spaced."""
    if len(values) <= GRID:
        return list(values)
    return [values[round(at)] for at in np.linspace(0, len(values) - 1, GRID)]
