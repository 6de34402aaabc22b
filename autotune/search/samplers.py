"""Samplers by name. Each is driven through ask, tell and `set_constraint` alone."""

from collections.abc import Callable, Mapping

from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler

SAMPLERS: Mapping[str, Callable[[int], BaseSampler]] = {
    "tpe": lambda seed: TPESampler(seed=seed),
    "nsga2": lambda seed: NSGAIISampler(seed=seed, population_size=20),
    "random": lambda seed: RandomSampler(seed=seed),
    "gp": lambda seed: GPSampler(seed=seed),  # needs torch: pip install 'autotune-serve[gp]'
}
