"""What a study's trials say of its knobs: effects, suspicions, what was never tried. It is no evidence. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Literal

from autotune.confirm import baseline, value
from autotune.folder import TrialRecord
from autotune.retries import counting
from autotune.search.additive import Posterior, features
from autotune.search.axes import Axes, axes
from autotune.search.beliefs import beliefs
from autotune.search.blame import Blame
from autotune.search.flat import to_config, to_params
from autotune.search.history import Told
from autotune.search.tell import GATE, NOT_JUDGED, counts
from search_spaces import Scalar, SearchSpace, resolve
from trials.outcome import Infeasible, Measured

SIGMAS = 1.96
"""Standard deviations of a normal distribution, to either side, that hold 95 %."""
SUSPECTED = 0.1
"""The least probability of guilt that is worth a word: before any failure a level has 0.01, a pair 0.0015."""

Setting = tuple[str, Scalar]
"""A knob and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """
    The change of the objective that a level brings over the baseline's, as a share of it.

    Attributes:
        low: Lower end of the 95 % interval.
        high: Upper end.
    """

    share: float
    low: float
    high: float

    @property
    def at_least(self) -> float:
        """The smallest change in the interval, whatever its sign."""
        return max(0.0, self.low, -self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """
    One value of a knob.

    Attributes:
        tried: Configs with it that ended, well or not; an inactive knob is at its baseline.
        measured: Those of them that were measured.
        effect: None of the baseline's level, and of what was never measured.
    """

    value: Scalar
    is_baseline: bool
    tried: int
    measured: int
    effect: Effect | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSummary:
    """
    One knob.

    Attributes:
        rank: From 1, by the largest effect that is sure, then by the largest; None where nothing is known.
    """

    name: str
    rank: int | None
    levels: tuple[Level, ...]

    @property
    def matters(self) -> bool:
        """Whether some value surely changes the objective."""
        return any(effect.at_least > 0 for effect in self.effects)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What is known of its values."""
        return tuple(level.effect for level in self.levels if level.effect)

    @property
    def untried(self) -> tuple[Scalar, ...]:
        """The values that were never tried."""
        return tuple(level.value for level in self.levels if not level.tried)

    @property
    def never_moved(self) -> bool:
        """Whether nothing but the baseline's value was tried."""
        return not any(level.tried for level in self.levels if not level.is_baseline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """
    A value, or two together, that may be why configs crash or miss the gate.

    Attributes:
        probability: That it is guilty.
        seen: Configs with it that ended; of a gate's suspect, those that were judged.
        wrong: Those of them that crashed, or missed the gate.
    """

    what: Literal["crash", "gate"]
    settings: tuple[Setting, ...]
    probability: float
    seen: int
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """
    What the trials of a study say together.

    Attributes:
        measured: Configs that were measured, the baseline too.
        crashed: Configs that failed by their own fault.
        missed: Measured configs that missed the gate.
        knobs: Those that matter most first; those of which nothing is known last.
        suspects: The most probable first.
    """

    measured: int
    crashed: int
    missed: int
    knobs: tuple[KnobSummary, ...]
    suspects: tuple[Suspect, ...]

    @property
    def compared(self) -> bool:
        """Whether there are effects: the baseline was measured, and something else."""
        return any(knob.effects for knob in self.knobs)


def explain(trials: Sequence[TrialRecord], space: SearchSpace) -> Explanation:
    """Return what the trials say; those that run, were lost, or are to be run again say nothing."""
    found = axes(space)
    ended = [trial for trial in counting(trials) if isinstance(trial.outcome, Measured | Infeasible)]
    told = [_told(trial, space, found) for trial in ended]
    judged = [each for each in told if each.answered or _missed(each)]
    known = beliefs(found, features(found), told)
    settings = _settings(space, found)
    effects = _effects(known.posterior) if ended and isinstance(baseline(trials).outcome, Measured) else None
    suspects = (*_suspects("crash", known.crashes, settings, told), *_suspects("gate", known.losses, settings, judged))
    return Explanation(
        measured=len(told) - sum(map(_crashed, told)),
        crashed=sum(map(_crashed, told)),
        missed=sum(map(_missed, told)),
        knobs=_ranked([_knob(at, own, found, told, effects) for at, own in enumerate(settings)]),
        suspects=tuple(sorted(suspects, key=lambda suspect: suspect.probability, reverse=True)),
    )


def _told(trial: TrialRecord, space: SearchSpace, found: Axes) -> Told:
    point = found.point(to_params(space, resolve(space, trial.config).config))
    match trial.outcome:
        case Measured(verdict=verdict) as measured:
            counted = counts(verdict).get(GATE, {})
            violation = verdict.violation if verdict else NOT_JUDGED
            return Told(point, value(measured, space.objective), violation=violation, **counted)
        case _:
            return Told(point, None)


def _crashed(told: Told) -> bool:
    return told.value is None


def _missed(told: Told) -> bool:
    return told.violation > 0


WRONG: dict[str, Callable[[Told], bool]] = {"crash": _crashed, "gate": _missed}


def _settings(space: SearchSpace, found: Axes) -> list[list[Setting]]:
    """Return by axis each level as the space writes it, with its knob's name."""
    base = found.params(found.baseline)
    return [
        [(axis.name, to_config(space, {**base, axis.name: level})[axis.name]) for level in axis.levels]
        for axis in found.each
    ]


def _effects(posterior: Posterior) -> list[list[Effect]]:
    """Return by axis the effect of each level."""
    return [
        [_effect(float(mean), float(deviation)) for mean, deviation in zip(means, deviations, strict=True)]
        for means, deviations in zip(posterior.effects, posterior.deviations, strict=True)
    ]


def _effect(mean: float, deviation: float) -> Effect:
    low, share, high = (math.expm1(mean + sigmas * deviation) for sigmas in (-SIGMAS, 0.0, SIGMAS))
    return Effect(share=share, low=low, high=high)


def _knob(
    at: int, settings: Sequence[Setting], found: Axes, told: Sequence[Told], effects: Sequence[Sequence[Effect]] | None
) -> KnobSummary:
    """
    Return what is known of the knob of one axis.

    Args:
        effects: By axis and level; None where the baseline was not measured.
    """
    levels = []
    for level, (_, own) in enumerate(settings):
        here = [each for each in told if each.point[at] == level]
        measured = len(here) - sum(map(_crashed, here))
        is_baseline = level == found.baseline[at]
        effect = effects[at][level] if effects and measured and not is_baseline else None
        levels.append(Level(value=own, is_baseline=is_baseline, tried=len(here), measured=measured, effect=effect))
    return KnobSummary(name=settings[0][0], rank=None, levels=tuple(levels))


def _ranked(knobs: Sequence[KnobSummary]) -> tuple[KnobSummary, ...]:
    """Number the knobs of which something is known, those that matter most first."""
    known = sorted((knob for knob in knobs if knob.effects), key=_size, reverse=True)
    ranked = (replace(knob, rank=rank) for rank, knob in enumerate(known, start=1))
    return (*ranked, *(knob for knob in knobs if not knob.effects))


def _size(knob: KnobSummary) -> tuple[float, float]:
    return max(each.at_least for each in knob.effects), max(abs(each.share) for each in knob.effects)


def _suspects(
    what: Literal["crash", "gate"], suspicions: Blame, settings: Sequence[Sequence[Setting]], told: Sequence[Told]
) -> Iterator[Suspect]:
    """Yield the levels and the pairs of levels that something that went wrong is blamed on."""
    places = [(at, level) for at, own in enumerate(settings) for level in range(len(own))]
    for one, other in combinations_with_replacement(range(len(places)), 2):
        probability = -math.expm1(float(suspicions.log_innocent[one, other]))
        if probability < SUSPECTED:
            continue
        held = sorted({places[one], places[other]})
        seen = [each for each in told if all(each.point[at] == level for at, level in held)]
        yield Suspect(
            what=what,
            settings=tuple(settings[at][level] for at, level in held),
            probability=probability,
            seen=len(seen),
            wrong=sum(map(WRONG[what], seen)),
        )
