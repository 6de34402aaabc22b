"""What the trials of a study say together: effects of levels, suspicions, and which measured point is best. Pure."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from autotune.search.additive import MISFIT, Features, Observation, Posterior, fit
from autotune.search.axes import Axes, Point
from autotune.search.blame import Blame, blame, together
from autotune.search.history import Told

NOISE = 0.025
"""Of a short launch's logarithm, before repeats have said more."""
NOISE_WEIGHT = 6.0
"""Repeats that the value above is worth."""
ESTIMATED = 0.03
"""What a trial that was cut short is less sure of, as a standard deviation."""
RUINED = 0.10
"""How far below its expected logarithm a trial is no matter of small effects any more, but of a level to blame."""
FLIP = 0.0005
"""What a change must bring at least: between equals the one nearer to the baseline is better."""


@dataclass(frozen=True)
class Beliefs:
    """
    All that a proposal is made from.

    Attributes:
        crashes: Who is to blame for trials that failed.
        losses: Who is to blame for trials that missed the gate.
        ruins: Who is to blame for trials far slower than their levels explain.
        scores: Estimated logarithm over the baseline's of each measured point that did not miss the gate.
        passed: Of those, the points that passed by a standard error.
        pending: Levels, each with its axis, that have never gone well and are in a launch that runs.
    """

    axes: Axes
    posterior: Posterior
    crashes: Blame
    losses: Blame
    ruins: Blame
    scores: Mapping[Point, float]
    passed: frozenset[Point]
    pending: frozenset[tuple[int, int]] = frozenset()

    @property
    def incumbent(self) -> Point:
        """The best point so far that was measured; the baseline before any was."""
        return max(self.scores, key=lambda point: self.scores[point], default=self.axes.baseline)

    @property
    def recommended(self) -> Point:
        """The best of the points that passed; the baseline if none did, or if none is better."""
        passed = [point for point in self.scores if point in self.passed]
        return max(passed, key=lambda point: self.scores[point], default=self.axes.baseline)

    @cached_property
    def all(self) -> Blame:
        """Who is to blame for anything."""
        return together((self.crashes, self.losses, self.ruins))

    def awaiting(self, running: Collection[Point]) -> "Beliefs":
        """Return the beliefs while these points are being launched: what they will tell needs no other launch."""
        return replace(
            self,
            posterior=self.posterior.after(sorted(running), math.hypot(NOISE, MISFIT)),
            pending=frozenset(
                (axis, level)
                for point in running
                for axis, level in enumerate(point)
                if self.crashes.untried(axis, level)
            ),
        )

    def risk(self, point: Point) -> float:
        """Return the probability that a point fails, misses the gate or is far too slow."""
        return self.all.risk(point)

    def suspicions(self, axis: int, level: int) -> int:
        """Return how often a level failed or missed the gate; none once it has done neither."""
        return self.crashes.suspicions(axis, level) + self.losses.suspicions(axis, level)


def beliefs(axes: Axes, features: Features, told: Sequence[Told]) -> Beliefs:
    """Return what all these trials say."""
    ran = [each for each in told if each.value is not None]
    gates = _gates(ran)
    observations = _observations(ran, axes)
    posterior = fit(features, observations)
    scores = _scores(posterior, observations, axes)
    slow = _ruined(posterior, observations)
    wrong = {point for point, gate in gates.items() if gate.missed}
    measured = {each.point for each in ran if not each.estimated}
    return Beliefs(
        axes=axes,
        posterior=posterior,
        crashes=blame(
            axes, well=[each.point for each in ran], wrong=[each.point for each in told if each.value is None]
        ),
        losses=blame(axes, well=[point for point, gate in gates.items() if gate.passed], wrong=sorted(wrong)),
        ruins=blame(
            axes,
            well=[each.point for each in observations if each.point not in slow],
            wrong=[each.point for each in observations if each.point in slow],
        ),
        scores={point: score for point, score in scores.items() if point in measured and point not in wrong},
        passed=frozenset(point for point, gate in gates.items() if gate.passed),
    )


