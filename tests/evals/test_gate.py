"""When an accuracy passes, fails or says nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from evals.exam import Identity
from evals.gate import Gate, Reference, Scored, Verdict, interval
from evals.protocol import EvalProtocol
from evals.verdict import collapse, decide, reference
from evals.verdict import verdict as judged_by

BOTH = ("strict-match", "flexible-extract")
GSM8K = Gate(task="gsm8k", threshold=0.90, filters=BOTH, questions=1319)
SMALL = Gate(task="sums", threshold=0.97, filters=BOTH, questions=400)


PROTOCOL = EvalProtocol(
    identity=Identity(
        task="sums",
        evaluator="lm-eval 0.4.13",
        endpoint="chat",
        task_sha256="a" * 64,
        questions_sha256="b" * 64,
        questions=400,
        order="gate-order-1",
        fewshot_seed=1234,
    ),
    max_tokens=64,
)


def verdict(scored: Sequence[Scored], gate: Gate) -> Verdict:
    """Judge under the one protocol of these tests."""
    return judged_by(scored, gate, PROTOCOL)


def held_against(scored: Sequence[Scored]) -> Reference:
    """Return these answers as the baseline's."""
    return Reference(protocol=PROTOCOL, correct=reference(scored, SMALL))


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
    judged = verdict(unclear, SMALL)
    assert judged.result == "invalid"


def test_strict_fails_though_flexible_passes() -> None:
    marks = {"strict-match": False, "flexible-extract": True}
    answers = [Scored(index=place, correct=marks, text="an answer") for place in range(400)]
    judged = verdict(answers, SMALL)
    assert (judged.result, judged.accuracy) == ("fail", 0.0)
    assert len(judged.reasons) == 1
    assert judged.reasons[0].startswith("strict-match: 0 of 400 right (0.0000, 95% interval 0.0000 to 0.0092)")


@pytest.mark.parametrize(("losses", "result"), [(4, "pass"), (5, "fail")])
def test_five_questions_lost_and_none_won_fail_the_paired_test(losses: int, result: str) -> None:
    gate = replace(SMALL, reference=held_against(marked(400, 0)))
    judged = verdict(marked(400 - losses, losses), gate)
    assert judged.result == result
    assert (judged.filters[0].losses, judged.filters[0].wins) == (losses, 0)


def test_the_violation_of_a_paired_fail_is_the_accuracy_lost() -> None:
    gate = replace(SMALL, reference=held_against(marked(400, 0)))
    assert verdict(marked(392, 8), gate).violation == pytest.approx(8 / 400)


def test_losses_that_wins_make_good_pass() -> None:
    before = held_against([*marked(200, 6), *marked(194, 0, first=206)])
    after = [*marked(194, 6), *marked(200, 0, first=200)]
    judged = verdict(after, replace(SMALL, reference=before))
    assert (judged.result, judged.filters[0].losses, judged.filters[0].wins) == ("pass", 6, 6)


