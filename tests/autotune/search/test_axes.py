"""A space as a few levels a knob."""

import math

import pytest

from autotune.search.axes import axes, claimed, moved
from autotune.search.flat import GRID, to_config
from search_spaces import SearchSpace, SpaceError
from tests.autotune.conftest import Loaded

KINDS = """
baseline: {whole: 3, real: 0.51, level: 64, word: "on", yes: true}
knobs:
  whole: {flag: --whole, int: {low: 1, high: 4096}}
  real: {flag: --real, float: {low: 0.3, high: 0.9}}
  level: {flag: --level, ordinal: [16, 64, 512]}
  word: {flag: --word, choice: ["on", "off", auto]}
  yes: {switch: --yes}
"""


@pytest.fixture
def kinds(loaded: Loaded) -> SearchSpace:
    """Return a space with a knob of every kind."""
    return loaded(KINDS)


def test_a_range_becomes_a_few_levels_with_the_baseline_among_them(kinds: SearchSpace) -> None:
    whole, real = axes(kinds).each[:2]
    assert len(whole.levels) == GRID + 1
    assert (whole.levels[0], whole.levels[-1], whole.levels[whole.baseline]) == (1, 4096, 3)
    assert real.levels[real.baseline] == 0.51
    assert list(real.levels) == sorted(real.levels)


def test_only_what_has_an_order_is_ordered(kinds: SearchSpace) -> None:
    ordered = {axis.name: axis.ordered for axis in axes(kinds).each}
    assert ordered == {"whole": True, "real": True, "level": True, "word": False, "yes": False}


def test_the_baseline_survives_the_way_to_a_point_and_back(kinds: SearchSpace) -> None:
    every = axes(kinds)
    params = every.params(every.baseline)
    assert every.point(params) == every.baseline
    assert to_config(kinds, params) == kinds.baseline


def test_a_number_between_two_levels_is_the_nearer_one(kinds: SearchSpace) -> None:
    real = axes(kinds).each[1]
    assert real.levels[real.index(0.5101)] == 0.51


def test_flips_are_counted_from_the_baseline(kinds: SearchSpace) -> None:
    every = axes(kinds)
    changed = moved(moved(every.baseline, 2, 0), 4, 0)
    assert (every.flips(every.baseline), every.flips(changed)) == (0, 2)


def test_a_prior_of_the_space_is_found_by_its_value(loaded: Loaded) -> None:
    every = axes(
        loaded(
            """
baseline: {level: 64, yes: true}
knobs:
  level: {flag: --level, ordinal: [16, 64, 512], prior: {512: 0.1, 16: -0.05}}
  yes: {switch: --yes, prior: {false: 0.02}}
"""
        )
    )
    level, yes = ({at: prior.mean for at, prior in axis.priors.items()} for axis in every.each)
    assert level == pytest.approx({2: math.log(1.1), 0: math.log(0.95)})
    assert yes == pytest.approx({0: math.log(1.02)})


@pytest.mark.parametrize("gain", [0.1, -0.1, 0.02])
def test_a_claim_leaves_room_for_its_contrary(gain: float) -> None:
    prior = claimed(gain)
    assert prior.mean == pytest.approx(math.log1p(gain))
    assert abs(prior.mean) < prior.deviation


def test_a_prior_of_a_value_that_the_knob_does_not_take_is_refused(loaded: Loaded) -> None:
    with pytest.raises(SpaceError, match="level"):
        loaded("baseline: {level: 64}\nknobs:\n  level: {flag: --level, ordinal: [16, 64], prior: {65: 0.1}}\n")
