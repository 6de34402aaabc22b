"""
Samplers by name. Each is driven through ask, tell and `set_constraint` alone.

A package adds its own by an entry point of the group `autotune.samplers`: a function from a `SearchSpace`, which has
the baseline and what is believed of its knobs, and a seed to an `optuna.samplers.BaseSampler`.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TypeAlias

from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler

from autotune.search.ablation import AblationSampler
from autotune.search.axes import axes
from autotune.search.flat import distributions
from autotune.search.grid import GridSampler
from search_spaces import SearchSpace

Make: TypeAlias = Callable[[SearchSpace, int], BaseSampler]

GROUP = "autotune.samplers"

SAMPLERS: Mapping[str, Make] = {
    "ablation": lambda space, seed: AblationSampler(axes(space), distributions(space), seed=seed),
    "tpe": lambda _, seed: TPESampler(seed=seed),
    "gp": lambda _, seed: GPSampler(seed=seed),  # needs torch: pip install 'autotune-serve[gp]'
    "nsga2": lambda _, seed: NSGAIISampler(seed=seed, population_size=20),
    "random": lambda _, seed: RandomSampler(seed=seed),
    "grid": lambda space, _: GridSampler(axes(space), distributions(space)),
}


class UnknownSampler(Exception):
    """No sampler has this name, neither ours nor an installed package's."""


def names() -> list[str]:
    """Return the names of ours, then of those that installed packages bring."""
    return [*SAMPLERS, *sorted(entry_points(group=GROUP).names - SAMPLERS.keys())]


def make(name: str, space: SearchSpace, seed: int) -> BaseSampler:
    """
    Return a sampler for a space; ours go before an installed package's of the same name.

    Raises:
        UnknownSampler: There is none of this name.
    """
    if name in SAMPLERS:
        return SAMPLERS[name](space, seed)
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise UnknownSampler(f"no sampler {name!r}: known are {', '.join(names())}")
    made: BaseSampler = found.load()(space, seed)
    return made
