"""What the search says of each change, alone and at each concurrency: it chooses what to launch, and proves nothing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autotune.confirm import baseline, level, value
from autotune.folder import TrialRecord
from autotune.search.additive import Observation, Posterior, features, fit
from autotune.search.axes import Axes, Point, axes
from autotune.search.flat import to_params
from search_spaces import Config, Objective, SearchSpace, resolve
from trials.outcome import Measured

NOISE = 0.02
"""Of the logarithm that one trial of the search measures, as a standard deviation."""


@dataclass(frozen=True, slots=True)
class Expected:
    """
    How a change of one knob from the baseline is expected to move the objective's logarithm.

    Attributes:
        deviation: How far the mean may be off.
    """

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What a study's trials say of its knobs."""

    space: SearchSpace
    axes: Axes
    posterior: Posterior

    def of(self, config: Config) -> dict[str, Expected]:
        """Return what is expected of each knob of a config that reaches the engine and is not the baseline's."""
        place = self._point(config)
        return {
            axis.name: Expected(float(self.posterior.effects[at][own]), float(self.posterior.deviations[at][own]))
            for at, (axis, own) in enumerate(zip(self.axes.each, place, strict=True))
            if own != axis.baseline
        }

    def gain(self, config: Config, over: Config) -> float:
        """Return the expected difference of two configs' logarithms."""
        mine, other = self.posterior.expect([self._point(config), self._point(over)])
        return float(mine - other)

    def _point(self, config: Config) -> Point:
        return self.axes.point(to_params(self.space, resolve(self.space, config).config))


def over_ladder(trials: Sequence[TrialRecord], space: SearchSpace) -> Beliefs:
    """Return what the trials say of the objective."""
    return _beliefs(trials, space, lambda measured: value(measured, space.objective))


def at(
    concurrency: int, trials: Sequence[TrialRecord], space: SearchSpace, fresh: Sequence[tuple[Config, Measured]] = ()
) -> Beliefs:
    """
    Return what the trials say of the metric at one concurrency.

    Args:
        fresh: Launches after the search, each with its config, that are learned from too.
    """
    return _beliefs(trials, space, lambda measured: _level(measured, concurrency, space.objective), fresh)


def _level(measured: Measured, concurrency: int, goal: Objective) -> float:
    return next(level(point, goal) for point in measured.points if point.concurrency == concurrency)


def _beliefs(
    trials: Sequence[TrialRecord],
    space: SearchSpace,
    metric: Callable[[Measured], float],
    fresh: Sequence[tuple[Config, Measured]] = (),
) -> Beliefs:
    """Fit the trials that were measured; those that missed the gate are as fast as they are."""
    found = axes(space)
    base = baseline(trials).outcome
    bar = math.log(metric(base)) if isinstance(base, Measured) else 0.0
    searched = [(trial.config, trial.outcome) for trial in trials if isinstance(trial.outcome, Measured)]
    observations = [
        Observation(
            point=found.point(to_params(space, resolve(space, config).config)),
            y=math.log(metric(outcome)) - bar,
            deviation=NOISE,
        )
        for config, outcome in (*searched, *fresh)
    ]
    return Beliefs(space, found, fit(features(found), observations))
