"""Which outcomes count, and which configs are run again."""

from collections.abc import Callable

import pytest

from autotune.folder import TrialRecord
from autotune.retries import again, counting, known
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY, trial
from tests.support import measured
from trials.outcome import Infeasible, Outcome

STUCK = Infeasible(failure="stuck", reason="no token", seconds={})
GOOD = measured(1.0, 1.0)

Tried = Callable[..., list[TrialRecord]]


@pytest.fixture
def tried(small: SearchSpace) -> Tried:
    """Return a function that gives a study whose trials of config 1, 2, ... had these outcomes."""

    def trials(*outcomes: tuple[int, Outcome | None]) -> list[TrialRecord]:
        return [trial(small, number, outcome, threads=config) for number, (config, outcome) in enumerate(outcomes)]

    return trials


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([GOOD], False),
        ([MEMORY], False),
        ([None], False),
        ([LOST], True),
        ([LOST, LOST], True),
        ([LOST, LOST, LOST], False),
        ([STUCK], True),
        ([STUCK, STUCK], False),
        ([STUCK, LOST], True),
        ([LOST, STUCK], True),
        ([STUCK, LOST, STUCK], False),
    ],
)
def test_a_lost_config_is_run_twice_more_and_a_stuck_one_once(
    tried: Tried, outcomes: list[Outcome | None], *, expected: bool
) -> None:
    trials = tried(*((1, outcome) for outcome in outcomes))
    assert again(trials[-1], trials) is expected


def test_the_losses_of_another_config_do_not_count(tried: Tried) -> None:
    trials = tried((1, LOST), (2, LOST), (2, LOST), (1, LOST))
    assert again(trials[-1], trials)


def test_losses_in_a_long_row_are_no_configs_own(tried: Tried) -> None:
    trials = tried((1, GOOD), (2, LOST), (2, LOST), (2, LOST), (3, LOST), (3, LOST))
    assert [again(record, trials) for record in trials] == [False, True, True, True, True, True]
    assert not again(trials[3], trials[:4])


def test_nothing_is_known_of_a_config_that_is_to_be_run_again(tried: Tried) -> None:
    trials = tried((1, GOOD), (2, STUCK), (3, LOST), (4, None))
    assert known(trials) == {trials[0].fingerprint: GOOD}


def test_of_a_config_that_got_stuck_the_retry_counts(tried: Tried) -> None:
    trials = tried((1, STUCK), (1, GOOD), (2, STUCK), (2, STUCK))
    assert list(known(trials).values()) == [GOOD, STUCK]
    assert [record.number for record in counting(trials)] == [1, 3]


def test_only_what_is_settled_counts(tried: Tried) -> None:
    assert counting(tried((1, LOST), (2, STUCK), (3, None))) == []
