"""How long a study still takes, from the phases measured so far."""

from dataclasses import replace

import pytest

from autotune.forecast import confirm_s, left_s, reserve_s
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY
from tests.autotune.truths import budgeted
from tests.support import measured
from trials.outcome import Measured, Outcome


def taking(**seconds: float) -> Measured:
    """Return a measured outcome whose phases took so long."""
    return replace(measured(100.0), seconds=seconds)


def test_nothing_is_forecast_before_anything_was_measured(small: SearchSpace) -> None:
    assert left_s(small, [MEMORY, LOST], trials_left=3, search_left_s=None, slots=1) is None


def test_a_confirmation_takes_every_launch_and_one_long_gate_an_arm(small: SearchSpace) -> None:
    # 3 launches of each of 3 recipes; 16 questions at the pace of the 64 that took 5 s
    taken = [taking(start=2.0, load=8.0, smell=1.0, judge=4.0)]
    plain = budgeted(small, ablation_launches=0, regime_launches=0)
    assert confirm_s(plain, taken) == pytest.approx(3 * 3 * 10 + 2 * 5 * 16 / 64)


def test_an_ablation_takes_its_launches_and_confirms_what_is_left_once_more(small: SearchSpace) -> None:
    taken = [taking(start=2.0, load=8.0, smell=1.0, judge=4.0)]
    plain = budgeted(small, ablation_launches=0, regime_launches=0)
    apart = budgeted(small, ablation_launches=16, regime_launches=0)
    more = confirm_s(apart, taken) - confirm_s(plain, taken)
    assert more == pytest.approx(16 * 10 + 4 * 3 * 10 + 5 * 16 / 64)


def test_a_launch_for_one_concurrency_takes_its_share_of_the_ladder(small: SearchSpace) -> None:
    taken = [taking(start=2.0, load=8.0)]
    plain = budgeted(small, ablation_launches=0, regime_launches=0)
    both = budgeted(small, ablation_launches=0, regime_launches=12)
    assert confirm_s(both, taken) - confirm_s(plain, taken) == pytest.approx(12 * 10 / 2)


def test_the_search_leaves_fifteen_percent_of_the_hours_or_six_launches() -> None:
    assert reserve_s(10.0, []) == pytest.approx(1.5 * 3600)
    assert reserve_s(10.0, [taking(start=60.0, load=540.0, judge=900.0)]) == pytest.approx(1.5 * 3600)
    assert reserve_s(10.0, [taking(start=60.0, load=2940.0, judge=900.0)]) == pytest.approx(6 * 3000)


def test_trials_take_what_trials_took_whatever_became_of_them(small: SearchSpace) -> None:
    outcomes: list[Outcome] = [taking(load=30.0), replace(MEMORY, seconds={"start": 10.0})]
    whole = left_s(small, outcomes, trials_left=4, search_left_s=None, slots=1)
    assert whole == pytest.approx(4 * 20 + confirm_s(small, [taking(load=30.0)]))


def test_slots_share_the_trials_but_not_the_confirmation(small: SearchSpace) -> None:
    one = left_s(small, [taking(load=30.0)], trials_left=4, search_left_s=None, slots=1)
    two = left_s(small, [taking(load=30.0)], trials_left=4, search_left_s=None, slots=2)
    assert one is not None
    assert two == pytest.approx(one - 60)


def test_the_search_ends_with_its_hours(small: SearchSpace) -> None:
    confirmation = confirm_s(small, [taking(load=30.0)])
    assert left_s(small, [taking(load=30.0)], trials_left=4, search_left_s=7.0, slots=1) == 7.0 + confirmation
    assert left_s(small, [taking(load=30.0)], trials_left=0, search_left_s=0.0, slots=1) == confirmation
