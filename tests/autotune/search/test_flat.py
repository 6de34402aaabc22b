"""What a sampler sees of a space, and every config of it in order of distance."""

from itertools import pairwise

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from autotune.search.flat import GRID, distributions, nearest, to_config, to_params
from search_spaces import Config, Scalar, SearchSpace, resolve
from tests.autotune.conftest import Loaded

EVERY = """
baseline:
  {whole: 3, coarse: 1, wide: 8, real: 0.5, stepped: 0.85, tiny: 0.001, level: 64, word: "on", yes: true, off: unset}
knobs:
  whole: {flag: --whole, int: {low: 1, high: 8}}
  coarse: {flag: --coarse, int: {low: 1, high: 8, step: 2}}
  wide: {flag: --wide, int: {low: 1, high: 1024, log: true}}
  real: {flag: --real, float: {low: 0.3, high: 0.9}}
  stepped: {flag: --stepped, float: {low: 0.8, high: 0.95, step: 0.01}}
  tiny: {flag: --tiny, float: {low: 0.00001, high: 0.1, log: true}}
  level: {flag: --level, ordinal: [16, 64, 512]}
  word: {flag: --word, choice: ["on", "off"]}
  yes: {switch: --yes}
  off: {env: "OFF", choice: [unset, "0", "1"]}
"""


@pytest.fixture
def every(loaded: Loaded) -> SearchSpace:
    """Return a space with every kind of knob."""
    return loaded(EVERY)


def one(domain: str, baseline: Scalar) -> str:
    """Return the text of a space with one knob."""
    return f"baseline: {{x: {baseline}}}\nknobs:\n  x: {{flag: --x, {domain}}}\n"


@pytest.mark.parametrize(
    ("knob", "distribution"),
    [
        ("whole", IntDistribution(1, 8)),
        ("coarse", IntDistribution(1, 7, step=2)),
        ("wide", IntDistribution(1, 1024, log=True)),
        ("real", FloatDistribution(0.3, 0.9)),
        ("stepped", FloatDistribution(0.8, 0.95, step=0.01)),
        ("tiny", FloatDistribution(1e-5, 0.1, log=True)),
        ("level", IntDistribution(0, 2)),
        ("word", CategoricalDistribution(("on", "off"))),
        ("yes", CategoricalDistribution((False, True))),
        ("off", CategoricalDistribution(("unset", "0", "1"))),
    ],
)
def test_each_knob_is_a_distribution(every: SearchSpace, knob: str, distribution: BaseDistribution) -> None:
    assert distributions(every)[knob] == distribution


def test_a_stepped_range_ends_at_its_last_whole_step(loaded: Loaded) -> None:
    space = loaded(one("float: {low: 0.8, high: 0.955, step: 0.01}", 0.8))
    assert distributions(space)["x"] == FloatDistribution(0.8, 0.95, step=0.01)


def test_inactive_knobs_are_sampled_too(loaded: Loaded) -> None:
    space = loaded(
        """
baseline: {spec: false, drafts: 1}
knobs:
  spec: {switch: --spec}
  drafts: {flag: --drafts, int: {low: 1, high: 4}, when: {spec: true}}
"""
    )
    assert set(distributions(space)) == {"spec", "drafts"}


def test_an_ordinal_is_sampled_as_the_place_of_its_level(every: SearchSpace) -> None:
    assert to_params(every, every.baseline)["level"] == 1
    assert to_config(every, {**to_params(every, every.baseline), "level": 2})["level"] == 512


def test_a_config_survives_the_way_to_the_sampler_and_back(every: SearchSpace) -> None:
    back = to_config(every, to_params(every, every.baseline))
    assert back == every.baseline
    assert [type(value) for value in back.values()] == [type(value) for value in every.baseline.values()]


def test_a_stepped_number_is_read_as_it_is_written(every: SearchSpace) -> None:
    sampled = {**to_params(every, every.baseline), "stepped": 0.8 + 7 * 0.01}
    assert sampled["stepped"] != 0.87
    assert to_config(every, sampled)["stepped"] == 0.87


def distance(config: Config, other: Config) -> int:
    """Return in how many knobs two configs differ."""
    return sum(config[name] != other[name] for name in config)


def test_nearest_yields_each_config_once_and_the_nearest_first(small: SearchSpace) -> None:
    found = list(nearest(small, small.baseline))
    assert len(found) == 4 * 3 * 2
    assert len({tuple(config.items()) for config in found}) == len(found)
    away = [distance(config, small.baseline) for config in found]
    assert away == sorted(away)
    assert found[0] == small.baseline


def test_nearest_starts_from_any_config(small: SearchSpace) -> None:
    start: Config = {"threads": 4, "cache": "q4_0", "unified": True}
    found = list(nearest(small, start))
    assert found[0] == start
    assert len({tuple(config.items()) for config in found}) == len(found) == 24


@pytest.mark.parametrize(
    ("domain", "baseline", "count"),
    [
        ("float: {low: 0.8, high: 0.95, step: 0.01}", 0.85, 16),
        ("float: {low: 0.8, high: 0.955, step: 0.01}", 0.8, 16),
        ("float: {low: 0.1, high: 0.7, step: 0.1}", 0.3, 7),
        ("int: {low: 1, high: 8, step: 2}", 7, 4),
        ("ordinal: [1, 2, 4]", 4, 3),
        ("float: {low: 0.3, high: 0.9}", 0.9, GRID),
        ("float: {low: 0.00001, high: 0.1, log: true}", 0.1, GRID),
        ("float: {low: 0.3, high: 0.9}", 0.51, GRID + 1),
    ],
)
def test_every_value_that_nearest_yields_is_in_the_space_and_there_once(
    loaded: Loaded, domain: str, baseline: Scalar, count: int
) -> None:
    space = loaded(one(domain, baseline))
    values = [config["x"] for config in nearest(space, space.baseline)]
    assert len(values) == len(set(values)) == count
    assert len({resolve(space, {"x": value}).fingerprint for value in values}) == count


def test_a_log_scale_is_represented_by_values_of_equal_ratio(loaded: Loaded) -> None:
    space = loaded(one("float: {low: 0.00001, high: 0.1, log: true}", 0.1))
    values = sorted(float(config["x"]) for config in nearest(space, space.baseline))
    assert [high / low for low, high in pairwise(values)] == pytest.approx([10 ** (4 / (GRID - 1))] * (GRID - 1))
