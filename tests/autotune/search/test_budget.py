"""What a search may spend: trials, counted when submitted, and hours over all sittings."""

import pytest

from autotune.search.budget import Budget


def test_trials_count_when_they_are_submitted() -> None:
    budget = Budget(trials=2, hours=None)
    budget.submit()
    assert budget.left()
    budget.submit()
    assert not budget.left()


def test_without_hours_there_is_no_limit_of_time() -> None:
    assert Budget(trials=1, hours=None, spent_s=1e9).left_s() is None
    assert Budget(trials=1, hours=None, spent_s=1e9).left()


def test_earlier_sittings_count() -> None:
    left = Budget(trials=1, hours=2.0, spent_s=3600.0).left_s()
    assert left == pytest.approx(3600.0, abs=60.0)


def test_spent_hours_end_the_search_and_never_turn_negative() -> None:
    budget = Budget(trials=5, hours=1.0, spent_s=7200.0)
    assert budget.left_s() == 0.0
    assert not budget.left()


@pytest.mark.parametrize("trials", [0, -2])
def test_a_study_with_as_many_trials_as_it_may_have_gets_no_more(trials: int) -> None:
    assert not Budget(trials=trials, hours=None).left()