def test_a_question_the_baseline_did_not_answer_is_no_pair() -> None:
    before = held_against([*marked(390, 0), *errors(10, first=390)])
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
        ({"alpha": 0.0}, "alpha"),
        ({"margin": 1.0}, "margin"),
        ({"early": True, "reference": held_against(marked(400, 0))}, "early"),
        (
            {"reference": Reference(protocol=PROTOCOL, correct={"strict-match": (True,) * 400})},
            "0 results for flexible",
        ),
        ({"reference": held_against(marked(399, 0))}, "399 results for strict-match"),
    ],
)
def test_a_gate_that_means_nothing_is_refused(change: Mapping[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replace(SMALL, **change)


def test_gates_and_verdicts_survive_json() -> None:
    gate = replace(SMALL, reference=held_against([*marked(399, 0), *errors(1, first=399)]))
    judged = verdict(marked(390, 10), gate)
    gates, verdicts = TypeAdapter(Gate), TypeAdapter(Verdict)
    assert gates.validate_json(gates.dump_json(gate)) == gate
    assert verdicts.validate_json(verdicts.dump_json(judged)) == judged


def test_scored_answers_survive_json() -> None:
    every = TypeAdapter(tuple[Scored, ...])
    scored = (*marked(1, 1), *errors(1, first=2), *cut(1, first=3))
    assert every.validate_json(every.dump_json(scored)) == scored


EARLY = replace(GSM8K, early=True)


def test_a_clear_pass_is_said_early_and_says_how_it_was_reached() -> None:
    answers = marked(100, 0)
    asked = next(count for count in range(101) if decide(answers[:count], EARLY))
    judged = verdict(answers[:asked], EARLY)
    assert (judged.result, judged.reached, judged.asked, judged.total, judged.alpha) == (
        "pass",
        "sequential",
        asked,
        1319,
        0.01,
    )
    assert judged.e_value is not None
    assert judged.e_value >= 100
    assert (
        judged.how == f"{asked} of 1319 questions asked; e-value {judged.e_value:.3g}, at least 1/alpha with alpha 0.01"
    )


def test_a_clear_fail_is_said_early() -> None:
    judged = verdict(marked(0, 3), EARLY)
    assert (judged.result, judged.reached, judged.asked) == ("fail", "sequential", 3)
    assert judged.violation > 0


def test_a_full_set_is_asked_in_full_however_clear() -> None:
    assert decide(marked(1318, 0), GSM8K) is None
    assert verdict(marked(1319, 0), GSM8K).how == "all 1319 of 1319 questions asked"


def test_a_pass_that_nothing_can_turn_is_certain() -> None:
    judged = verdict(marked(388, 0), replace(SMALL, early=True, alpha=1e-12))
    assert (judged.result, judged.reached, judged.e_value, judged.alpha) == ("pass", "certain", None, None)
    assert judged.how == "388 of 400 questions asked; no further answer could turn it"


def test_one_filter_is_enough_to_keep_a_pass_back() -> None:
    marks = {"strict-match": True, "flexible-extract": False}
    strict = [Scored(index=place, correct=marks, text="an answer") for place in range(5)]
    assert decide([*strict, *marked(90, 0, first=5)], EARLY) is None
    assert decide(marked(95, 0), EARLY) is not None


def test_a_pass_waits_until_few_enough_answers_are_unclear() -> None:
    one_error = [*marked(100, 0), *errors(1, first=100)]
    assert decide(one_error, EARLY) is None
    decision = decide([*one_error, *marked(99, 0, first=101)], EARLY)
    assert decision is not None
    assert decision.result == "pass"


def test_unclear_answers_speak_for_neither_side() -> None:
    before = marked(60, 0)
    assert decide([*before, *cut(6, first=60)], EARLY) is None


def test_what_cannot_become_valid_any_more_is_asked_no_further() -> None:
    scored = [*marked(60, 0), *errors(7, first=60)]
    assert decide(scored[:-1], EARLY) is None
    judged = verdict(scored, EARLY)
    assert (judged.result, judged.reached) == ("invalid", "certain")


def test_what_came_back_instead_of_an_answer_is_counted_apart() -> None:
    scored = [
        *marked(396, 0),
        Scored(index=396, error="HTTP 503", status=503, retries=2),
        Scored(index=397, error="timed out"),
        Scored(index=398, correct=dict.fromkeys(BOTH, False), text=" \n"),
        *cut(1, first=399),
    ]
    judged = verdict(scored, SMALL)
    counts = (judged.http_errors, judged.unanswered, judged.empty, judged.truncated, judged.retries)
    assert (judged.result, counts) == ("invalid", (1, 1, 1, 1, 2))
    assert "1 http error, 1 unanswered, 1 empty, 1 truncated" in judged.reasons[0]


def test_unclear_answers_that_could_turn_a_verdict_make_it_invalid() -> None:
    close = [*marked(387, 12), *errors(1, first=399)]
    assert verdict(close, SMALL).result == "invalid"


def test_answers_under_another_protocol_are_not_compared() -> None:
    other = replace(PROTOCOL, max_tokens=12288)
    gate = replace(SMALL, reference=Reference(protocol=other, correct=reference(marked(400, 0), SMALL)))
    judged = verdict(marked(400, 0), gate)
    assert judged.result == "invalid"
    assert judged.violation > 0
    assert judged.reasons == (
        "sums: cannot be compared with the baseline, whose protocol differs: max_tokens is 64, not 12288",
    )


@pytest.mark.parametrize(("losses", "result"), [(0, "pass"), (6, "pass"), (7, "fail")])
def test_with_a_margin_a_pass_must_be_shown(losses: int, result: str) -> None:
    gate = replace(SMALL, margin=0.03, reference=held_against(marked(400, 0)))
    judged = verdict(marked(400 - losses, losses), gate)
    assert judged.result == result
    assert (judged.violation > 0) == (result == "fail")


def test_a_pass_that_is_not_shown_says_what_the_test_can_show() -> None:
    gate = replace(SMALL, margin=0.01, reference=held_against(marked(400, 0)))
    (reason, _) = verdict(marked(396, 4), gate).reasons
    assert reason.startswith("strict-match: 4 questions lost and 0 won against the baseline: at most 2.")
    assert "with probability" in reason


@pytest.mark.parametrize(
    ("given", "context", "max_tokens"), [(None, 9472, 5376), (512, 9472, 512), (None, None, None), (512, None, 512)]
)
def test_the_cap_comes_from_the_gate_or_from_what_is_served(
    given: int | None, context: int | None, max_tokens: int | None
) -> None:
    gate = replace(SMALL, max_tokens=given).served_with(context)
    assert (gate.max_tokens, gate.context) == (max_tokens, context)
