"""The benchmark of searches: a small run of it, and its arithmetic."""

import math

import pytest

from benchmarks import search
from benchmarks.search_arms import ARMS, RECIPE, axes_of
from benchmarks.virtual_study import Request, launched
from trials.engines.emulated.failures import failure
from trials.engines.emulated.landscape import FOR_SEARCH, load, objective


def test_a_small_run_prints_a_line_for_each_arm(capsys: pytest.CaptureFixture[str]) -> None:
    assert search.main(["--smoke"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("EMULATED")
    lines = [line for line in printed.splitlines() if line.startswith(search.SMOKE_ARMS)]
    assert [line.split()[0] for line in lines] == list(search.SMOKE_ARMS)


@pytest.mark.parametrize("arm", ARMS)
def test_a_study_of_one_seed_is_the_same_again(arm: str) -> None:
    once, again = (search.study(search.Job("L0", arm, 1, ARMS[arm]), hours=3.0) for _ in range(2))
    assert once == again


def test_a_trial_far_behind_its_rival_is_stopped_after_the_cheap_concurrencies() -> None:
    landscape = load("L0")
    rival = launched(landscape, Request(config=landscape.best), seed="0")
    whole = launched(landscape, Request(config=landscape.baseline), seed="1")
    short = launched(landscape, Request(config=landscape.baseline, rival=rival.logs), seed="1")
    assert (len(whole.logs), len(short.logs), short.accuracy, short.value) == (4, 2, None, None)
    assert short.minutes < whole.minutes
    assert short.logs == whole.logs[:2]


def test_a_config_that_crashes_costs_its_minutes_and_measures_nothing() -> None:
    landscape = load("L0")
    result = launched(landscape, Request(config=landscape.baseline._replace(ep=1, fse=1)), seed="0")
    assert (result.minutes, result.logs, result.value) == (4.0, (), None)


@pytest.mark.parametrize("name", FOR_SEARCH)
def test_the_landscapes_made_for_search_serve_their_baseline_and_their_best(name: str) -> None:
    landscape = load(name)
    assert objective(landscape, landscape.best) == pytest.approx(landscape.best_objective)
    assert failure(landscape, landscape.baseline) is failure(landscape, landscape.best) is None


def test_the_baseline_of_l4_is_within_two_percent_of_its_best() -> None:
    landscape = load("L4")
    assert 0.98 <= objective(landscape, landscape.baseline) / landscape.best_objective < 1


def test_in_l3_pairs_act_on_each_other() -> None:
    landscape = load("L3")
    one, value, other, other_value, gain = max(landscape.pair_effects, key=lambda pair: abs(pair[4]))
    assert abs(gain) > 0.01
    alone = landscape.baseline._replace(**{one: value})
    both = alone._replace(**{other: other_value})
    assert objective(landscape, both) != objective(landscape, alone)


def test_a_prior_is_the_gain_over_the_baselines_level() -> None:
    axes = {axis.name: axis for axis in axes_of(load("L0"), sign=1.0).each}
    assert {level: prior.mean for level, prior in axes["kv"].priors.items()} == {1: 0.10}
    assert {level: prior.mean for level, prior in axes["cg"].priors.items()} == {1: 0.06, 2: 0.06}
    assert not axes["qr"].priors


def test_the_known_recipe_is_of_the_landscape() -> None:
    space = load("L0").space
    assert all(value in space[name.removesuffix("_")] for name, value in RECIPE.items())


def test_a_median_has_its_interval_and_never_is_said_so() -> None:
    assert search._median([0.9] * 20, ".3f") == "0.900 (0.900..0.900)"
    assert search._median([1.0, 2.0, math.inf], ".1f") == "2.0 (1.0..>40)"
