"""The flat space that a sampler sees: every knob, always, as an Optuna distribution."""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import Choice, Config, Domain, FloatRange, IntRange, Ordinal, Scalar, SearchSpace

GRID = 16  # values that stand for a continuous knob where configs are enumerated


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """Return each knob's distribution; an ordinal is sampled as the index of its level, so that order counts."""
    return {name: _distribution(knob.domain) for name, knob in space.knobs.items()}


def _distribution(domain: Domain) -> BaseDistribution:
    match domain:
        case IntRange(low=low, high=high, step=step):
            return IntDistribution(low, high - (high - low) % step, log=domain.log, step=step)
        case FloatRange(step=step) if step is not None:
            return FloatDistribution(domain.low, _steps(domain, step)[-1], step=step)
        case FloatRange():
            return FloatDistribution(domain.low, domain.high, log=domain.log)
        case Ordinal(values):
            return IntDistribution(0, len(values) - 1)
        case Choice(values):
            return CategoricalDistribution(values)


def to_config(space: SearchSpace, params: Mapping[str, Any]) -> Config:
    """Return the config of a sampler's parameters."""
    return {name: _value(knob.domain, params[name]) for name, knob in space.knobs.items()}


def _value(domain: Domain, param: Any) -> Scalar:  # noqa: ANN401 what Optuna gives
    return domain.values[param] if isinstance(domain, Ordinal) else domain.admit(param)


def to_params(space: SearchSpace, config: Config) -> dict[str, Scalar]:
    """Return a sampler's parameters of a config."""
    return {name: to_param(knob.domain, config[name]) for name, knob in space.knobs.items()}


def to_param(domain: Domain, value: Scalar) -> Scalar:
    """Return a sampler's parameter of a value."""
    return domain.values.index(value) if isinstance(domain, Ordinal) else value


def nearest(space: SearchSpace, start: Config) -> Iterator[Config]:
    """
    Yield every config of the space, those that differ from `start` in fewer knobs first.

    A continuous knob is represented by `GRID` of its values.
    """
    for changed in range(len(space.knobs) + 1):
        for names in combinations(space.knobs, changed):
            others = [[v for v in levels(space.knobs[name].domain) if v != start[name]] for name in names]
            for values in product(*others):
                yield {**start, **dict(zip(names, values, strict=True))}


def levels(domain: Domain) -> list[Scalar]:
    """Return the values of a knob; a continuous one is represented by `GRID` of them."""
    match domain:
        case IntRange():
            return list(range(domain.low, domain.high + 1, domain.step))
        case FloatRange(step=step) if step is not None:
            return [*_steps(domain, step)]
        case FloatRange(low=low, high=high):
            return [*(np.geomspace if domain.log else np.linspace)(low, high, GRID).tolist()]
        case Choice(values):
            return list(values)


def _steps(domain: FloatRange, step: float) -> list[float]:
    """Return the values of a stepped range, in the form that the space admits."""
    count = math.floor((domain.high - domain.low) / step + 1e-9) + 1  # 1e-9: steps that are no binary fraction
    return [domain.admit(min(domain.low + n * step, domain.high)) for n in range(count)]
