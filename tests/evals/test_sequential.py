"""How a bet on the full set grows, when it decides, and how often it errs; the errors are computed on exact urns."""

import math
import random
from itertools import accumulate

import pytest

from evals.gate import interval
from evals.sequential import Urn, against_fail, against_pass, fails, passes

GSM8K = Urn(1319, 1188)
SMALL = Urn(60, 54)


def chances(urn: Urn, right: int, alpha: float) -> dict[str, float]:
    """Return how likely each verdict is, at whatever moment, on an urn of so many right answers; exactly."""
    playing, ended = {0: 1.0}, {"pass": 0.0, "fail": 0.0}
    for asked in range(1, urn.total + 1):
        drawn: dict[int, float] = {}
        for before, chance in playing.items():
            more = (right - before) / (urn.total - asked + 1)
            for after, share in ((before + 1, more), (before, 1 - more)):
                if share > 0:
                    drawn[after] = drawn.get(after, 0.0) + chance * share
        playing = {}
        for after, chance in drawn.items():
            if passes(urn, alpha, asked=asked, right=[after]) is not None:
                ended["pass"] += chance
            elif fails(urn, alpha, asked=asked, wrong=[asked - after]) is not None:
                ended["fail"] += chance
            else:
                playing[after] = chance
    assert math.isclose(sum(ended.values()), 1.0)
    return ended


def decision(urn: Urn, alpha: float, *orders: list[bool]) -> tuple[str, int]:
    """Return the verdict on these answers by each filter, and after how many it came."""
    counts = zip(*(accumulate(order) for order in orders), strict=True)
    for asked, right in enumerate(counts, 1):
        if passes(urn, alpha, asked=asked, right=right) is not None:
            return "pass", asked
        if fails(urn, alpha, asked=asked, wrong=[asked - each for each in right]) is not None:
            return "fail", asked
    raise AssertionError


def shuffled(urn: Urn, right: int, seed: int) -> list[bool]:
    """Return the urn's answers in a random order."""
    answers = [True] * right + [False] * (urn.total - right)
    random.Random(seed).shuffle(answers)  # noqa: S311 a simulation
    return answers


def test_nothing_asked_is_a_wealth_of_one() -> None:
    assert against_fail(GSM8K, asked=0, right=0) == pytest.approx(1)
    assert against_pass(GSM8K, asked=0, wrong=0) == pytest.approx(1)


def test_a_bet_is_fair_by_the_claim_it_is_made_against() -> None:
    """On the urn that only just fails, the wealth after one more draw is on average what it was."""
    claimed = SMALL.needed - 1
    for asked, right in ((0, 0), (10, 9), (30, 27), (50, 45)):
        more = (claimed - right) / (SMALL.total - asked)
        after = more * against_fail(SMALL, asked=asked + 1, right=right + 1) + (1 - more) * against_fail(
            SMALL, asked=asked + 1, right=right
        )
        assert after == pytest.approx(against_fail(SMALL, asked=asked, right=right))


def test_a_bet_on_a_fail_is_fair_too() -> None:
    for asked, right in ((0, 0), (10, 9), (30, 26), (50, 45)):
        more = (SMALL.needed - right) / (SMALL.total - asked)
        wrong = asked - right
        after = more * against_pass(SMALL, asked=asked + 1, wrong=wrong) + (1 - more) * against_pass(
            SMALL, asked=asked + 1, wrong=wrong + 1
        )
        assert after == pytest.approx(against_pass(SMALL, asked=asked, wrong=wrong))


def test_a_right_answer_never_speaks_against_a_pass() -> None:
    for asked in range(0, 59, 7):
        for right in range(asked + 1):
            assert against_fail(SMALL, asked=asked + 1, right=right + 1) >= against_fail(
                SMALL, asked=asked, right=right
            ) * (1 - 1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize(("right", "wrong_verdict"), [(53, "pass"), (54, "fail"), (50, "pass"), (58, "fail")])
def test_the_verdict_differs_from_the_full_sets_with_a_chance_of_alpha_at_most(
    alpha: float, right: int, wrong_verdict: str
) -> None:
    assert chances(SMALL, right, alpha)[wrong_verdict] <= alpha


def test_errors_in_a_simulation_of_two_filters_are_within_alpha() -> None:
    """The filters fail on different questions; whichever only just passes must not be failed."""
    alpha, plays = 0.05, 100
    orders = [(shuffled(SMALL, 54, seed), shuffled(SMALL, 54, plays + seed)) for seed in range(plays)]
    wrong = sum(decision(SMALL, alpha, *both)[0] == "fail" for both in orders)
    assert interval(wrong, plays)[0] <= alpha


def test_one_failing_filter_is_not_outvoted() -> None:
    alpha, plays = 0.05, 100
    orders = [(shuffled(SMALL, 53, seed), shuffled(SMALL, 60, plays + seed)) for seed in range(plays)]
    passed = sum(decision(SMALL, alpha, *both)[0] == "pass" for both in orders)
    assert interval(passed, plays)[0] <= alpha


def test_a_clear_pass_takes_a_tenth_of_the_questions() -> None:
    asked = [decision(GSM8K, 0.01, shuffled(GSM8K, 1279, seed)) for seed in range(8)]
    assert {verdict for verdict, _ in asked} == {"pass"}
    assert sum(count for _, count in asked) / len(asked) < 200


def test_a_collapse_takes_a_dozen() -> None:
    assert decision(GSM8K, 0.01, [False] * 1319) == ("fail", 3)
    assert decision(GSM8K, 0.001, [False] * 1319)[1] <= 5


def test_the_full_set_is_asked_where_it_only_just_passes() -> None:
    assert decision(SMALL, 0.001, [place % 10 != 9 for place in range(60)]) == ("pass", 59)


def test_what_no_answer_could_turn_is_infinite() -> None:
    assert against_fail(SMALL, asked=54, right=54) == math.inf
    assert against_pass(SMALL, asked=20, wrong=7) == math.inf
    assert against_fail(SMALL, asked=60, right=52) == 0.0
    assert against_pass(SMALL, asked=60, wrong=5) == 0.0


def test_smaller_alpha_asks_more() -> None:
    order = shuffled(GSM8K, 1279, 1)
    asked = [decision(GSM8K, alpha, order)[1] for alpha in (0.05, 0.01, 0.001)]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


def test_the_same_answers_decide_alike() -> None:
    order = shuffled(GSM8K, 1250, 3)
    assert decision(GSM8K, 0.01, order) == decision(GSM8K, 0.01, order)


@pytest.mark.parametrize(("total", "needed"), [(0, 0), (10, 0), (10, 11)])
def test_an_urn_that_says_nothing_is_refused(total: int, needed: int) -> None:
    with pytest.raises(ValueError, match="an urn of"):
        Urn(total, needed)
