"""What the search is made to say of single changes."""

import pytest

from autotune.expected import at, over_ladder
from search_spaces import SearchSpace
from tests.autotune.conftest import Loaded
from tests.autotune.studies import LOST, MEMORY, trial
from tests.autotune.truths import KNOBS, World


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches."""
    return loaded(KNOBS)


def test_effects_are_found_of_those_knobs_that_are_not_at_the_baseline(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10}).searched(80)
    found = over_ladder(tried, knobs).of({**knobs.baseline, "a": True, "b": True})
    assert set(found) == {"a", "b"}
    assert found["a"].mean == pytest.approx(0.095, abs=0.02)
    assert abs(found["b"].mean) < 0.02


def test_each_concurrency_has_effects_of_its_own(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": {1: 0.10, 2: -0.10}}).searched(80)
    config = {**knobs.baseline, "a": True}
    assert at(1, tried, knobs).gain(config, knobs.baseline) > 0.05
    assert at(2, tried, knobs).gain(config, knobs.baseline) < -0.05
    assert at(2, tried, knobs).gain(knobs.baseline, knobs.baseline) == 0.0


def test_what_was_not_measured_says_nothing(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10}).searched()
    more = [*tried, trial(knobs, 90, MEMORY, a=True), trial(knobs, 91, LOST, a=True), trial(knobs, 92, None, a=True)]
    config = {**knobs.baseline, "a": True}
    assert over_ladder(more, knobs).of(config) == over_ladder(tried, knobs).of(config)
