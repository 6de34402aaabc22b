"""Who is confirmed, what is launched next, and what may be concluded: from the study's records alone."""

from dataclasses import replace

import pytest

from autotune.compare import order
from autotune.confirm import baseline, changes, conclude, finalists, level, passed, stand, value
from autotune.folder import Arm, LaunchRecord, TrialRecord
from search_spaces import Objective, SearchSpace
from tests.autotune.conftest import Loaded
from tests.autotune.studies import LOST, MEMORY, launch, launches, trial, unjudged
from tests.support import measured, point, verdict
from trials.outcome import Outcome

FAILED = measured(150.0, 150.0, gate=verdict(40, result="fail"))
INVALID = measured(150.0, 150.0, gate=verdict(result="invalid"))
NOISY = (100.0, 104.0, 97.0, 96.0, 103.0, 101.0)  # nothing can be decided of these


@pytest.fixture
def base(small: SearchSpace) -> TrialRecord:
    """Return a baseline that was measured at 100 tok/s."""
    return trial(small, 0, measured(100.0, 100.0))


@pytest.fixture
def candidate(small: SearchSpace) -> TrialRecord:
    """Return a trial that looked 10 % faster."""
    return trial(small, 1, measured(110.0, 110.0), threads=3)


def test_the_value_of_a_trial_is_the_geometric_mean_of_its_points() -> None:
    assert value(measured(100.0, 400.0), Objective()) == pytest.approx(200.0)
    assert value(measured(100.0, 400.0), Objective(weights={1: 3.0})) == pytest.approx((100.0**3 * 400) ** 0.25)


def test_the_study_says_which_rate_counts() -> None:
    mixed = replace(point(5.0), output_tok_per_s_per_gpu=2.0)
    assert level(mixed, Objective(metric="output_tok_per_s_per_gpu")) == 2.0
    assert level(mixed, Objective()) == 5.0


@pytest.mark.parametrize(
    ("outcome", "through"),
    [
        (measured(1.0), True),
        (FAILED, False),
        (INVALID, False),
        (unjudged(1.0), False),
        (MEMORY, False),
        (LOST, False),
        (None, False),
    ],
)
def test_only_a_measured_trial_whose_gate_says_pass_passed(
    small: SearchSpace, outcome: Outcome | None, *, through: bool
) -> None:
    assert passed(trial(small, 0, outcome)) is through


def test_the_baseline_is_the_first_trial_that_was_not_lost(small: SearchSpace, base: TrialRecord) -> None:
    lost = trial(small, 0, LOST)
    assert baseline([lost, replace(base, number=1)]).number == 1
    assert baseline([lost, replace(lost, number=1)]).number == 1


def test_an_inactive_knob_is_no_change(loaded: Loaded) -> None:
    space = loaded(
        """
baseline: {spec: false, drafts: 1}
knobs:
  spec: {switch: --spec}
  drafts: {flag: --drafts, int: {low: 1, high: 4}, when: {spec: true}}
"""
    )
    assert changes(trial(space, 1, None, drafts=3), space) == {}
    assert changes(trial(space, 1, None, drafts=3, spec=True), space) == {"spec": (False, True), "drafts": (1, 3)}


def test_finalists_are_the_fastest_first(small: SearchSpace, base: TrialRecord) -> None:
    rates = {1: 104.0, 2: 99.0, 3: 110.0, 4: 107.0, 5: 101.0}
    tried = [trial(small, n, measured(rate, rate), threads=3) for n, rate in rates.items()]
    assert [one.number for one in finalists([base, *tried], small)] == [3, 4, 1]


def test_of_equals_the_one_nearest_to_the_baseline_comes_first(small: SearchSpace, base: TrialRecord) -> None:
    far = trial(small, 1, measured(110.0, 110.0), threads=3, cache="q8_0")
    near = trial(small, 2, measured(110.0, 110.0), threads=4)
    assert [one.number for one in finalists([base, far, near], small)] == [2, 1]


@pytest.mark.parametrize("outcome", [measured(100.0, 100.0), FAILED, INVALID, MEMORY, LOST, None])
def test_what_is_not_faster_or_did_not_pass_is_no_finalist(
    small: SearchSpace, base: TrialRecord, outcome: Outcome | None
) -> None:
    assert finalists([base, trial(small, 1, outcome, threads=3)], small) == []


def test_launches_follow_the_order_until_the_last(small: SearchSpace, candidate: TrialRecord) -> None:
    whole = launches(order(3), *NOISY)
    asked = [stand(candidate, whole[:done], small).next_arm for done in range(len(whole) + 1)]
    assert asked == ["A", "B", "B", "A", "B", "A", None]


def test_there_is_no_comparison_before_two_launches_an_arm(small: SearchSpace, candidate: TrialRecord) -> None:
    found = [stand(candidate, launches(order(2), *NOISY[:4])[:done], small).comparison for done in range(5)]
    assert [look is not None for look in found] == [False, False, False, False, True]


def with_beside(*rates: float) -> list[LaunchRecord]:
    """Return two rounds of the baseline, the candidate and the engine's own defaults."""
    return launches("ABDDBA", *rates)


