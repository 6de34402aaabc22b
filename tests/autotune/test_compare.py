"""A verdict follows from launches alone: how often it is wrong, how often it is right, and its interval."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from autotune.compare import (
    ALPHA,
    BAND,
    FEWEST,
    LEVEL_LOSS,
    LOOKS,
    Comparison,
    LaunchValues,
    Result,
    compare,
    order,
    ratio,
)

LAUNCH_SD = 0.007  # relative; what engines on an idle, fixed-clock host show
LAST = FEWEST + LOOKS - 1


def arm(*objectives: float) -> list[LaunchValues]:
    """Return launches with one concurrency, whose metric is the objective."""
    return [LaunchValues(value, {1: value}) for value in objectives]


def sequential(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Look after each pair of launches until something is decided."""
    looks = (compare(arm(*a[:n]), arm(*b[:n])) for n in range(FEWEST, LAST + 1))
    return next((look for look in looks if look.result != "undecided"), compare(arm(*a), arm(*b)))


def campaigns(effect: float, *, repeats: int) -> list[Comparison]:
    """Return what that many studies decide when the candidate really is `effect` faster."""
    draw = np.random.default_rng(11)
    a = 100 * np.exp(draw.normal(0.0, LAUNCH_SD, (repeats, LAST)))
    b = 100 * (1 + effect) * np.exp(draw.normal(0.0, LAUNCH_SD, (repeats, LAST)))
    return [sequential(one.tolist(), other.tolist()) for one, other in zip(a, b, strict=True)]


def shares(comparisons: Sequence[Comparison]) -> dict[Result, float]:
    """Return how often each verdict fell."""
    counted = Counter(each.result for each in comparisons)
    return {result: counted[result] / len(comparisons) for result in ("win", "loss", "tie", "undecided")}


def test_without_an_effect_five_looks_win_falsely_in_at_most_five_percent() -> None:
    share = shares(campaigns(0.0, repeats=2000))
    assert share["win"] <= ALPHA
    assert share["win"] + share["loss"] <= ALPHA + 0.01  # the looks share ALPHA between both sides; 0.01 is chance
    assert share["tie"] > 0.8


def test_five_percent_are_found_and_cost_about_three_launches_an_arm() -> None:
    found = campaigns(0.05, repeats=500)
    assert shares(found)["win"] > 0.97
    assert np.mean([each.launches[0] for each in found]) < 3.5


def test_a_tie_is_not_declared_at_the_edge_of_the_band() -> None:
    assert shares(campaigns(BAND, repeats=500))["tie"] <= ALPHA


@pytest.mark.parametrize("launches", range(1, 9))
def test_both_arms_get_as_many_launches(launches: int) -> None:
    assert Counter(order(launches)) == {"A": launches, "B": launches}


def test_launches_are_interleaved() -> None:
    assert order(6) == "ABBABAABABBA"


@pytest.mark.parametrize("launches", [2, 4, 6])
def test_a_linear_drift_falls_on_both_arms_alike(launches: int) -> None:
    drifting = [(one, 100 * math.exp(0.01 * place)) for place, one in enumerate(order(launches))]
    a, b = ([value for one, value in drifting if one == which] for which in "AB")
    assert ratio(a, b).change == pytest.approx(0.0, abs=1e-12)
    halves = [value for _, value in drifting]
    assert ratio(halves[:launches], halves[launches:]).change > 0.01  # A A B B would have seen a gain


def test_the_interval_is_welchs_on_logs() -> None:
    a, b = [100.0, 103.0, 99.0, 101.0], [104.0, 110.0, 107.0]
    found = ratio(a, b)
    welch = stats.ttest_ind(np.log(b), np.log(a), equal_var=False).confidence_interval(1 - ALPHA / LOOKS)
    assert found.low == pytest.approx(math.expm1(welch.low))
    assert found.high == pytest.approx(math.expm1(welch.high))


def test_means_are_geometric() -> None:
    found = ratio([50.0, 200.0], [300.0, 300.0])
    assert [found.a, found.b, found.change] == pytest.approx([100.0, 300.0, 2.0])


def test_exchanging_the_arms_inverts_the_ratio() -> None:
    a, b = [100.0, 103.0, 99.0], [104.0, 110.0, 107.0]
    there, back = ratio(a, b), ratio(b, a)
    assert there.low is not None
    assert back.high is not None
    assert (1 + there.change) * (1 + back.change) == pytest.approx(1.0)
    assert (1 + there.low) * (1 + back.high) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("b", "result"),
    [
        ((110.0, 111.0, 110.5), "win"),
        ((100.51, 100.5, 100.49), "win"),
        ((90.0, 91.0, 90.5), "loss"),
        ((99.49, 99.5, 99.51), "loss"),
        ((100.0, 100.1, 99.9), "tie"),
        ((95.0, 110.0, 102.0), "undecided"),
    ],
)
def test_the_verdict_follows_from_the_interval(b: tuple[float, ...], result: Result) -> None:
    assert compare(arm(100.0, 100.05, 99.95), arm(*b)).result == result


def test_one_launch_an_arm_decides_nothing() -> None:
    found = compare(arm(100.0), arm(200.0))
    assert (found.result, found.overall.low, found.overall.high) == ("undecided", None, None)
    assert found.launch_sd is None


def test_an_arm_without_launches_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one data point"):
        compare(arm(100.0), [])


def test_launches_without_any_spread_are_compared_exactly() -> None:
    assert compare(arm(100.0, 100.0), arm(100.0, 100.0)).result == "tie"
    assert compare(arm(100.0, 100.0), arm(100.1, 100.1)).result == "win"


@pytest.mark.parametrize(("level", "result"), [(1 + 2 * LEVEL_LOSS, "undecided"), (1 + LEVEL_LOSS / 2, "win")])
def test_a_concurrency_that_loses_blocks_a_win(level: float, result: Result) -> None:
    a = [LaunchValues(v, {1: v, 8: v}) for v in (100.0, 100.1)]
    b = [LaunchValues(1.1 * v, {1: 1.2 * v, 8: level * v}) for v in (100.0, 100.1)]
    found = compare(a, b)
    assert found.overall.low is not None
    assert found.overall.low > 0
    assert found.levels[8].change == pytest.approx(level - 1)
    assert found.result == result


def test_the_launch_sd_pools_both_arms() -> None:
    a, b = [100.0, 102.0], [200.0, 201.0, 205.0]
    squares = sum((len(values) - 1) * np.var(np.log(values), ddof=1) for values in (a, b))
    assert compare(arm(*a), arm(*b)).launch_sd == pytest.approx(math.sqrt(squares / 3))
