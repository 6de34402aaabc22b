"""Configs drawn at random from a space, and what each comes to."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from search_spaces import (
    Choice,
    Config,
    Domain,
    FloatRange,
    Recipe,
    RuleBroken,
    Scalar,
    SearchSpace,
    Serve,
    resolve,
)

DRAWS = 1000
Drawn = Sequence[tuple[Config, Recipe | RuleBroken]]


def levels(domain: Domain) -> Sequence[Scalar]:
    """Return the values of a domain; of a range its ends."""
    return domain.values if isinstance(domain, Choice) else (domain.low, domain.high)


def draw(domain: Domain, rng: random.Random) -> Scalar:
    """Return any value of a domain."""
    if isinstance(domain, Choice):
        return rng.choice(domain.values)
    if isinstance(domain, FloatRange):
        return rng.choice((domain.low, domain.high))
    return rng.randrange(domain.low, domain.high + 1, domain.step)


def configs(space: SearchSpace) -> Iterator[Config]:
    """Yield complete configs, half of them near the baseline; the same for a space every time."""
    rng = random.Random(space.name)  # noqa: S311 no secret
    while True:
        drawn = {name: draw(knob.domain, rng) for name, knob in space.knobs.items()}
        yield drawn
        kept = rng.sample(sorted(drawn), k=len(drawn) - min(3, len(drawn)))
        yield {**drawn, **{name: space.baseline[name] for name in kept}}


def outcome(space: SearchSpace, config: Config) -> Recipe | RuleBroken:
    """Return the recipe of a config, or the rule that it breaks."""
    try:
        return resolve(space, config)
    except RuleBroken as broken:
        return broken


def outcomes(space: SearchSpace) -> Drawn:
    """Return drawn configs with what each comes to."""
    return [(config, outcome(space, config)) for config in islice(configs(space), DRAWS)]


def launches(drawn: Drawn) -> Iterator[tuple[Config, int, Serve]]:
    """Yield every launch of the configs that resolve, with its config and concurrency."""
    for config, recipe in drawn:
        if isinstance(recipe, Recipe):
            for concurrency in recipe.workload.concurrency:
                yield config, concurrency, recipe.at(concurrency)


def after(serve: Serve, flag: str) -> str | None:
    """Return the argument that follows a flag, if the flag is there."""
    return next((value for name, value in pairwise(serve.args) if name == flag), None)
