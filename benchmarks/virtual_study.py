"""
A study on virtual time: workers, launches and their noise as the landscape has them, without an engine or a server.

Hours are engine-hours: those of all workers together.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trials.engines.emulated.chance import Noise, flaky_minutes, measured_accuracy, start_seconds
from trials.engines.emulated.config import Config
from trials.engines.emulated.failures import LOADED_SHARE, Failure, failure, gate_minutes
from trials.engines.emulated.landscape import Landscape, point

WORKERS = 4
NOISE = Noise()
FIRST = 2
"""Concurrencies, the cheapest, after which a trial may be stopped."""
BEHIND = 0.055
"""How far behind the best a trial is stopped, as a logarithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    A trial that an arm asks for.

    Attributes:
        cycles: Requests of each slot at each concurrency.
        questions: Of the gate.
        rival: Logarithms of the rates at each concurrency that the trial is held against; none: it is never stopped.
    """

    config: Config
    cycles: int = 10
    questions: int = 1319
    rival: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    What became of a trial.

    Attributes:
        logs: Logarithms of the rates at each concurrency; fewer where it was stopped, none where it failed.
        accuracy: None where the gate was not asked.
    """

    minutes: float
    logs: tuple[float, ...] = ()
    accuracy: float | None = None

    @property
    def value(self) -> float | None:
        """The objective of a trial that ran to its end."""
        return math.exp(math.fsum(self.logs) / len(self.logs)) if self.accuracy is not None else None


@dataclass(frozen=True, slots=True)
class Ended:
    """A trial that ended: what the arm would recommend then, and at how many engine-hours of all workers."""

    hours: float
    failed: bool
    recommended: Config


class Arm(Protocol):
    """A way to search."""

    def ask(self, share: float) -> Request | None:
        """Return the next trial, or None when nothing is left; `share` of the budget is spent."""
        ...

    def tell(self, request: Request, result: Result) -> None:
        """Learn what became of a trial."""
        ...

    def recommend(self) -> Config:
        """Return the config that would be the winner now."""
        ...


@dataclass(order=True, slots=True)
class _Running:
    ends: float
    number: int
    request: Request = field(compare=False)
    result: Result = field(compare=False)


def play(landscape: Landscape, arm: Arm, *, seed: str, hours: float) -> Iterator[Ended]:
    """Run an arm's study until its engine-hours are spent, yielding each trial as it ends."""
    now, number = 0.0, 0
    running: list[_Running] = []
    while now < hours:
        while len(running) < WORKERS and (request := arm.ask(now / hours)):
            result = launched(landscape, request, seed=f"{seed}/{number}")
            heapq.heappush(running, _Running(now + WORKERS * result.minutes / 60, number, request, result))
            number += 1
        if not running:
            return
        ended = heapq.heappop(running)
        now = ended.ends
        arm.tell(ended.request, ended.result)
        if now <= hours:
            yield Ended(now, not ended.result.logs, arm.recommend())


def launched(landscape: Landscape, request: Request, *, seed: str) -> Result:
    """Return what one launch of a config comes to."""
    chosen = request.config
    failed, starting = failure(landscape, chosen), start_seconds(chosen, seed=seed) / 60
    if failed is not None and failed.minutes is not None:
        return Result(minutes=failed.minutes)
    if (minutes := flaky_minutes(seed)) is not None:
        return Result(minutes=minutes)
    return _served(landscape, request, failed, seed=seed, starting=starting)


def _served(landscape: Landscape, request: Request, failed: Failure | None, *, seed: str, starting: float) -> Result:
    """Return what an engine comes to that has started."""
    chosen, minutes = request.config, starting
    logs: list[float] = []
    load = [_minutes(landscape, request, concurrency) for concurrency in landscape.concurrency]
    if failed is not None:
        return Result(minutes=minutes + LOADED_SHARE * sum(load))
    for concurrency, took in zip(landscape.concurrency, load, strict=True):
        minutes += took
        logs.append(_rate(landscape, request, concurrency, seed))
        if len(logs) == FIRST and request.rival and apart(logs, request.rival) < -BEHIND:
            return Result(minutes=minutes, logs=tuple(logs))
    accuracy = measured_accuracy(landscape, chosen, seed=seed, questions=request.questions)
    return Result(minutes=minutes + gate_minutes(request.questions), logs=tuple(logs), accuracy=accuracy)


def apart(logs: Sequence[float], rival: Sequence[float]) -> float:
    """Return the mean difference to a rival over the concurrencies that were measured."""
    return math.fsum(own - other for own, other in zip(logs, rival, strict=False)) / len(logs)


def _minutes(landscape: Landscape, request: Request, concurrency: int) -> float:
    return request.cycles * point(landscape, request.config, concurrency).cycle_s / 60 + 0.3


def _rate(landscape: Landscape, request: Request, concurrency: int, seed: str) -> float:
    """Return the logarithm of a noisy rate."""
    cycles = [NOISE.cycle_factor(seed, concurrency, 0, cycle) for cycle in range(request.cycles)]
    exact = point(landscape, request.config, concurrency).total_tok_per_s_per_gpu * NOISE.factor(seed, concurrency)
    return math.log(exact) + math.fsum(math.log(each) for each in cycles) / len(cycles)
