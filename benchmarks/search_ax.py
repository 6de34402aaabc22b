"""Ax as an arm: the strategy that it chooses, noisy expected improvement (qLogNEI), by ask and tell; whole trials."""

import logging
import math
from importlib import import_module
from typing import Any

from benchmarks.search_arms import ORDERED, levels_of
from benchmarks.search_by_hand import Ledger
from benchmarks.virtual_study import Request, Result
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape

RATE, ACCURACY = "rate", "accuracy"


class Ax:
    """A Gaussian process of BoTorch's; the gate is an outcome constraint, what fails is a failed trial."""

    def __init__(self, landscape: Landscape, seed: int) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        self.client = _client(landscape, seed)
        self.asked: dict[int, int] = {}
        self.due = [landscape.baseline]

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return what Ax proposes, the baseline first."""
        if self.due:
            request = Request(config=self.due.pop())
            self.asked[id(request)] = self.client.attach_baseline(_places(self.landscape, request.config))
            return request
        ((number, places),) = self.client.get_next_trials(max_trials=1).items()
        request = Request(
            config=Config(*(levels_of(self.landscape, name)[int(places[name])] for name in Config._fields))
        )
        self.asked[id(request)] = number
        return request

    def tell(self, request: Request, result: Result) -> None:
        """Tell the logarithm of a rate, and the accuracy."""
        self.ledger.add(request.config, result)
        number = self.asked.pop(id(request))
        if result.value is None:
            self.client.mark_trial_failed(number)
        else:
            self.client.complete_trial(number, {RATE: math.log(result.value), ACCURACY: result.accuracy})

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)


def _client(landscape: Landscape, seed: int) -> Any:  # noqa: ANN401 a package's that may not be installed
    """Return Ax over a space that has of every parameter the index of a level, as a word where levels have no order."""
    logging.getLogger("ax").setLevel(logging.ERROR)
    client = import_module("ax.api.client").Client(random_seed=seed)
    parameter = import_module("ax.api.configs").ChoiceParameterConfig
    client.configure_experiment(
        parameters=[
            parameter(name=name, values=_values(landscape, name), parameter_type="int" if name in ORDERED else "str")
            for name in Config._fields
        ]
    )
    client.configure_optimization(objective=RATE, outcome_constraints=[f"{ACCURACY} >= {landscape.gate}"])
    client.configure_generation_strategy(initialization_random_seed=seed)
    return client


def _values(landscape: Landscape, name: str) -> list[int] | list[str]:
    indices = list(range(len(levels_of(landscape, name))))
    return indices if name in ORDERED else [str(index) for index in indices]


def _places(landscape: Landscape, config: Config) -> dict[str, int | str]:
    return {
        name: _values(landscape, name)[levels_of(landscape, name).index(getattr(config, name))]
        for name in Config._fields
    }
