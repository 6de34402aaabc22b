"""Configs that differ only in a variable which the engine does not know are one config."""

from collections.abc import Callable
from dataclasses import replace

from autotune.inert import identities, identity, inert
from search_spaces import SearchSpace, resolve
from tests.autotune.studies import MEMORY, trial
from tests.support import measured
from trials.engines.asked import UNKNOWN, Mismatch

KERNELS = """
baseline: {kernel: a, spec: false}
knobs:
  kernel: {env: KERNEL, choice: [a, b]}
  spec: {switch: --spec}
"""


def test_only_a_variable_that_the_engine_does_not_know_does_nothing(loaded: Callable[[str], SearchSpace]) -> None:
    """What an option comes to may depend on the others, so an ignored option is noted and no more."""
    space = loaded(KERNELS)
    unknown, other = Mismatch("KERNEL", "b", UNKNOWN), Mismatch("--spec", "True", "False")
    told = [
        trial(space, 0, measured(100.0)),
        trial(space, 1, MEMORY),
        trial(space, 2, replace(measured(100.0), mismatches=(unknown, other)), kernel="b"),
        trial(space, 3, None, spec=True),
    ]
    assert inert(told[:2]) == frozenset()
    assert inert(told) == {"KERNEL"}


def test_trials_that_differ_in_nothing_else_have_one_identity(loaded: Callable[[str], SearchSpace]) -> None:
    space = loaded(KERNELS)
    trials = [trial(space, 0, None), trial(space, 1, None, kernel="b"), trial(space, 2, None, spec=True)]
    apart = identities(space, trials, ())
    assert apart == {one.fingerprint: one.fingerprint for one in trials}
    base, moved, spec = identities(space, trials, {"KERNEL"}).values()
    assert base == moved == identity(resolve(space, space.baseline), {"KERNEL"}) != spec
