"""The order of launches: every arm as often, drift shared, and nothing that failed launched again."""

import pytest

from autotune.compare import order
from autotune.folder import LaunchRecord
from autotune.rounds import due, failure, given_up, measured, name, of, rounds
from tests.autotune.studies import CRASHED, LOST, MEMORY, launch, launches, unjudged
from tests.support import measured as ran
from tests.support import verdict
from trials.outcome import Outcome


def arms(given: str, most: int) -> str:
    """Return the order of arms."""
    return "".join(arm for _, arm in rounds(given, most))


@pytest.mark.parametrize("most", [2, 3, 6])
def test_two_arms_are_launched_as_a_comparison_launches_them(most: int) -> None:
    assert arms("AB", most) == order(most)


def test_three_arms_go_there_and_back() -> None:
    assert arms("ABD", 4) == "ABDDBADBAABD"


def test_a_linear_drift_falls_on_all_arms_alike_over_four_rounds() -> None:
    places = {arm: [at for at, each in enumerate(arms("ABCDE", 4)) if each == arm] for arm in "ABCDE"}
    assert len({sum(places[arm]) for arm in "ABCDE"}) == 1


def test_what_is_due_comes_in_the_order_of_rounds() -> None:
    made, asked = list[LaunchRecord](), list[tuple[int, str]]()
    while (found := due(("A", "B", "D"), made, 2)) and len(asked) < 10:
        asked.append(found)
        made.append(launch(len(made), found[1], unjudged(100.0)))
    assert asked == [(0, "A"), (0, "B"), (0, "D"), (1, "D"), (1, "B"), (1, "A")]


def test_an_arm_that_failed_is_not_due_any_more() -> None:
    made = [*launches("A", 100.0), launch(1, "B", MEMORY)]
    assert due(("A", "B"), made, 2) == (1, "A")


def test_a_crash_that_may_be_chance_is_due_again_once() -> None:
    once = [*launches("A", 100.0), launch(1, "B", CRASHED)]
    assert (failure(once, "B"), due(("A", "B"), once, 2)) == (None, (0, "B"))
    twice = [*once, launch(2, "B", CRASHED)]
    assert (failure(twice, "B"), due(("A", "B"), twice, 2)) == ("unknown: exit code 1", (1, "A"))


def test_a_crash_that_has_a_known_reason_is_not() -> None:
    assert failure([launch(0, "B", CRASHED), launch(1, "B", MEMORY)], "B") == "memory: out of memory"


def test_a_lost_launch_is_due_again() -> None:
    made = [*launches("A", 100.0), *(launch(n, "B", LOST) for n in range(1, 6))]
    assert due(("A", "B"), made, 2) == (0, "B")


def test_what_only_stands_beside_is_given_up_after_three_losses() -> None:
    lost = [launch(n, "D", LOST) for n in range(3)]
    assert given_up(lost[:2], "D") is None
    assert given_up(lost, "D") == "lost 3 times: node gone"
    assert due(("A", "D"), [*launches("A", 100.0), *lost], 2) == (1, "A")
    assert given_up([launch(n, "B", LOST) for n in range(3)], "B") is None


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (MEMORY, "memory: out of memory"),
        (ran(1.0, gate=verdict(40, result="fail")), "gate fail: 40 of 64 right"),
        (ran(1.0), None),
        (unjudged(1.0), None),
        (LOST, None),
    ],
)
def test_an_arm_fails_by_its_own_fault_alone(outcome: Outcome, said: str | None) -> None:
    assert failure([launch(0, "B", outcome)], "B") == said
    assert failure([launch(0, "B", outcome)], "A") is None


def test_launches_of_other_stages_other_candidates_and_those_that_run_do_not_count() -> None:
    every = [*launches("AB", 1.0, 2.0), *launches("AB", 3.0, 4.0, candidate=9), launch(4, "A", None)]
    assert of(every, "confirm", 1) == every[:2]
    assert of(every, "ablate", 1) == []
    assert [one.points[0].total_tok_per_s for one in measured(every, "B")] == [2.0, 4.0]


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ("A", "baseline"),
        ("B", "trial 7"),
        ("D", "the engine's own defaults"),
        ("C", "trial 7, reduced"),
        ("B-kv", "trial 7 without kv"),
        ("A+kv", "baseline with kv"),
        ("B-REST", "trial 7 without the knobs that matter least"),
        ("O@64", "its override at 64"),
    ],
)
def test_every_arm_has_a_name(arm: str, words: str) -> None:
    assert name(arm, 7) == words
