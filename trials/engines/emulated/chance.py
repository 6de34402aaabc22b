"""
What differs between two launches of one config: noise, flaky failures, how long a start takes. Pure, from seeds.

Every draw has a seed of its own, made of the launch's and of what is drawn, so that none depends on the order in
which things happen.
"""

import math
import random
from dataclasses import dataclass
from typing import Self

from trials.engines.emulated.config import Config, config
from trials.engines.emulated.failures import accuracy, start_minutes
from trials.engines.emulated.landscape import Landscape, point

LAUNCH = 0.015
FLAKY = 0.03
FLAKY_MINUTES = 3.0, 15.0
START = 0.9, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """
    Standard deviations of the logarithm of throughput.

    Attributes:
        launch: Between launches.
        point: Between concurrencies of a launch, on top.
        cycle: Between requests of a slot, on top.
    """

    launch: float = LAUNCH
    point: float = LAUNCH
    cycle: float = 0.063

    @classmethod
    def scaled(cls, launch: float) -> Self:
        """Return noise with this deviation between launches, all else in proportion; 0 is none at all."""
        share = launch / LAUNCH
        return cls(launch=share * cls().launch, point=share * cls().point, cycle=share * cls().cycle)

    def factor(self, seed: str, concurrency: int) -> float:
        """Return what multiplies every rate of a launch at a concurrency."""
        launch = self.launch * _draw(seed, "launch").gauss()
        return math.exp(launch + self.point * _draw(seed, "point", concurrency).gauss())

    def cycle_factor(self, seed: str, concurrency: int, run: int, cycle: int) -> float:
        """Return what multiplies the rate of one request of each slot, on top."""
        return math.exp(self.cycle * _draw(seed, "cycle", concurrency, run, cycle).gauss())


def noisy_objective(landscape: Landscape, chosen: Config, noise: Noise, *, seed: str, cycles: int) -> float:
    """Return the objective of one launch that sends `cycles` requests a slot at each concurrency."""
    logs = [
        math.log(point(landscape, chosen, each).total_tok_per_s_per_gpu * noise.factor(seed, each))
        + noise.cycle / math.sqrt(cycles) * _draw(seed, "cycles", each).gauss()
        for each in landscape.concurrency
    ]
    return math.exp(math.fsum(logs) / len(logs))


def measured_accuracy(landscape: Landscape, chosen: Config, *, seed: str, questions: int) -> float:
    """Return the share that is answered right of so many questions."""
    draw, right = _draw(seed, "accuracy"), accuracy(landscape, chosen)
    return sum(draw.random() < right for _ in range(questions)) / questions


def flaky_minutes(seed: str, *, share: float = FLAKY) -> float | None:
    """Return after how many minutes a launch fails by chance, or None."""
    draw = _draw(seed, "flaky")
    return draw.uniform(*FLAKY_MINUTES) if draw.random() < share else None


def start_seconds(chosen: Config, *, seed: str) -> float:
    """Return how long one start takes."""
    return 60 * start_minutes(chosen) * _draw(seed, "start").uniform(*START)


def chosen_at_random(landscape: Landscape, seed: str) -> Config:
    """Return a config, every value of every parameter as likely."""
    draw = _draw(seed, "config")
    return config({name: draw.choice(values) for name, values in landscape.space.items()})


def share(*parts: object) -> float:
    """Return a number from 0 up to 1 that depends on nothing but `parts`."""
    return _draw(*parts).random()


def _draw(*parts: object) -> random.Random:
    return random.Random(repr(parts))  # noqa: S311 a landscape, not a secret
