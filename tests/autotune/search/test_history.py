"""What a sampler reads of a study."""

from collections.abc import Mapping

import optuna
import pytest
from optuna import Study

from autotune.search.axes import axes
from autotune.search.flat import distributions, to_params
from autotune.search.history import Told, read
from autotune.search.tell import Fact, record, tell
from search_spaces import Scalar, SearchSpace
from tests.autotune.studies import LOST, MEMORY, complete
from tests.support import measured, verdict
from trials.outcome import Outcome

NOBODY = -1


@pytest.fixture
def study() -> Study:
    """Return a study in memory."""
    return optuna.create_study(direction="maximize")


def asked(study: Study, space: SearchSpace, **changes: Scalar) -> optuna.trial.Trial:
    """Return a running trial of the baseline with some knobs changed."""
    study.enqueue_trial(to_params(space, complete(space, changes)))
    return study.ask(distributions(space))


def told(study: Study, space: SearchSpace, outcome: Outcome, changes: Mapping[str, Scalar]) -> None:
    """Tell the outcome of one config."""
    tell(study, asked(study, space, **changes), outcome, space.objective)


def test_a_measured_trial_is_read_with_its_gate(study: Study, small: SearchSpace) -> None:
    told(study, small, measured(100.0, 100.0, gate=verdict(63)), {"cache": "q4_0"})
    (only,) = read(study, axes(small), asking=NOBODY).told
    assert only.point == axes(small).point(to_params(small, complete(small, {"cache": "q4_0"})))
    assert only.value == pytest.approx(100.0)
    assert (only.correct, only.answered, only.threshold, only.estimated) == (63, 64, 0.97, False)
    assert only.violation == pytest.approx(0.97 - 63 / 64)


def test_a_failure_has_no_value_whatever_was_filled_in(study: Study, small: SearchSpace) -> None:
    told(study, small, measured(100.0, 100.0), {})
    told(study, small, MEMORY, {"cache": "q4_0"})
    assert [each.value is None for each in read(study, axes(small), asking=NOBODY).told] == [False, True]


def test_a_lost_trial_says_nothing_and_is_not_taken(study: Study, small: SearchSpace) -> None:
    told(study, small, LOST, {"cache": "q4_0"})
    assert read(study, axes(small), asking=NOBODY).taken == frozenset()


def test_an_estimate_is_known_as_one(study: Study, small: SearchSpace) -> None:
    record(study, asked(study, small), Fact(value=90.0, estimated=True))
    assert read(study, axes(small), asking=NOBODY).told == (Told(axes(small).baseline, 90.0, estimated=True),)


def test_a_stored_outcome_that_is_told_again_counts_once(study: Study, small: SearchSpace) -> None:
    for _ in range(3):
        told(study, small, measured(100.0, 100.0), {})
        told(study, small, MEMORY, {"cache": "q4_0"})
    assert len(read(study, axes(small), asking=NOBODY).told) == 2


def test_two_launches_of_one_config_count_twice(study: Study, small: SearchSpace) -> None:
    told(study, small, measured(100.0, 100.0), {})
    told(study, small, measured(101.0, 101.0), {})
    assert len(read(study, axes(small), asking=NOBODY).told) == 2


def test_what_runs_is_taken_but_not_the_trial_that_asks(study: Study, small: SearchSpace) -> None:
    running = asked(study, small, cache="q4_0")
    mine = asked(study, small, unified=True)
    history = read(study, axes(small), asking=mine.number)
    assert history.taken == {axes(small).point(running.params)}
