"""Ways to search that need a package which is not installed with autotune."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from optuna.samplers import GPSampler

from benchmarks.search_arms import Make, Sampled, axes_of
from benchmarks.search_ax import Ax
from benchmarks.search_smac import Smac


@dataclass(frozen=True, slots=True)
class Optional:
    """
    An arm, and what it needs.

    Attributes:
        module: That can be imported where the arm can run.
        install: How to get it.
    """

    make: Make
    module: str
    install: str

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return importlib.util.find_spec(self.module) is not None


OPTIONAL: Mapping[str, Optional] = {
    "gp": Optional(
        make=lambda landscape, seed: Sampled(landscape, axes_of(landscape, sign=None), GPSampler(seed=seed)),
        module="torch",
        install="pip install 'autotune-serve[gp]'",
    ),
    "ax": Optional(make=Ax, module="ax", install="pip install ax-platform"),
    "smac3": Optional(make=Smac, module="smac", install="pip install smac"),
}
