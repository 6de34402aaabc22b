"""Every config of a space in its own order, once: for sweeps of two or three knobs."""

from itertools import product
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial

from autotune.search.axes import Axes


class GridSampler(BaseSampler):
    """
    Enumerates, the last knob first.

    When all are taken it proposes the baseline again, and the study finds its space exhausted. Optuna's own grid ends
    a study by `Study.stop`, which asking and telling don't have.
    """

    def __init__(self, axes: Axes, distributions: dict[str, BaseDistribution]) -> None:
        """
        Make a sampler of one space.

        Args:
            distributions: Of every axis, as the study asks for them.
        """
        self._axes = axes
        self._distributions = distributions
        self._independent = RandomSampler(seed=0)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002 Optuna's signature
        """Return every knob: all are proposed together."""
        return self._distributions

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],  # noqa: ARG002 Optuna's signature
    ) -> dict[str, Any]:
        """Return the first config that no trial of the study has had, however it ended."""
        names = {axis.name for axis in self._axes.each}
        taken = {
            self._axes.point(other.params)
            for other in study.get_trials(deepcopy=False)
            if other.number != trial.number and names <= other.params.keys()
        }
        every = product(*(range(len(axis.levels)) for axis in self._axes.each))
        return self._axes.params(next((point for point in every if point not in taken), self._axes.baseline))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:  # noqa: ANN401 Optuna's signature
        """Return any value of a parameter that is not of the space."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)
