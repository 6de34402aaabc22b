"""Variables that an engine does not know: configs that differ in nothing else are one config, and are run once."""

from collections.abc import Collection, Sequence

from autotune.folder import TrialRecord
from search_spaces import Recipe, SearchSpace, resolve
from trials.engines.asked import UNKNOWN
from trials.outcome import Measured


def inert(trials: Sequence[TrialRecord]) -> frozenset[str]:
    """Return the variables that any engine of a study said it does not know."""
    measured = [trial.outcome for trial in trials if isinstance(trial.outcome, Measured)]
    return frozenset(each.setting for one in measured for each in one.mismatches if each.effective == UNKNOWN)


def identity(recipe: Recipe, variables: Collection[str]) -> str:
    """Return the fingerprint of a recipe without the variables that do nothing."""
    return recipe.without(variables).fingerprint if variables else recipe.fingerprint


def identities(space: SearchSpace, trials: Sequence[TrialRecord], variables: Collection[str]) -> dict[str, str]:
    """Return by each trial's fingerprint that of its recipe without the variables that do nothing."""
    if not variables:
        return {trial.fingerprint: trial.fingerprint for trial in trials}
    return {trial.fingerprint: identity(resolve(space, trial.config), variables) for trial in trials}