def test_other_recipes_are_launched_in_the_same_rounds(small: SearchSpace, candidate: TrialRecord) -> None:
    whole = with_beside(100.0, 101.0, 90.0, 91.0, 102.0, 103.0)
    asked = [stand(candidate, whole[:done], small, "D").next for done in range(6)]
    assert asked == [(0, "A"), (0, "B"), (0, "D"), (1, "D"), (1, "B"), (1, "A")]


def test_a_decision_waits_for_the_end_of_its_round(small: SearchSpace, candidate: TrialRecord) -> None:
    two = with_beside(100.0, 104.0, 90.0, 91.0, 97.0, 103.0)
    third = [*two, *launches("ABD", 100.0, 100.0, 90.0)]
    assert stand(candidate, two, small, "D").next_arm == "D"
    won = [*with_beside(100.0, 120.0, 90.0, 91.0, 120.1, 100.1)]
    assert stand(candidate, won, small, "D").next is None
    assert stand(candidate, won[:-1], small, "D").next_arm == "A"
    assert stand(candidate, third, small, "D").next is None


def test_a_candidate_stands_against_what_was_launched_beside_it(small: SearchSpace, candidate: TrialRecord) -> None:
    standing = stand(candidate, with_beside(100.0, 120.0, 90.0, 90.1, 120.1, 100.1), small)
    (beside,) = standing.beside
    assert beside.comparison is not None
    assert beside.comparison.overall.change == pytest.approx(1 / 3, abs=0.01)
    assert (beside.arm, beside.out, beside.comparison.result) == ("D", None, "win")


def test_the_verdict_is_the_same_whatever_stands_beside(small: SearchSpace, candidate: TrialRecord) -> None:
    alone = launches("ABBA", 100.0, 120.0, 120.1, 100.1)
    beside = with_beside(100.0, 120.0, 90.0, 30.0, 120.1, 100.1)
    assert stand(candidate, alone, small).comparison == stand(candidate, beside, small).comparison


def test_what_fails_beside_stops_nothing(small: SearchSpace, candidate: TrialRecord) -> None:
    begun = [*launches("AB", 100.0, 120.0), launch(2, "D", MEMORY)]
    standing = stand(candidate, begun, small, "D")
    assert standing.next == (1, "B")
    assert (standing.beside[0].out, standing.beside[0].comparison) == ("memory: out of memory", None)


def test_a_decision_ends_the_launches(small: SearchSpace, candidate: TrialRecord) -> None:
    standing = stand(candidate, launches("ABBA", 100.0, 120.0, 120.1, 100.1), small)
    assert standing.comparison is not None
    assert (standing.comparison.result, standing.next_arm) == ("win", None)
    assert set(standing.comparison.levels) == {1, 2}


def test_only_as_many_launches_of_each_arm_are_compared(small: SearchSpace, candidate: TrialRecord) -> None:
    even = stand(candidate, launches("ABBA", *NOISY[:4]), small)
    uneven = stand(candidate, launches("ABBAB", *NOISY[:4], 500.0), small)
    assert uneven.comparison == even.comparison
    assert uneven.next_arm == "A"


def test_launches_that_never_ended_and_those_of_other_candidates_do_not_count(
    small: SearchSpace, candidate: TrialRecord
) -> None:
    others = launches("AB", 1.0, 1.0, candidate=9)
    half = launch(2, "A", None)
    assert stand(candidate, [*others, half], small) == stand(candidate, [], small)


def test_a_confirmation_goes_on_where_it_stopped(small: SearchSpace, candidate: TrialRecord) -> None:
    begun = [*launches("AB", 100.0, 105.0), launch(2, "B", None)]
    assert stand(candidate, begun, small).next_arm == "B"
    assert stand(candidate, [*begun, launch(3, "B", unjudged(99.0, 99.0))], small).next_arm == "A"


def test_a_lost_launch_is_made_again(small: SearchSpace, candidate: TrialRecord) -> None:
    begun = [*launches("A", 100.0), *(launch(n, "B", LOST) for n in (1, 2))]
    assert stand(candidate, begun, small).next_arm == "B"
    again = [*begun, launch(5, "B", unjudged(105.0, 105.0)), launch(6, "B", LOST)]
    assert stand(candidate, again, small).next_arm == "B"


@pytest.mark.parametrize(
    ("arm", "outcome", "said"),
    [
        ("B", MEMORY, "memory: out of memory"),
        ("B", FAILED, "gate fail: 40 of 64 right"),
        ("B", INVALID, "gate invalid: 64 of 64 right"),
        ("A", MEMORY, "the baseline failed: memory: out of memory"),
        ("A", FAILED, "the baseline failed: gate fail: 40 of 64 right"),
    ],
)
def test_a_crash_or_a_failed_gate_drops_the_candidate_and_stops_the_baseline(
    small: SearchSpace, candidate: TrialRecord, arm: Arm, outcome: Outcome, said: str
) -> None:
    standing = stand(candidate, [launch(0, arm, outcome)], small)
    assert (standing.dropped if arm == "B" else standing.stopped) == said
    assert standing.next_arm is None


