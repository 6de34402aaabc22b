"""How long a study still takes, from the phases measured so far."""

from dataclasses import replace

import pytest

from autotune.forecast import confirm_s, left_s
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY
from tests.support import measured
from trials.outcome import Measured, Outcome


def taking(**seconds: float) -> Measured:
    """Return a measured outcome whose phases took so long."""
    return replace(measured(100.0), seconds=seconds)


def test_nothing_is_forecast_before_anything_was_measured(small: SearchSpace) -> None:
    assert left_s(small, [MEMORY, LOST], trials_left=3, search_left_s=None, slots=1) is None


def test_a_confirmation_takes_every_launch_and_one_long_gate_an_arm(small: SearchSpace) -> None:
    # 3 launches an arm; 16 questions at the pace of the 64 that took 5 s
    taken = [taking(start=2.0, load=8.0, smell=1.0, judge=4.0)]
    assert confirm_s(small, taken) == pytest.approx(2 * (3 * 10 + 5 * 16 / 64))


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
