"""The benchmark of searches: a small run of it, and its arithmetic."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import search
from benchmarks.search_arms import ARMS, OLDER, RECIPE, Recipe, axes_of
from benchmarks.search_optional import OPTIONAL
from benchmarks.search_rows import Job, study
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
    once, again = (study(Job("L0", arm, 1), hours=3.0) for _ in range(2))
    assert replace(once, cpu_s=0.0) == replace(again, cpu_s=0.0)


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
    first, opposite = landscape.pair_effects[0], landscape.pair_effects[3]
    one, other = (first[0], opposite[1]), (first[2], opposite[3])
    start = landscape.baseline._replace(**{first[0]: first[1], first[2]: first[3]})
    alone, alone_too, both = (
        math.log(objective(landscape, start._replace(**dict(changed)))) for changed in ([one], [other], [one, other])
    )
    assert abs(both + math.log(objective(landscape, start)) - alone - alone_too) > abs(first[4])


def test_in_l3_the_baseline_is_neither_far_from_the_best_nor_near_it() -> None:
    landscape = load("L3")
    assert 0.4 < objective(landscape, landscape.baseline) / landscape.best_objective < 0.9


def test_a_prior_is_the_gain_over_the_baselines_level() -> None:
    axes = {axis.name: axis for axis in axes_of(load("L0"), sign=1.0).each}
    assert {level: prior.mean for level, prior in axes["kv"].priors.items()} == {1: pytest.approx(math.log(1.1))}
    assert {level: prior.mean for level, prior in axes["cg"].priors.items()} == {
        1: pytest.approx(math.log(1.06)),
        2: pytest.approx(math.log(1.06)),
    }
    assert not axes["qr"].priors


def test_a_prior_is_doubted_as_much_as_it_is_large_whichever_its_sign() -> None:
    right, wrong = ({axis.name: axis for axis in axes_of(load("L0"), sign=sign).each} for sign in (1.0, -1.0))
    assert wrong["kv"].priors[1].mean < 0 < right["kv"].priors[1].mean
    assert wrong["kv"].priors[1].deviation > abs(wrong["kv"].priors[1].mean)
    assert right["async_"].priors[1].deviation < right["kv"].priors[1].deviation


@pytest.mark.parametrize("recipe", [RECIPE, OLDER])
def test_a_known_recipe_is_of_the_landscape(recipe: Recipe) -> None:
    space = load("L0").space
    assert all(value in space[name.removesuffix("_")] for name, value in recipe.items())


def test_the_known_recipe_is_not_what_is_to_be_found() -> None:
    for name in ("L0", "L1", "L2"):
        landscape = load(name)
        known = landscape.baseline._replace(**RECIPE)
        assert failure(landscape, known) is None
        assert objective(landscape, known) < 0.9 * landscape.best_objective


def test_seeds_are_a_number_or_a_range_with_its_end() -> None:
    assert search.seeds_of("7") == [7]
    assert search.seeds_of("3-5") == [3, 4, 5]


def test_an_arm_whose_package_is_missing_is_said_to_be_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = [name for name, arm in OPTIONAL.items() if not arm.installed]
    assert search.main(["--rows", str(tmp_path), "--arms", *OPTIONAL, "--budget-minutes", "0"]) == 0
    printed = capsys.readouterr().out
    assert all(f"not computed: {name}, for {OPTIONAL[name].module} is not installed" in printed for name in missing)
    assert all(f"  L2 {name}: seeds 0, 1, 2, 3, 4" in printed for name in missing)
    assert not list(tmp_path.iterdir())


CHEAP = ["--landscapes", "L2", "--arms", "grid of two", "one flag", "--seeds", "0-1"]


def test_rows_are_the_same_from_one_process_or_two_and_are_computed_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    printed = []
    for jobs in ("1", "2", "1"):
        if jobs == "2":
            next(tmp_path.iterdir()).unlink()
        assert search.main([*CHEAP, "--rows", str(tmp_path), "--jobs", jobs]) == 0
        printed.append([line.rsplit(maxsplit=1)[0] for line in capsys.readouterr().out.splitlines() if line])
    assert printed[0] == printed[1] == printed[2]
    assert len(next(tmp_path.iterdir()).read_text(encoding="utf-8").splitlines()) == 4


def test_rows_of_other_code_are_not_printed_and_rows_from_elsewhere_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    search.main([*CHEAP, "--rows", str(tmp_path), "--seeds", "0"])
    mine = next(tmp_path.iterdir())
    row = mine.read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "000000000000.jsonl").write_text(row.replace('"seed": 0', '"seed": 1') + "\n", encoding="utf-8")
    mine.rename(tmp_path / f"{mine.stem}.from-another-machine.jsonl")
    capsys.readouterr()
    search.main([*CHEAP, "--rows", str(tmp_path), "--budget-minutes", "0"])
    printed = capsys.readouterr().out
    assert [line.split("  ")[0] for line in printed.splitlines() if line.startswith(("grid", "one"))]
    assert "L2 grid of two: seeds 1" in printed
    assert "L2 one flag: seeds 1" in printed


def test_a_median_has_its_interval_and_never_is_said_so() -> None:
    assert search._median([0.9] * 20, ".3f") == "0.900 (0.900..0.900)"
    assert search._median([1.0, 2.0, math.inf], ".1f") == "2.0 (1.0..>40)"