def test_a_win_is_the_only_result_that_moves_the_recipe(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    results = {
        "win": (100.0, 120.0, 120.1, 100.1),
        "loss": (100.0, 90.0, 90.1, 100.1),
        "tie": (100.0, 100.1, 100.0, 100.1),
        "undecided": NOISY[:4],
    }
    for result, rates in results.items():
        conclusion = conclude([base, candidate], launches("ABBA", *rates), small)
        assert conclusion.result == result
        assert conclusion.winner == (candidate if result == "win" else base)


def test_before_the_first_look_nothing_is_decided(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    conclusion = conclude([base, candidate], [], small)
    assert (conclusion.result, conclusion.winner) == ("undecided", base)
    assert [one.next_arm for one in conclusion.standings] == ["A"]


def test_without_finalists_the_baseline_stays(small: SearchSpace, base: TrialRecord) -> None:
    conclusion = conclude([base, trial(small, 1, MEMORY, threads=3)], [], small)
    assert (conclusion.result, conclusion.winner, conclusion.standings) == ("no candidate", base, ())


def dropping(candidate: int, first: int) -> list[LaunchRecord]:
    """Return the launches of a candidate that fails its long gate."""
    return [
        launch(first, "A", measured(100.0, 100.0), candidate=candidate),
        launch(first + 1, "B", FAILED, candidate=candidate),
    ]


def test_a_dropped_candidate_makes_room_for_the_next(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    second = trial(small, 2, measured(108.0, 108.0), threads=4)
    after = launches("ABBA", 100.0, 120.0, 120.1, 100.1, candidate=2)
    conclusion = conclude([base, candidate, second], [*dropping(1, 0), *after], small)
    assert (conclusion.result, conclusion.winner) == ("win", second)
    assert [bool(one.dropped) for one in conclusion.standings] == [True, False]


SLOWER = (100.0, 90.0, 90.1, 100.1)


def test_a_candidate_that_is_slower_makes_room_for_the_next(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    second = trial(small, 2, measured(108.0, 108.0), threads=4)
    slower = launches("ABBA", *SLOWER)
    conclusion = conclude([base, candidate, second], slower, small)
    assert [one.dropped for one in conclusion.standings] == ["slower than the baseline, -10.0 %", None]
    assert (conclusion.result, conclusion.standings[-1].next_arm) == ("undecided", "A")
    after = launches("ABBA", 100.0, 120.0, 120.1, 100.1, candidate=2)
    assert conclude([base, candidate, second], [*slower, *after], small).winner == second


def test_the_last_candidate_is_not_dropped_for_being_slower(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    conclusion = conclude([base, candidate], launches("ABBA", *SLOWER), small)
    assert (conclusion.result, conclusion.standings[-1].dropped) == ("loss", None)


def test_a_candidate_that_is_no_slower_is_not_followed_by_another(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    second = trial(small, 2, measured(108.0, 108.0), threads=4)
    conclusion = conclude([base, candidate, second], launches("ABBA", 100.0, 100.1, 100.0, 100.1), small)
    assert [one.candidate.number for one in conclusion.standings] == [1]
    assert (conclusion.result, conclusion.standings[-1].next_arm) == ("tie", None)


def test_when_every_finalist_is_dropped_the_baseline_stays(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    second = trial(small, 2, measured(108.0, 108.0), threads=4)
    conclusion = conclude([base, candidate, second], [*dropping(1, 0), *dropping(2, 2)], small)
    assert (conclusion.result, conclusion.winner) == ("no candidate", base)
    assert len(conclusion.standings) == 2


def test_a_stopped_confirmation_is_undecided_whatever_the_numbers_looked_like(
    small: SearchSpace, base: TrialRecord, candidate: TrialRecord
) -> None:
    fast = launches("ABBA", 100.0, 104.0, 130.0, 100.1)
    lost = [launch(n, "B", LOST) for n in (4, 5, 6)]
    conclusion = conclude([base, candidate], [*fast, *lost], small)
    assert (conclusion.result, conclusion.winner) == ("undecided", base)
    assert conclusion.standings[-1].next_arm == "B"  # a later sitting may go on


def test_the_space_says_how_many_launches_an_arm_there_may_be(small: SearchSpace, candidate: TrialRecord) -> None:
    fewer = small.model_copy(update={"budget": small.budget.model_copy(update={"confirm_launches": 2})})
    begun = launches("ABBA", *NOISY[:4])
    assert stand(candidate, begun, small).next_arm == "B"
    assert stand(candidate, begun, fewer).next_arm is None


def test_the_verdict_of_a_launch_without_a_gate_is_not_held_against_it(
    small: SearchSpace, candidate: TrialRecord
) -> None:
    standing = stand(candidate, launches("AB", 100.0, 101.0), small)
    assert (standing.dropped, standing.stopped) == (None, None)


def test_a_lost_launch_is_not_the_candidates_fault(small: SearchSpace, candidate: TrialRecord) -> None:
    assert stand(candidate, [launch(0, "B", LOST)], small).dropped is None
