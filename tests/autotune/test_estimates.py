"""What stands beside Welch's interval: an odd launch, resampling, and time."""

import math
from itertools import pairwise

import numpy as np
import pytest

from autotune.compare import order
from autotune.estimates import drift, hodges_lehmann, resampled


def ordered(values: list[float], arms: str) -> tuple[list[float], list[float]]:
    """Return A's and B's values out of those of launches in their order."""
    a, b = ([value for value, arm in zip(values, arms, strict=True) if arm == which] for which in "AB")
    return a, b


def test_hodges_and_lehmanns_estimate_is_the_median_of_all_differences() -> None:
    assert hodges_lehmann([0.0, 1.0], [10.0, 12.0]) == pytest.approx(10.5)


def test_one_odd_launch_does_not_move_it() -> None:
    a = [0.0, 0.001, -0.001, 0.0]
    assert hodges_lehmann(a, [0.03, 0.03, 0.031, -0.5]) == pytest.approx(0.03, abs=0.002)


def test_it_falls_on_the_mean_where_nothing_is_odd() -> None:
    draw = np.random.default_rng(3)
    a, b = draw.normal(0.0, 0.01, 200), draw.normal(0.05, 0.01, 200)
    assert hodges_lehmann(list(a), list(b)) == pytest.approx(0.05, abs=0.003)


def test_few_launches_are_not_resampled() -> None:
    assert resampled([0.0] * 7, [0.0] * 20, confidence=0.99) is None


def test_the_bootstraps_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        ends = resampled(draw.normal(0, 0.01, 12).tolist(), draw.normal(0.02, 0.01, 12).tolist(), confidence=0.95)
        assert ends is not None
        held += ends[0] <= 0.02 <= ends[1]
    assert 85 <= held <= 100  # a percentile bootstrap of twelve is a little short


def test_resampling_twice_gives_the_same_interval() -> None:
    a, b = [0.001 * n for n in range(8)], [0.002 * n for n in range(8)]
    assert resampled(a, b, confidence=0.99) == resampled(a, b, confidence=0.99)


def test_more_confidence_is_a_wider_interval() -> None:
    a, b = [0.001 * n for n in range(8)], [0.002 * n for n in range(8)]
    widths = [high - low for c in (0.5, 0.9, 0.99) if (found := resampled(a, b, confidence=c)) for low, high in [found]]
    assert all(narrow < wide for narrow, wide in pairwise(widths))


@pytest.mark.parametrize("launches", [3, 4, 5, 6])
def test_a_drift_is_found_beside_a_difference_of_the_arms(launches: int) -> None:
    arms = order(launches)
    noise = [0.0001 * (-1) ** (place // 2) for place in range(len(arms))]
    values = [0.05 * (arm == "B") + 0.01 * place + noise[place] for place, arm in enumerate(arms)]
    found = drift(*ordered(values, arms), arms)
    assert found is not None
    assert found.change == pytest.approx(math.expm1(0.01), abs=2e-4)
    assert found.seen


def test_a_difference_of_the_arms_is_no_drift() -> None:
    arms = order(4)
    found = drift(*ordered([0.05 * (arm == "B") for arm in arms], arms), arms)
    assert found is not None
    assert found.change == pytest.approx(0.0, abs=1e-12)
    assert found.p == 1.0


def test_a_drift_without_any_noise_is_certain() -> None:
    arms = order(3)
    found = drift(*ordered([0.01 * place for place in range(6)], arms), arms)
    assert found is not None
    assert found.p == pytest.approx(0.0)


def test_without_a_drift_one_is_seen_as_often_as_chance_has_it() -> None:
    draw, arms = np.random.default_rng(7), order(6)
    found = [drift(*ordered(draw.normal(0, 0.01, 12).tolist(), arms), arms) for _ in range(1000)]
    assert sum(each is not None and each.seen for each in found) <= 25  # 1 % of them, and chance


def test_two_launches_an_arm_say_nothing_of_a_drift() -> None:
    assert drift([0.0, 0.1], [0.0, 0.1], order(2)) is None
