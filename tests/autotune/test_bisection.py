"""The search among images, over verdicts that are told and over launches that differ by chance."""

from statistics import fmean

import numpy as np
import pytest

from autotune.bisection import Narrowed, most_comparisons, narrowed
from autotune.compare import LaunchValues, Result, compare, looks


def searched(images: int, first_worse: int | None) -> tuple[Narrowed, list[int]]:
    """Search among images of which all from one on are slower; return what was found and what was asked."""
    results: dict[int, Result] = {}
    asked: list[int] = []
    while (ask := narrowed(images, results).ask) is not None:
        asked.append(ask)
        results[ask] = "loss" if first_worse is not None and ask >= first_worse else "tie"
    return narrowed(images, results), asked


@pytest.mark.parametrize("images", range(2, 18))
def test_the_first_slower_image_is_found_wherever_it_is_with_the_comparisons_of_a_binary_search(images: int) -> None:
    for first in range(1, images):
        found, asked = searched(images, first)
        assert found.first_worse == first
        assert len(asked) == len(set(asked)) <= most_comparisons(images)


@pytest.mark.parametrize("images", range(2, 18))
def test_where_none_is_slower_one_comparison_says_so(images: int) -> None:
    found, asked = searched(images, None)
    assert (found.first_worse, found.bad, asked) == (None, None, [images - 1])


def test_five_images_take_three_comparisons() -> None:
    assert most_comparisons(5) == 3
    assert searched(5, 3) == (Narrowed(good=2, bad=3, ask=None, stuck=None), [4, 2, 3])


def test_a_faster_image_is_not_slower() -> None:
    assert narrowed(3, {2: "loss", 1: "win"}).first_worse == 2


@pytest.mark.parametrize(("results", "bad"), [({4: "undecided"}, None), ({4: "loss", 2: "undecided"}, 4)])
def test_what_can_not_be_told_ends_the_search(results: dict[int, Result], bad: int | None) -> None:
    found = narrowed(5, results)
    assert (found.ask, found.bad, found.first_worse) == (None, bad, None)
    assert found.stuck == max(image for image, result in results.items() if result == "undecided")


IMAGES, SLOWER, LAUNCH_SD, MOST = 5, 0.06, 0.007, 6


def launched(first_worse: int, draw: np.random.Generator) -> tuple[Narrowed, int]:
    """Search among images whose launches differ by chance too; return what was found and the launches it took."""
    results: dict[int, Result] = {}
    made = 0
    while (ask := narrowed(IMAGES, results).ask) is not None:
        rate = 1 - SLOWER if ask >= first_worse else 1.0
        a, b = (mean * np.exp(draw.normal(0.0, LAUNCH_SD, max(looks(MOST)))) for mean in (100.0, 100.0 * rate))
        arms = [[LaunchValues(value, {1: value}) for value in arm] for arm in (a.tolist(), b.tolist())]
        asked = (compare(arms[0][:each], arms[1][:each]) for each in looks(MOST))
        last = next((found for found in asked if found.result != "undecided"), compare(*arms))
        results[ask] = last.result
        made += sum(last.launches)
    return narrowed(IMAGES, results), made


@pytest.mark.parametrize("first_worse", range(1, IMAGES))
def test_it_takes_fewer_launches_than_a_binary_search_that_repeats_each_image(first_worse: int) -> None:
    draw = np.random.default_rng(first_worse)
    searches = [launched(first_worse, draw) for _ in range(60)]
    found = [narrow.first_worse for narrow, _ in searches]
    measured = len({0, *searched(IMAGES, first_worse)[1]})
    assert found.count(first_worse) >= 51
    assert found.count(first_worse) + found.count(None) >= 58
    assert fmean(made for _, made in searches) <= measured * MOST
