"""Differences between recipes that share their launches' luck."""

import math

import numpy as np
import pytest

from autotune.pooled import Change, Pool, pool


def test_the_luck_of_launches_is_that_within_recipes_not_between_them() -> None:
    assert pool([[100.0, 100.0], [200.0, 200.0]]) == Pool(sd=0.0, freedom=2)
    spread = pool([[100.0 * math.e**0.01, 100.0 / math.e**0.01]])
    assert spread.sd == pytest.approx(0.01 * math.sqrt(2))
    assert spread.freedom == 1


def test_a_change_is_of_means_of_logarithms() -> None:
    found = Pool(sd=0.0, freedom=5).change([100.0, 400.0], [220.0])
    assert found.estimate == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1)
    assert found.high == pytest.approx(0.1)


def test_more_launches_anywhere_make_every_interval_narrower() -> None:
    few, many = Pool(sd=0.01, freedom=3), Pool(sd=0.01, freedom=20)
    widths = [
        each.high - each.low
        for each in (p.change([1.0, 1.0], [1.0, 1.0]) for p in (few, many))
        if each.high and each.low
    ]
    assert widths[1] < widths[0]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.001, 0.03, "more"),
        (-0.03, -0.001, "less"),
        (-0.01, 0.015, "tie"),
        (-0.03, 0.015, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_only_what_lies_beyond_the_noise_is_more_or_less(low: float | None, high: float | None, said: str) -> None:
    assert Change(0.0, low, high).said == said


def test_a_single_launch_an_arm_and_no_repeats_say_nothing() -> None:
    found = pool([[100.0], [110.0]]).change([100.0], [110.0])
    assert found.estimate == pytest.approx(0.1)
    assert (found.low, found.high) == (None, None)


def test_equal_recipes_are_told_apart_no_more_often_than_promised() -> None:
    luck = np.random.default_rng(1)
    wrong = 0
    for _ in range(2000):
        arms = [[math.exp(luck.normal(0.0, 0.01)) for _ in range(2)] for _ in range(8)]
        found = pool(arms)
        wrong += found.change(arms[0], arms[1]).said in {"more", "less"}
    assert wrong <= 2000 * 0.01 + 3 * math.sqrt(2000 * 0.01)