@dataclass(frozen=True, slots=True)
class Gate:
    """
    All answers of one point.

    Attributes:
        deviation: Of the share that is right, a standard error.
    """

    share: float
    deviation: float
    threshold: float

    @property
    def missed(self) -> bool:
        """Whether fewer answers were right than the gate asks for."""
        return self.share < self.threshold

    @property
    def passed(self) -> bool:
        """Whether the gate is passed by a standard error: less says nothing yet."""
        return self.share - self.deviation >= self.threshold


def _gates(ran: Sequence[Told]) -> dict[Point, Gate]:
    """Return each judged point's gate, over all its trials; an uncounted one stands for what its trial said."""
    judged: defaultdict[Point, list[Told]] = defaultdict(list)
    for each in ran:
        if each.answered or each.violation:
            judged[each.point].append(each)
    return {point: _pooled(trials) for point, trials in judged.items()}


def _pooled(trials: Sequence[Told]) -> Gate:
    answered = sum(each.answered for each in trials)
    if not answered:
        return Gate(share=0.0, deviation=0.0, threshold=max(each.violation for each in trials))
    share = sum(each.correct for each in trials) / answered
    smoothed = (share * answered + 1) / (answered + 2)
    return Gate(share, math.sqrt(smoothed * (1 - smoothed) / answered), max(each.threshold for each in trials))


def _observations(ran: Sequence[Told], axes: Axes) -> list[Observation]:
    """Return the values as logarithms over the baseline's first, or over the middle of all before it is measured."""
    logs = [math.log(each.value) for each in ran if each.value is not None]
    base = next((log for log, each in zip(logs, ran, strict=True) if each.point == axes.baseline), None)
    zero = float(np.median(logs)) if base is None and logs else base or 0.0
    noise = _noise(ran, logs)
    return [
        Observation(each.point, log - zero, math.hypot(noise, ESTIMATED) if each.estimated else noise)
        for log, each in zip(logs, ran, strict=True)
    ]


def _noise(ran: Sequence[Told], logs: Sequence[float]) -> float:
    """Return the deviation of one launch, as repeats of points say it."""
    repeats: defaultdict[Point, list[float]] = defaultdict(list)
    for each, log in zip(ran, logs, strict=True):
        if not each.estimated:
            repeats[each.point].append(log)
    squares = sum(len(values) * float(np.var(values)) for values in repeats.values())
    freedom = sum(len(values) - 1 for values in repeats.values())
    return math.sqrt((NOISE_WEIGHT * NOISE**2 + squares) / (NOISE_WEIGHT + freedom))


def _scores(posterior: Posterior, observations: Sequence[Observation], axes: Axes) -> dict[Point, float]:
    """Return each point's estimate: the model's, moved towards its own launches as far as those are to be believed."""
    launches: defaultdict[Point, list[Observation]] = defaultdict(list)
    for each in observations:
        launches[each.point].append(each)
    points = list(launches)
    expected = posterior.expect(points)
    return {
        point: float(value) + _moved(float(value), launches[point]) - FLIP * axes.flips(point)
        for point, value in zip(points, expected, strict=True)
    }


def _ruined(posterior: Posterior, observations: Sequence[Observation]) -> frozenset[Point]:
    """Return the points that the sum of their effects does not explain."""
    points = [each.point for each in observations]
    short = posterior.expect(points) - np.array([each.y for each in observations])
    return frozenset(point for point, missing in zip(points, short, strict=True) if missing > RUINED)


def _moved(expected: float, launches: Sequence[Observation]) -> float:
    precision = sum(each.deviation**-2 for each in launches)
    own = sum(each.y / each.deviation**2 for each in launches) / precision
    return (own - expected) * MISFIT**2 / (MISFIT**2 + 1 / precision)
