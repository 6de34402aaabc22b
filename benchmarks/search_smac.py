"""SMAC3 as an arm: its facade for hyperparameters, as it comes, by ask and tell; whole trials."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.search_arms import ORDERED, levels_of
from benchmarks.search_by_hand import Ledger
from benchmarks.virtual_study import Request, Result
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape

TRIALS = 100
"""What SMAC is told of its budget: whole trials of 40 hours, about."""


class Smac:
    """A forest's expected improvement; what fails is told as a crash as slow as the slowest that was measured."""

    def __init__(self, landscape: Landscape, seed: int) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        self.folder = TemporaryDirectory(prefix="smac-")  # SMAC wants one
        self.smac, self.space = _facade(landscape, seed, Path(self.folder.name))
        self.asked: dict[int, Any] = {}
        self.due = [landscape.baseline]
        self.worst = 1.0

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return what SMAC proposes, the baseline first."""
        if self.due:
            return Request(config=self.due.pop())
        info = self.smac.ask()
        request = Request(
            config=Config(*(levels_of(self.landscape, name)[int(info.config[name])] for name in Config._fields))
        )
        self.asked[id(request)] = info
        return request

    def tell(self, request: Request, result: Result) -> None:
        """Tell a cost, which is the time of a token over the baseline's."""
        self.ledger.add(request.config, result)
        history, status = import_module("smac.runhistory.dataclasses"), import_module("smac.runhistory.enumerations")
        info = self.asked.pop(id(request), None) or history.TrialInfo(config=self._configured(request.config))
        if result.value is None:
            self.smac.tell(info, history.TrialValue(cost=self.worst, status=status.StatusType.CRASHED))
            return
        cost = self.landscape.best_objective / result.value
        self.worst = max(self.worst, cost)
        self.smac.tell(info, history.TrialValue(cost=cost))

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)

    def _configured(self, config: Config) -> Any:  # noqa: ANN401 a package's that may not be installed
        places = {name: levels_of(self.landscape, name).index(getattr(config, name)) for name in Config._fields}
        return import_module("ConfigSpace").Configuration(self.space, values=places)


def _facade(landscape: Landscape, seed: int, folder: Path) -> tuple[Any, Any]:
    """Return SMAC and its space: of every parameter the index of a level."""
    smac, spaces = import_module("smac"), import_module("ConfigSpace")
    space = spaces.ConfigurationSpace(seed=seed)
    for name in Config._fields:
        indices = list(range(len(levels_of(landscape, name))))
        kind = spaces.OrdinalHyperparameter if name in ORDERED else spaces.CategoricalHyperparameter
        space.add(kind(name, indices))
    scenario = smac.Scenario(space, deterministic=True, n_trials=TRIALS, seed=seed, output_directory=folder)
    facade = smac.HyperparameterOptimizationFacade(scenario, _never_called, overwrite=True, logging_level=False)
    return facade, space


def _never_called(_config: object, seed: int) -> float:
    """Stand for a target that SMAC would call itself: here it is asked and told."""
    raise NotImplementedError
