"""Ways to search without a model of the objective: a careful person, and a grid of two knobs."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from benchmarks.virtual_study import Request, Result, apart
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape

EXPERT = ("kv", "cg", "async_", "mns", "mnbt", "qr", "block", "gmu", "omp", "prefix")
"""What a careful person tries first; then the rest in the landscape's order."""
ROUNDS = 50
"""Times that a person would go through all levels, if there were time."""
ADOPTED = math.log(1.01)
SWEPT = "mns", "mnbt"


@dataclass
class Ledger:
    """What was measured of each config."""

    gate: float
    results: defaultdict[Config, list[Result]] = field(default_factory=lambda: defaultdict(list))

    def add(self, config: Config, result: Result) -> None:
        """Keep a result."""
        self.results[config].append(result)

    def logs(self, config: Config) -> tuple[float, ...]:
        """Return a config's mean logarithm at each concurrency; none if it never ran to its end."""
        whole = [result.logs for result in self.results[config] if result.value is not None]
        return tuple(math.fsum(column) / len(whole) for column in zip(*whole, strict=True))

    def passed(self, config: Config) -> bool:
        """Say whether as many questions were right, over all its launches, as the gate asks for."""
        shares = [result.accuracy for result in self.results[config] if result.accuracy is not None]
        return bool(shares) and math.fsum(shares) / len(shares) >= self.gate

    def ranked(self) -> list[Config]:
        """Return what passed, the fastest first."""
        passed = [config for config in self.results if self.passed(config)]
        return sorted(passed, key=lambda config: math.fsum(self.logs(config)), reverse=True)


class OneFlag:
    """A careful person: one level at a time against the recipe of then, gains merged, the merged recipe run again."""

    def __init__(self, landscape: Landscape) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        self.recipe = landscape.baseline
        self.parents: dict[int, tuple[Config, str]] = {}
        self.queue = self._levels()
        self.due = [landscape.baseline]

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return the merged recipe if it is due, else the next level to try on the best recipe."""
        if self.due:
            return Request(config=self.due.pop(0))
        parent = self.recommend()
        for name, level in self.queue:
            config = parent._replace(**{name: level})
            if not self.ledger.results.get(config):
                request = Request(config=config)
                self.parents[id(request)] = parent, name
                return request
        return None

    def tell(self, request: Request, result: Result) -> None:
        """Merge what brought more than one percent."""
        config = request.config
        self.ledger.add(config, result)
        parent, name = self.parents.pop(id(request), (config, ""))
        before, after = self.ledger.logs(parent), self.ledger.logs(config)
        if name and before and after and self.ledger.passed(config) and apart(after, before) > ADOPTED:
            merged = self.recommend()._replace(**{name: getattr(config, name)})
            if not self.ledger.results.get(merged):
                self.due.append(merged)

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)

    def _levels(self) -> Iterator[tuple[str, Any]]:
        """Yield all levels in an expert's order, over and over while there is time."""
        names = [*EXPERT, *(name for name in Config._fields if name not in EXPERT)]
        for _ in range(ROUNDS):
            for name in names:
                for level in self.landscape.space[name.removesuffix("_")]:
                    yield name, level


class Sweep:
    """A grid over two knobs."""

    def __init__(self, landscape: Landscape) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        every = product(*(landscape.space[name] for name in SWEPT))
        cells = [landscape.baseline._replace(**dict(zip(SWEPT, cell, strict=True))) for cell in every]
        self.left = [landscape.baseline, *(cell for cell in cells if cell != landscape.baseline)]

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return the next cell."""
        return Request(config=self.left.pop(0)) if self.left else None

    def tell(self, request: Request, result: Result) -> None:
        """Keep a result."""
        self.ledger.add(request.config, result)

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)
