"""What stands beside an interval: nothing is left out because it says little."""

from dataclasses import replace

from autotune.compare import LaunchValues, compare
from autotune.estimates import Drift
from autotune.evidence.checks import checks
from autotune.evidence.words import CHINESE, ENGLISH


def arm(*rates: float) -> list[LaunchValues]:
    return [LaunchValues(rate, {1: rate}) for rate in rates]


COMPARED = compare(arm(100.0, 101.0, 99.5), arm(110.0, 111.5, 109.0))


def test_an_estimate_that_one_odd_launch_does_not_move_is_told() -> None:
    odd = compare(arm(100.0, 100.0, 100.0, 50.0), arm(110.0, 110.0, 110.0, 110.0))
    assert ENGLISH(checks(odd)).startswith("Hodges and Lehmann's estimate of the change: +10.0 %. ")
    assert CHINESE(checks(odd)).startswith("Hodges-Lehmann 估计的变化")


def test_a_bootstraps_interval_is_told_where_there_are_launches_enough_for_one() -> None:
    assert "No interval by bootstrap: with fewer than 8 launches of each" in ENGLISH(checks(COMPARED))
    ample = replace(COMPARED, overall=replace(COMPARED.overall, resampled=(0.081, 0.117)))
    assert "The bootstrap's 99 % interval: +8.1 % to +11.7 %." in ENGLISH(checks(ample))
    assert "+8.1 % 至 +11.7 %。" in CHINESE(checks(ample))


def test_a_drift_is_told_whether_it_is_there_or_not() -> None:
    still, moving = (replace(COMPARED, drift=Drift(0.0123, p)) for p in (0.4, 0.001))
    assert "changed by +1.23% (p = 0.400): no drift beyond chance." in ENGLISH(checks(still))
    assert "changed by +1.23% (p = 0.001): a drift, which the order shares" in ENGLISH(checks(moving))
    few = compare(arm(100.0, 101.0), arm(110.0, 111.0))
    assert ENGLISH(checks(few)).endswith("Too few launches to test for a drift.")
