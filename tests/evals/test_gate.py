"""When an accuracy passes, fails or says nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from evals.gate import Gate, Scored, Verdict, beyond_repair, collapse, interval, reference, verdict, worse_p

BOTH = ("strict-match", "flexible-extract")
GSM8K = Gate(task="gsm8k", threshold=0.90, filters=BOTH, questions=1319)
SMALL = Gate(task="sums", threshold=0.97, filters=BOTH, questions=400)


def marked(right: int, wrong: int, *, first: int = 0) -> list[Scored]:
    """Return answers that both filters read alike, the right ones first."""
    return [
        Scored(index=first + place, correct=dict.fromkeys(BOTH, place < right), text="an answer")
        for place in range(right + wrong)
    ]


def errors(count: int, *, first: int = 0) -> list[Scored]:
    """Return questions that brought no answer."""
    return [Scored(index=first + place, error="HTTP 503") for place in range(count)]


def cut(count: int, *, first: int = 0) -> list[Scored]:
    """Return answers that the cap cut before their end."""
    return [replace(each, truncated=True) for each in marked(0, count, first=first)]


@pytest.mark.parametrize(("right", "result"), [(1319, "pass"), (1188, "pass"), (1187, "fail"), (0, "fail")])
def test_gsm8k_at_090_needs_1188_of_1319(right: int, result: str) -> None:
    assert verdict(marked(right, 1319 - right), GSM8K).result == result


@pytest.mark.parametrize(("threshold", "allowed"), [(0.97, 12), (0.99, 4), (1.0, 0), (0.07, 372), (0.9, 40)])
def test_thresholds_are_counted_in_exact_arithmetic(threshold: float, allowed: int) -> None:
    gate = replace(SMALL, threshold=threshold)
    assert verdict(marked(400 - allowed, allowed), gate).result == "pass"
    assert verdict(marked(400 - allowed - 1, allowed + 1), gate).result == "fail"


def test_nothing_asked_is_invalid() -> None:
    nothing = verdict([], SMALL)
    assert (nothing.result, nothing.accuracy, nothing.filters) == ("invalid", None, ())
    assert nothing.reasons == ("sums: nothing was asked",)


def test_errors_alone_are_invalid_and_show_the_first() -> None:
    silent = verdict(errors(400), SMALL)
    assert (silent.result, silent.unanswered, silent.accuracy) == ("invalid", 400, None)
    assert "400 of 400 questions without a clear answer" in silent.reasons[0]
    assert "HTTP 503" in silent.reasons[0]


def test_cut_answers_are_not_wrong_answers() -> None:
    short = verdict([*marked(350, 0), *cut(50, first=350)], SMALL)
    assert (short.result, short.truncated) == ("invalid", 50)
    assert "max_tokens" in short.reasons[0]


@pytest.mark.parametrize(("unclear", "result"), [(2, "pass"), (3, "invalid")])
def test_half_a_percent_may_go_unanswered(unclear: int, result: str) -> None:
    answers = [*marked(400 - unclear, 0), *errors(unclear, first=400 - unclear)]
    assert verdict(answers, SMALL).result == result


def test_errors_are_left_out_of_the_accuracy() -> None:
    (strict, _) = verdict([*marked(390, 8), *errors(2, first=398)], SMALL).filters
    assert (strict.correct, strict.answered) == (390, 398)
    assert strict.accuracy == 390 / 398


def test_too_few_questions_are_invalid_however_good() -> None:
    early = verdict(marked(399, 0), SMALL)
    assert early.result == "invalid"
    assert early.reasons == ("sums: 399 questions asked, a verdict needs 400",)


def test_a_fail_that_nothing_can_turn_needs_no_more_questions() -> None:
    early = verdict(marked(20, 13), SMALL)
    assert (early.result, early.asked) == ("fail", 33)
    assert early.violation == pytest.approx(0.97 - 20 / 33)


def test_a_certain_fail_stands_among_errors() -> None:
    assert verdict([*marked(100, 13), *errors(200, first=113)], SMALL).result == "fail"


def test_errors_alone_never_make_a_fail_certain() -> None:
    unclear = [*marked(20, 12), *errors(100, first=32), *cut(100, first=132)]
    assert beyond_repair(unclear, SMALL) == ()


def test_strict_fails_though_flexible_passes() -> None:
    answers = [Scored(index=place, correct={"strict-match": False, "flexible-extract": True}) for place in range(400)]
    judged = verdict(answers, SMALL)
    assert (judged.result, judged.accuracy) == ("fail", 0.0)
    assert len(judged.reasons) == 1
    assert judged.reasons[0].startswith("strict-match: 0 of 400 right (0.0000, 95% interval 0.0000 to 0.0092)")


@pytest.mark.parametrize(
    ("losses", "wins", "alpha"), [(7, 0, 0.01), (17, 5, 0.01), (25, 10, 0.01), (39, 20, 0.01), (5, 0, 0.05)]
)
def test_known_figures_of_the_paired_test_are_significant(losses: int, wins: int, alpha: float) -> None:
    assert worse_p(losses, wins) < alpha
    assert worse_p(losses - 1, wins) >= alpha


def test_no_discordant_pair_is_no_evidence() -> None:
    assert worse_p(0, 0) == 1.0


@pytest.mark.parametrize(("losses", "result"), [(4, "pass"), (5, "fail")])
def test_five_questions_lost_and_none_won_fail_the_paired_test(losses: int, result: str) -> None:
    gate = replace(SMALL, reference=reference(marked(400, 0), SMALL))
    judged = verdict(marked(400 - losses, losses), gate)
    assert judged.result == result
    assert (judged.filters[0].losses, judged.filters[0].wins) == (losses, 0)


def test_the_violation_of_a_paired_fail_is_the_accuracy_lost() -> None:
    gate = replace(SMALL, reference=reference(marked(400, 0), SMALL))
    assert verdict(marked(392, 8), gate).violation == pytest.approx(8 / 400)


def test_losses_that_wins_make_good_pass() -> None:
    before = reference([*marked(200, 6), *marked(194, 0, first=206)], SMALL)
    after = [*marked(194, 6), *marked(200, 0, first=200)]
    judged = verdict(after, replace(SMALL, reference=before))
    assert (judged.result, judged.filters[0].losses, judged.filters[0].wins) == ("pass", 6, 6)


def test_a_question_the_baseline_did_not_answer_is_no_pair() -> None:
    before = reference([*marked(390, 0), *errors(10, first=390)], SMALL)
    judged = verdict(marked(390, 10), replace(SMALL, reference=before))
    assert (judged.result, judged.filters[0].losses) == ("pass", 0)


def test_without_a_reference_there_is_no_p_value() -> None:
    assert verdict(marked(400, 0), SMALL).filters[0].worse_p is None


@pytest.mark.parametrize(("right", "violation"), [(400, -0.03), (388, 0.0), (384, 0.01), (0, 0.97)])
def test_the_violation_is_positive_exactly_when_the_gate_fails(right: int, violation: float) -> None:
    judged = verdict(marked(right, 400 - right), SMALL)
    assert judged.violation == pytest.approx(violation)
    assert (judged.violation > 0) == (judged.result != "pass")


def test_an_invalid_verdict_is_never_feasible() -> None:
    assert verdict([], SMALL).violation > 0
    assert verdict(marked(399, 0), SMALL).violation > 0


@pytest.mark.parametrize(
    ("correct", "answered", "low", "high"),
    [
        (0, 10, 0.0, 0.30850),
        (10, 10, 0.69150, 1.0),
        (5, 10, 0.18709, 0.81291),
        (15, 20, 0.50895, 0.91343),
    ],
)
def test_intervals_are_those_of_clopper_and_pearson(correct: int, answered: int, low: float, high: float) -> None:
    assert interval(correct, answered) == pytest.approx((low, high), abs=1e-5)


def test_the_interval_of_1319_questions_at_097_is_about_one_point_wide() -> None:
    low, high = interval(1279, 1319)
    assert 0.009 < 0.97 - low < 0.0111
    assert 0.008 < high - 0.97 < 0.0111


@pytest.mark.parametrize(("threshold", "collapsed"), [(0.90, 6), (0.97, 9)])
def test_a_collapse_is_what_no_config_at_the_threshold_would_show(threshold: float, collapsed: int) -> None:
    gate = replace(SMALL, threshold=threshold)
    assert collapse(marked(collapsed, 16 - collapsed), gate) is not None
    assert collapse(marked(collapsed + 1, 15 - collapsed), gate) is None


def test_a_collapse_names_the_filter_and_the_count() -> None:
    reason = collapse(
        [Scored(index=place, correct=dict(zip(BOTH, (True, False), strict=True))) for place in range(16)], SMALL
    )
    assert reason is not None
    assert reason.startswith("flexible-extract: 0 of the first 16 answers right")


def test_errors_are_no_collapse() -> None:
    assert collapse(errors(16), SMALL) is None
    assert collapse([], SMALL) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 97}, "threshold"),
        ({"filters": ()}, "filters"),
        ({"questions": 0}, "questions"),
        ({"smell": 401}, "smell"),
        ({"concurrency": 0}, "concurrency"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"reference": {"strict-match": (True,) * 400}}, "0 results for flexible-extract"),
        ({"reference": reference(marked(399, 0), SMALL)}, "399 results for strict-match"),
    ],
)
def test_a_gate_that_means_nothing_is_refused(change: Mapping[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replace(SMALL, **change)


def test_gates_and_verdicts_survive_json() -> None:
    gate = replace(SMALL, reference=reference([*marked(399, 0), *errors(1, first=399)], SMALL))
    judged = verdict(marked(390, 10), gate)
    gates, verdicts = TypeAdapter(Gate), TypeAdapter(Verdict)
    assert gates.validate_json(gates.dump_json(gate)) == gate
    assert verdicts.validate_json(verdicts.dump_json(judged)) == judged


def test_scored_answers_survive_json() -> None:
    every = TypeAdapter(tuple[Scored, ...])
    scored = (*marked(1, 1), *errors(1, first=2), *cut(1, first=3))
    assert every.validate_json(every.dump_json(scored)) == scored
