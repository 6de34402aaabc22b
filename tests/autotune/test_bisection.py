"""The search among images, over verdicts that are told."""

import pytest

from autotune.bisection import Narrowed, most_comparisons, narrowed
from autotune.compare import Result


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
