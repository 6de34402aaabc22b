"""
A Bayesian additive model of the objective's logarithm over the levels of knobs around the baseline. Pure.

Each level of a knob without order has an effect of its own; a knob with an order has one for each step away from the
baseline, so that far levels borrow from near ones. All effects are 0 at the baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autotune.search.axes import Axes, Axis, Point, Prior

Floats = NDArray[np.float64]

LEVEL = Prior(0.0, 0.05)
STEP = Prior(0.0, 0.03)
BASELINE = Prior(0.0, 0.05)
"""Of the baseline's own value, which is measured as noisily as any."""
MISFIT = 0.012
"""How far configs are from the sum of their effects, as a standard deviation."""
FREEDOM = 4.0
"""Degrees of Student's t: one launch that went astray bends nothing."""
PASSES = 3
FAR = 0.15
"""Of the distance to the best, added to a trial's deviation: what fails far below says little of small effects."""


@dataclass(frozen=True, slots=True)
class Observation:
    """
    A measured point.

    Attributes:
        y: Logarithm of the objective over the baseline's.
        deviation: Of the measurement.
    """

    point: Point
    y: float
    deviation: float


@dataclass(frozen=True)
class Features:
    """
    How points become rows of the regression: the first column is the baseline's value.

    Attributes:
        codes: For each axis a row of features a level.
        means: What is believed of each effect at first.
        deviations: How little that is sure.
    """

    codes: tuple[Floats, ...]
    means: Floats
    deviations: Floats

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each axis."""
        ends = 1 + np.cumsum([code.shape[1] for code in self.codes])
        return tuple(slice(int(end) - code.shape[1], int(end)) for end, code in zip(ends, self.codes, strict=True))

    def rows(self, points: Sequence[Point]) -> Floats:
        """Return a row for each point."""
        parts = [code[[point[at] for point in points]] for at, code in enumerate(self.codes)]
        return np.hstack([np.ones((len(points), 1)), *parts])

    def levels(self, effects: Floats) -> list[Floats]:
        """Return by axis the effect of each level, 0 for the baseline's."""
        return [code @ effects[columns] for code, columns in zip(self.codes, self.slices, strict=True)]


@dataclass(frozen=True)
class Posterior:
    """What is believed of the effects after the observations."""

    features: Features
    mean: Floats
    covariance: Floats

    def draw(self, source: np.random.Generator) -> list[Floats]:
        """Return one plausible set of effects, by axis and level."""
        root = np.linalg.cholesky(self.covariance)
        return self.features.levels(self.mean + root @ source.standard_normal(len(self.mean)))

    def after(self, points: Sequence[Point], deviation: float) -> "Posterior":
        """
        Return how much will be certain, but not what, when these points have been measured too.

        Args:
            deviation: Of each measurement.
        """
        rows = self.features.rows(points)
        seen = rows @ self.covariance
        known = seen.T @ np.linalg.solve(seen @ rows.T + deviation**2 * np.eye(len(rows)), seen)
        left = self.covariance - known
        return replace(self, covariance=(left + left.T) / 2)

    @cached_property
    def effects(self) -> list[Floats]:
        """The expected effect of each level, by axis."""
        return self.features.levels(self.mean)

    @cached_property
    def deviations(self) -> list[Floats]:
        """How far each expected effect may be off, by axis and level."""
        return [
            np.sqrt(np.einsum("ij,jk,ik->i", code, self.covariance[columns, columns], code))
            for code, columns in zip(self.features.codes, self.features.slices, strict=True)
        ]

    def expect(self, points: Sequence[Point]) -> Floats:
        """Return the expected value of each point."""
        expected: Floats = self.features.rows(points) @ self.mean
        return expected


def features(axes: Axes) -> Features:
    """Return how points over these axes become rows, with the prior of each column."""
    parts = [_coded(axis) for axis in axes.each]
    priors = [BASELINE, *(prior for _, listed in parts for prior in listed)]
    return Features(
        codes=tuple(code for code, _ in parts),
        means=np.array([prior.mean for prior in priors]),
        deviations=np.array([prior.deviation for prior in priors]),
    )


def fit(model: Features, observations: Sequence[Observation]) -> Posterior:
    """Return what the observations say of the effects."""
    rows = model.rows([each.point for each in observations])
    y = np.array([each.y for each in observations])
    distance = np.maximum(0.0, y.max(initial=0.0) - y)
    variance = np.array([each.deviation**2 for each in observations]) + MISFIT**2 + (FAR * distance) ** 2
    mean, covariance = _solved(model, rows, y, variance)
    for _ in range(PASSES):
        squares = (y - rows @ mean) ** 2 / variance
        mean, covariance = _solved(model, rows, y, variance * (FREEDOM + squares) / (FREEDOM + 1))
    return Posterior(model, mean, covariance)


def _solved(model: Features, rows: Floats, y: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of a regression with independent normal priors."""
    precision = np.diag(model.deviations**-2) + rows.T @ (rows / variance[:, None])
    covariance = np.linalg.inv(precision)
    mean = covariance @ (model.means / model.deviations**2 + rows.T @ (y / variance))
    return mean, (covariance + covariance.T) / 2


def _coded(axis: Axis) -> tuple[Floats, list[Prior]]:
    """Return the features of each level of an axis, and the prior of each feature."""
    others = [level for level in range(len(axis.levels)) if level != axis.baseline]
    if not axis.ordered:
        code = np.array([[float(level == other) for other in others] for level in range(len(axis.levels))])
        return code.reshape(len(axis.levels), len(others)), [axis.priors.get(other, LEVEL) for other in others]
    code = np.array([[float(_passes(axis, level, step)) for step in others] for level in range(len(axis.levels))])
    return code.reshape(len(axis.levels), len(others)), [_step_prior(axis, step) for step in others]


def _passes(axis: Axis, level: int, step: int) -> bool:
    """Say whether the way from the baseline to a level goes over a step, which is named for the level it reaches."""
    return axis.baseline < step <= level or level <= step < axis.baseline


def _step_prior(axis: Axis, step: int) -> Prior:
    """Return the prior of a step: what is believed of its level, less what is believed of the one before."""
    if step not in axis.priors:
        return STEP
    before = step - 1 if step > axis.baseline else step + 1
    known = axis.priors.get(before)
    return Prior(axis.priors[step].mean - (known.mean if known else 0.0), axis.priors[step].deviation)
