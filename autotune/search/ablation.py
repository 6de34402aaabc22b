"""
The ablation sampler: which few changes of the best config so far are worth the next launch.

It knows of a study what was told to Optuna and nothing else; with one seed it proposes the same again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial

from autotune.search.additive import Floats, features
from autotune.search.axes import Axes, Point, moved
from autotune.search.beliefs import Beliefs, beliefs
from autotune.search.history import History, read

BEARABLE = 0.6
"""The most that a proposal may be expected to go wrong."""
EXPLOIT, ISOLATE = 3, 5
"""Every so many trials the expected best is tried, and a suspect alone."""
DRAWS = 8
"""Samples that may come to a point already taken before a neighbour is tried."""
ELSEWHERE = 0.2
"""Share of samples that start from another good point than the best."""
WORTH = 0.003
"""What a suspected level may bring at least, for a launch to be spent on clearing it."""


@dataclass(frozen=True, slots=True)
class Climb:
    """
    How far from where it starts a proposal may go.

    Attributes:
        flips: The most knobs that change.
        least: What a change must bring.
    """

    flips: int
    least: float


SAMPLED = Climb(flips=6, least=0.0)
EXPECTED = Climb(flips=12, least=0.002)


class AblationSampler(BaseSampler):
    """Learns what each level brings and what breaks, and changes a few knobs of the best config at a time."""

    def __init__(self, axes: Axes, distributions: dict[str, BaseDistribution], *, seed: int) -> None:
        """
        Make a sampler of one space.

        Args:
            distributions: Of every axis, as the study asks for them.
        """
        self._axes = axes
        self._features = features(axes)
        self._distributions = distributions
        self._seed = seed
        self._independent = RandomSampler(seed=seed)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002 Optuna's signature
        """Return every knob: all are proposed together."""
        return self._distributions

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],  # noqa: ARG002 Optuna's signature
    ) -> dict[str, Any]:
        """Return the next config to try."""
        history = read(study, self._axes, asking=trial.number)
        known = beliefs(self._axes, self._features, history.told).awaiting(history.running)
        source = np.random.default_rng([self._seed, trial.number])
        return self._axes.params(propose(known, history, source, turn=trial.number))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:  # noqa: ANN401 Optuna's signature
        """Return any value of a parameter that is not of the space."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)


def propose(known: Beliefs, history: History, source: np.random.Generator, *, turn: int) -> Point:
    """
    Return the next point: the expected best, a suspect alone, or what a plausible set of effects says is best.

    Args:
        turn: Counts the proposals of a study.
    """
    taken = history.taken
    if not known.scores and known.axes.baseline not in taken:
        return known.axes.baseline
    if turn % ISOLATE == ISOLATE - 1 and (suspect := isolated(known, taken)):
        return suspect
    if turn % EXPLOIT == EXPLOIT - 1:
        best = climbed(known, known.incumbent, known.posterior.effects, EXPECTED)
        if best not in taken:
            return best
    for _ in range(DRAWS):
        point = climbed(known, _anchor(known, source), known.posterior.draw(source), SAMPLED)
        if point not in taken:
            return point
    return _neighbour(known, taken, source)


def climbed(known: Beliefs, start: Point, effects: Sequence[Floats], climb: Climb) -> Point:
    """Return where changes lead that bring most, as long as what they bring outweighs what they risk."""
    point, gained, worth = start, 0.0, 0.0
    changed: set[int] = set()
    for gain, axis, level in _gains(start, effects, climb.least):
        if len(changed) >= climb.flips:
            break
        if axis in changed or (axis, level) in known.pending:
            continue
        total, moves = _eased(known, point, effects, {axis: level}, gained + gain, fixed=changed)
        reached = _with(point, moves)
        risked = known.risk(reached)
        if risked <= BEARABLE and total * (1 - risked) > worth:
            point, gained, worth = reached, total, total * (1 - risked)
            changed |= moves.keys()
    return point


def isolated(known: Beliefs, taken: frozenset[Point]) -> Point | None:
    """
    Return the one suspected level that may bring most, alone, or None if no suspect is worth it.

    It is tried on the incumbent; what went wrong more than once, on the baseline, where fewest can be guilty with it.
    """
    effects, deviations = known.posterior.effects, known.posterior.deviations
    found = [
        (float(effects[axis][level] + deviations[axis][level] - effects[axis][start[axis]]), point)
        for axis, one in enumerate(known.axes.each)
        for level in range(len(one.levels))
        if (axis, level) not in known.pending
        and (times := known.suspicions(axis, level))
        and (start := known.incumbent if times == 1 else known.axes.baseline)
        and (point := moved(start, axis, level)) not in taken
    ]
    hope, point = max(found, default=(0.0, known.incumbent))
    return point if hope > WORTH else None


def _eased(
    known: Beliefs, point: Point, effects: Sequence[Floats], moves: dict[int, int], gain: float, *, fixed: set[int]
) -> tuple[float, dict[int, int]]:
    """Return a change that is too risky together with the change back to the baseline that makes it worth most."""
    risk = known.risk(_with(point, moves))
    if risk <= BEARABLE:
        return gain, moves
    eased = [(gain * (1 - risk), gain, moves)]
    for axis, (level, base) in enumerate(zip(point, known.axes.baseline, strict=True)):
        if level != base and axis not in fixed and axis not in moves:
            both = {**moves, axis: base}
            left = gain + float(effects[axis][base] - effects[axis][level])
            eased.append((left * (1 - known.risk(_with(point, both))), left, both))
    _, gain, moves = max(eased, key=lambda each: each[0])
    return gain, moves


def _with(point: Point, moves: Mapping[int, int]) -> Point:
    """Return a point with some axes at other levels."""
    return tuple(moves.get(axis, level) for axis, level in enumerate(point))


def _gains(start: Point, effects: Sequence[Floats], least: float) -> list[tuple[float, int, int]]:
    """Return every change that brings more than the least, the best first."""
    gains = [
        (float(effect - levels[start[axis]]), axis, level)
        for axis, levels in enumerate(effects)
        for level, effect in enumerate(levels)
    ]
    return sorted((gain for gain in gains if gain[0] > least), reverse=True)


def _anchor(known: Beliefs, source: np.random.Generator) -> Point:
    """Return where to start from: the incumbent, now and then another of the better half."""
    if source.random() >= ELSEWHERE or not known.scores:
        return known.incumbent
    ranked = sorted(known.scores, key=lambda point: known.scores[point], reverse=True)
    return ranked[source.integers(len(ranked) // 2 + 1)]


def _neighbour(known: Beliefs, taken: frozenset[Point], source: np.random.Generator) -> Point:
    """Return a point that differs from the incumbent in one knob, if possible one not taken and not risky."""
    start = known.incumbent
    around = [
        moved(start, axis, level)
        for axis, one in enumerate(known.axes.each)
        for level in range(len(one.levels))
        if level != start[axis]
    ]
    free = [point for point in around if point not in taken and known.risk(point) <= BEARABLE]
    return free[source.integers(len(free))] if free else around[source.integers(len(around))]
