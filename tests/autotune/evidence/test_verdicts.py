"""Verdicts as a reader sees them."""

from collections.abc import Sequence

import pytest

from autotune.bisection import narrowed
from autotune.campaign import Progress, progress
from autotune.compare import LaunchSd, LaunchValues, LevelVerdict, compare
from autotune.comparisons import Rules
from autotune.evidence import verdicts
from autotune.evidence.words import ENGLISH
from autotune.sweep import Crossover
from search_spaces import Objective
from tests.autotune.comparing import rates
from tests.autotune.studies import MEMORY
from tests.autotune.test_campaign import launched
from trials.outcome import Outcome

IMAGES = ("v1", "v2", "v3", "v4")


def stands(*values: float) -> Progress:
    """Return a campaign's progress after so many launches."""
    made: list[Outcome] = [*rates(*values)]
    return progress(launched("ABBABAABABBA"[: len(made)], made), Rules(most=6, judged=False), Objective())


def arm(values: Sequence[float]) -> list[LaunchValues]:
    """Return launches with one concurrency."""
    return [LaunchValues(value, {1: value}) for value in values]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((100.0, 110.0, 110.1, 100.1), "B is faster than A: +10.0 % over the ladder"),
        ((100.0, 90.0, 90.1, 100.1), "B is slower than A: -10.0 % over the ladder"),
        ((100.0, 100.05, 100.1, 100.1), "Tie: B is within 2 % of A: +0.0 % over the ladder"),
        ((100.0, 104.0, 97.0, 96.0), "Undecided: these launches can't tell A and B apart: "),
    ],
)
def test_the_verdict_is_a_sentence_with_its_interval(values: tuple[float, ...], said: str) -> None:
    sentence = ENGLISH(verdicts.sentence(stands(*values)))
    assert sentence.startswith(said)
    assert "99 % interval" in sentence
    assert sentence.endswith("from 2 + 2 launches.")


def test_without_two_launches_of_each_there_is_no_verdict() -> None:
    assert ENGLISH(verdicts.sentence(stands(100.0, 101.0))) == "Not finished: fewer than two launches of each."


def test_what_crashed_is_not_compared() -> None:
    found = progress(launched("AB", [*rates(100.0), MEMORY]), Rules(most=6), Objective())
    assert ENGLISH(verdicts.sentence(found)) == "Nothing is compared: B failed: memory: out of memory."


def test_an_undecided_verdict_names_the_launches_that_would_decide() -> None:
    found = compare(arm([100.0, 104.0, 97.0]), arm([104.0, 101.0, 103.0]))
    lines = [*map(ENGLISH, verdicts.notes(found))]
    assert f"{found.settled_by} launches of each would decide" in lines[0]
    assert f"--max-launches {found.settled_by}" in lines[0]
    assert (
        ENGLISH(verdicts.settling(None))
        == "If that is the true difference, not even 100 launches of each would decide."
    )


def test_it_is_said_what_the_forecast_rests_on() -> None:
    a, b = arm([100.0, 101.0]), arm([100.0, 101.0])
    assumed, known = compare(a, b), compare(a, b, known_sd=LaunchSd(0.0123, {}))
    assert "of these few launches alone: `autotune noise` was not run" in ENGLISH(verdicts.assumption(assumed))
    assert ENGLISH(verdicts.assumption(known)).startswith("Launch sd 1.23% as `autotune noise` measured it; of these")


def test_a_drift_is_said() -> None:
    up = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    drifting = compare(arm([up[0], up[3], up[5]]), arm([up[1], up[2], up[4]]))
    few = compare(arm([1.0, 1.1]), arm([1.0, 1.1]))
    assert "a drift, which the order shares" in ENGLISH(list(verdicts.notes(drifting))[-1])
    assert "Too few launches to test for a drift." in ENGLISH(list(verdicts.notes(few))[-1])


@pytest.mark.parametrize(
    ("result", "settled_by", "said"),
    [("win", None, "win"), ("undecided", 9, "undecided, settled by 9"), ("undecided", None, "undecided")],
)
def test_a_concurrency_has_a_verdict_in_a_word(result: str, settled_by: int | None, said: str) -> None:
    told = LevelVerdict(result=result, low=None, high=None, settled_by=settled_by)  # type: ignore[arg-type]  # a Result
    assert verdicts.level(told) == said


def test_a_crossover_says_from_where_and_up_to_where_nothing_is_claimed() -> None:
    said = ENGLISH(verdicts.crossing(Crossover(after=16000, at=800000, everywhere=True, estimate=312345.6)))
    assert said == (
        "B is slower from 800,000 tokens of context in the batch on (at every cell from there); up to 16,000 no loss "
        "is claimed, the change passes through 0 at about 312,346."
    )
    assert "loses at no cell" in ENGLISH(verdicts.crossing(None))


def test_the_first_slower_image_is_named() -> None:
    found = verdicts.culprit(narrowed(4, {3: "loss", 1: "tie", 2: "loss"}), IMAGES)
    assert found == "v3 is the first that is slower; v2 is not."


def test_where_no_image_is_slower_that_is_said() -> None:
    assert verdicts.culprit(narrowed(4, {3: "win"}), IMAGES) == "None is slower: v4 is not slower than v1 beyond noise."


def test_a_bisection_that_is_stuck_says_what_is_left() -> None:
    said = verdicts.culprit(narrowed(4, {3: "loss", 1: "undecided"}), IMAGES)
    assert said.endswith("can't tell whether v2 is slower. The first slower one is after v1 and at the latest v4.")
