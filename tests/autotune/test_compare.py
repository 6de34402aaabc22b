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
    LaunchSd,
    LaunchValues,
    Result,
    compare,
    looks,
    order,
    ratio,
    settled_by,
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


def test_a_tie_is_called_nine_times_in_ten_at_the_launch_sd_of_a_quiet_host() -> None:
    assert shares(campaigns(0.0, repeats=2000))["tie"] > 0.88


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


@pytest.mark.parametrize(
    ("most", "after"),
    [
        (2, (2,)),
        (4, (2, 3, 4)),
        (6, (2, 3, 4, 5, 6)),
        (7, (2, 3, 4, 5, 7)),
        (12, (2, 3, 5, 8, 12)),
        (100, (2, 5, 14, 38, 100)),
    ],
)
def test_however_many_launches_there_are_five_looks_are_taken(most: int, after: tuple[int, ...]) -> None:
    assert looks(most) == after
    assert len(after) <= LOOKS


def two_levels(*pairs: tuple[float, float]) -> list[LaunchValues]:
    """Return launches with a metric at 1 and at 8, whose objective is the geometric mean."""
    return [LaunchValues(math.sqrt(low * high), {1: low, 8: high}) for low, high in pairs]


def test_each_concurrency_has_its_verdict() -> None:
    a = two_levels((100.0, 100.0), (100.1, 100.1), (99.9, 99.9), (100.0, 99.95))
    b = two_levels((100.0, 110.0), (100.1, 110.1), (99.9, 109.9), (100.05, 110.0))
    verdicts = compare(a, b).verdicts
    assert {c: verdict.result for c, verdict in verdicts.items()} == {1: "tie", 8: "win"}
    assert all(verdict.settled_by is None for verdict in verdicts.values())


def test_verdicts_on_several_concurrencies_share_the_chance_of_error() -> None:
    a, b = arm(100.0, 101.0, 99.0), arm(103.0, 104.0, 102.0)
    alone, shared = compare(a, b), compare(a, b, family=8)
    wide = stats.ttest_ind(
        np.log([103.0, 104.0, 102.0]), np.log([100.0, 101.0, 99.0]), equal_var=False
    ).confidence_interval(1 - ALPHA / LOOKS / 8)
    assert (alone.verdicts[1].low, alone.verdicts[1].high) == (alone.overall.low, alone.overall.high)
    assert shared.verdicts[1].low == pytest.approx(math.expm1(wide.low))
    assert shared.levels == alone.levels


def test_of_many_equal_concurrencies_hardly_ever_one_is_said_to_differ() -> None:
    draw, wrong = np.random.default_rng(2), 0
    for _ in range(300):
        values = 100 * np.exp(draw.normal(0.0, LAUNCH_SD, (2, LAST, 8)))
        a, b = ([LaunchValues(100.0, dict(enumerate(map(float, launch)))) for launch in one] for one in values)
        wrong += any(verdict.result in {"win", "loss"} for verdict in compare(a, b).verdicts.values())
    assert wrong <= 300 * (ALPHA / LOOKS + 0.015)


def test_a_known_launch_sd_says_when_it_would_be_decided() -> None:
    a, b = arm(100.0, 104.0), arm(102.0, 101.0)
    noisy, quiet = (LaunchSd(sd, {1: sd}) for sd in (0.02, 0.003))
    unknown, loud, still = compare(a, b), compare(a, b, known_sd=noisy), compare(a, b, known_sd=quiet)
    assert {found.result for found in (unknown, loud, still)} == {"undecided"}
    assert (unknown.known_sd, loud.known_sd, still.known_sd) == (None, 0.02, 0.003)
    assert loud.settled_by is not None
    assert still.settled_by is not None
    assert loud.settled_by > still.settled_by > 2


def test_more_launches_than_were_made_are_asked_for() -> None:
    found = compare(arm(100.0, 110.0), arm(105.0, 104.0), known_sd=LaunchSd(0.0001, {1: 0.0001}))
    assert found.settled_by == 3


@pytest.mark.parametrize("sd", [0.005, 0.01, 0.02])
@pytest.mark.parametrize("effect", [0.0, 0.03, -0.05])
def test_the_launches_that_would_settle_it_mostly_do(sd: float, effect: float) -> None:
    launches = settled_by(math.log1p(effect), sd)
    assert launches is not None
    draw, decided = np.random.default_rng(4), 0
    for _ in range(200):
        a = 100 * np.exp(draw.normal(0.0, sd, launches))
        b = 100 * (1 + effect) * np.exp(draw.normal(0.0, sd, launches))
        decided += compare(arm(*a.tolist()), arm(*b.tolist())).result != "undecided"
    assert decided >= 120


def test_a_drift_of_the_machine_is_returned() -> None:
    arms = order(4)
    drifting = [100 * math.exp(0.004 * place + 0.0002 * (place % 3)) for place in range(len(arms))]
    a, b = ([value for value, one in zip(drifting, arms, strict=True) if one == which] for which in "AB")
    found = compare(arm(*a), arm(*b)).drift
    assert found is not None
    assert found.seen
    assert found.change == pytest.approx(0.004, abs=0.0005)


def test_arms_of_different_length_have_no_drift() -> None:
    assert compare(arm(100.0, 101.0, 102.0), arm(100.0, 101.0, 102.0, 103.0)).drift is None


def test_the_bootstrap_stands_beside_welch_from_eight_launches_on() -> None:
    draw = np.random.default_rng(1)
    a, b = (100 * np.exp(draw.normal(mean, LAUNCH_SD, 8)) for mean in (0.0, 0.03))
    found = ratio(a.tolist(), b.tolist())
    assert found.resampled is not None
    assert found.low is not None
    assert found.resampled[0] == pytest.approx(found.low, abs=0.01)
    assert ratio(a[:7].tolist(), b.tolist()).resampled is None


def test_an_odd_launch_moves_the_mean_and_not_the_robust_estimate() -> None:
    found = ratio([100.0, 100.1, 99.9, 100.0], [103.0, 103.1, 102.9, 60.0])
    assert found.change < -0.05
    assert found.robust == pytest.approx(0.03, abs=0.002)
