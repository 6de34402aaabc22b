"""Asking the demo's real exam: who answers how, and what the gate makes of it."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evals import Answer, Gate, Reference, Request, TaskError, collapse, judge, largest, protocol, reference, smell
from evals.exam import Exam

BOTH = ("strict-match", "flexible-extract")
GATE = Gate(task="sums", threshold=0.97, filters=BOTH, questions=400, concurrency=8, endpoint="completions")


def text(request: Request) -> str:
    """Return a prompt of one piece."""
    assert isinstance(request.prompt, str)
    return request.prompt


def said(text: str, finish_reason: str = "stop") -> Answer:
    """Return an answer as an engine gives it."""
    return Answer(text=text, finish_reason=finish_reason, completion_tokens=len(text.split()))


def fault(error: str, *, refused: bool = False) -> Answer:
    """Return what a request in trouble brings."""
    return Answer(text="", finish_reason=None, completion_tokens=None, error=error, refused=refused)


@pytest.fixture
def right(solutions: Mapping[str, str]) -> Callable[[Request], Answer]:
    """Return someone who can count."""
    return lambda request: said(f" {solutions[text(request)]}\n\n")


def test_perfect_answers_pass(sums: Exam, right: Callable[[Request], Answer]) -> None:
    verdict, scored = judge(right, GATE, sums)
    assert (verdict.result, verdict.accuracy, verdict.asked, verdict.reasons) == ("pass", 1.0, 400, ())
    assert [each.index for each in scored] == list(range(400))


def test_wrong_answers_fail_after_as_few_as_can_decide(sums: Exam) -> None:
    verdict, _ = judge(lambda _: said(" 1 + 1 = 2\n#### 2.5"), GATE, sums)
    assert (verdict.result, verdict.asked, verdict.accuracy) == ("fail", 13, 0.0)


def test_garbled_answers_fail_though_every_request_succeeds(sums: Exam) -> None:
    verdict, _ = judge(lambda _: said("�������� the the the"), GATE, sums)
    assert (verdict.result, verdict.unanswered) == ("fail", 0)


def test_the_right_number_in_the_wrong_form_fails_the_strict_filter(sums: Exam, solutions: Mapping[str, str]) -> None:
    verdict, _ = judge(lambda request: said(solutions[text(request)].replace("####", "so it is")), GATE, sums)
    strict, flexible = verdict.filters
    assert (verdict.result, strict.accuracy, flexible.accuracy) == ("fail", 0.0, 1.0)


def test_working_cut_by_the_cap_is_invalid_and_asked_no_further(sums: Exam) -> None:
    verdict, scored = judge(lambda _: said(" 12 + 30 =", "length"), GATE, sums)
    assert (verdict.result, verdict.truncated) == ("invalid", 3)
    assert all(each.truncated for each in scored)


def test_rambling_on_after_the_answer_until_the_cap_is_no_truncation(sums: Exam, solutions: Mapping[str, str]) -> None:
    verdict, _ = judge(lambda request: said(f"{solutions[text(request)]}\n\nWell then", "length"), GATE, sums)
    assert (verdict.result, verdict.truncated) == ("pass", 0)


def test_nobody_answering_is_invalid_and_asked_no_further(sums: Exam) -> None:
    verdict, scored = judge(lambda _: fault("connection refused"), GATE, sums)
    assert (verdict.result, len(scored)) == ("invalid", 3)
    assert "connection refused" in verdict.reasons[0]


def test_a_refused_request_ends_the_asking(sums: Exam, right: Callable[[Request], Answer]) -> None:
    sixth = sums.questions[5]
    refusal = fault("HTTP 400: context too long", refused=True)
    verdict, scored = judge(lambda request: refusal if request == sixth else right(request), GATE, sums)
    assert (verdict.result, len(scored)) == ("invalid", 6)


def test_a_bug_in_the_caller_is_not_swallowed(sums: Exam) -> None:
    def ask(_: Request) -> Answer:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        judge(ask, GATE, sums)


def test_the_decision_does_not_depend_on_who_answers_first(sums: Exam, right: Callable[[Request], Answer]) -> None:
    """Wrong answers are long, and late: counted as they arrive they would look rare."""
    lazy = set(sums.questions[::20])

    def ask(request: Request, *, wait_s: float = 0.0) -> Answer:
        time.sleep(wait_s if request in lazy else 0.0)
        return said("#### -1") if request in lazy else right(request)

    at_once = judge(ask, GATE, sums)
    late = judge(lambda request: ask(request, wait_s=0.01), GATE, sums)
    assert late == at_once
    assert (late[0].result, late[0].asked) == ("fail", 241)


def test_no_more_requests_are_in_flight_than_the_gate_says(sums: Exam, right: Callable[[Request], Answer]) -> None:
    lock, flying, most = threading.Lock(), 0, 0

    def ask(request: Request) -> Answer:
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        time.sleep(0.001)
        with lock:
            flying -= 1
        return right(request)

    judge(ask, replace(GATE, questions=64, concurrency=4), sums)
    assert 1 <= most <= 4


def test_smell_asks_the_first_questions_and_judge_does_not_ask_them_again(
    sums: Exam, right: Callable[[Request], Answer]
) -> None:
    prompts: list[str] = []

    def ask(request: Request) -> Answer:
        prompts.append(text(request))
        return right(request)

    first = smell(ask, GATE, sums)
    assert set(prompts) == {request.prompt for request in sums.questions[:16]}
    verdict, scored = judge(ask, GATE, sums, asked=first)
    assert (verdict.result, len(prompts)) == ("pass", 400)
    assert scored[:16] == first


def test_a_short_run_asks_the_very_requests_that_a_full_run_begins_with(
    sums: Exam, right: Callable[[Request], Answer]
) -> None:
    asked: list[Request] = []

    def ask(request: Request) -> Answer:
        asked.append(request)
        return right(request)

    judge(ask, replace(GATE, questions=30, concurrency=1), sums)
    assert asked == list(sums.questions[:30])


def test_what_smell_found_broken_is_not_asked_again(sums: Exam) -> None:
    first = smell(lambda _: fault("connection refused"), GATE, sums)

    def ask(_: Request) -> Answer:
        raise AssertionError

    verdict, scored = judge(ask, GATE, sums, asked=first)
    assert (verdict.result, scored) == ("invalid", first)


def test_a_collapsed_model_shows_in_the_smell_test(sums: Exam) -> None:
    first = smell(lambda _: said("!!!!!!!!"), GATE, sums)
    assert len(first) == 16
    assert collapse(first, GATE) is not None


def test_what_was_asked_before_must_be_the_first_questions(sums: Exam, right: Callable[[Request], Answer]) -> None:
    first = smell(right, GATE, sums)
    with pytest.raises(ValueError, match="first 15"):
        judge(right, GATE, sums, asked=first[1:])


def test_a_few_flipped_answers_pass_the_threshold_but_not_the_baseline(
    sums: Exam, right: Callable[[Request], Answer]
) -> None:
    _, baseline = judge(right, GATE, sums)
    flipped = set(sums.questions[::60])
    gate = replace(GATE, reference=Reference(protocol=protocol(GATE, sums), correct=reference(baseline, GATE)))
    verdict, _ = judge(lambda request: said("#### -1") if request in flipped else right(request), gate, sums)
    assert (verdict.result, verdict.accuracy) == ("fail", 393 / 400)
    assert verdict.violation == pytest.approx(7 / 400)
    assert "7 questions lost and 0 won" in verdict.reasons[0]


def test_the_gate_may_raise_the_cap(sums: Exam, right: Callable[[Request], Answer]) -> None:
    caps: set[int] = set()

    def ask(request: Request) -> Answer:
        caps.add(request.max_tokens)
        return right(request)

    smell(ask, replace(GATE, max_tokens=512), sums)
    assert caps == {512}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "gsm8k"}, "was given the exam 'sums'"),
        ({"questions": 401}, "questions is 401, the task has 400"),
        ({"endpoint": "chat"}, "asks through chat, its exam is for completions"),
        ({"filters": ("exact",)}, "no filter 'exact'; it has strict-match, flexible-extract"),
    ],
)
def test_a_gate_of_another_exam_is_refused(sums: Exam, change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        judge(lambda _: said(""), replace(GATE, **change), sums)


EARLY = replace(GATE, threshold=0.9, early=True, concurrency=4)


def test_a_pass_in_search_takes_a_part_of_the_questions(sums: Exam, right: Callable[[Request], Answer]) -> None:
    verdict, scored = judge(right, EARLY, sums)
    assert (verdict.result, verdict.reached, verdict.asked) == ("pass", "sequential", len(scored))
    assert len(scored) < 60


def test_little_more_is_sent_than_was_needed(sums: Exam, right: Callable[[Request], Answer]) -> None:
    """Each of the questions in flight when the verdict is reached is one too many."""
    prompts: list[str] = []

    def ask(request: Request) -> Answer:
        prompts.append(text(request))
        time.sleep(0.001)
        return right(request)

    _, scored = judge(ask, EARLY, sums)
    assert len(scored) <= len(prompts) <= len(scored) + EARLY.concurrency


def test_an_early_verdict_does_not_depend_on_who_answers_first(sums: Exam, right: Callable[[Request], Answer]) -> None:
    """Wrong answers are long: counted as they arrive, the first would all be right."""
    lazy = set(sums.questions[::4])

    def ask(request: Request, *, wait_s: float = 0.0) -> Answer:
        time.sleep(wait_s if request in lazy else 0.0)
        return said("#### -1") if request in lazy else right(request)

    at_once = judge(ask, EARLY, sums)
    late = judge(lambda request: ask(request, wait_s=0.02), EARLY, sums)
    assert late == at_once
    assert late[0].result == "fail"


def test_a_verdict_carries_its_protocol(sums: Exam, right: Callable[[Request], Answer]) -> None:
    gate = replace(EARLY, max_tokens=128, context=4096)
    verdict, _ = judge(right, gate, sums)
    assert verdict.protocol == protocol(gate, sums)
    assert (verdict.protocol.identity, verdict.protocol.max_tokens, verdict.protocol.context) == (
        sums.identity,
        128,
        4096,
    )


def test_answers_without_a_word_are_no_wrong_answers(sums: Exam) -> None:
    verdict, _ = judge(lambda _: said("  \n"), GATE, sums)
    assert (verdict.result, verdict.empty) == ("invalid", 3)


def test_the_largest_question_has_the_longest_prompt_and_the_gates_cap(sums: Exam) -> None:
    request = largest(replace(GATE, max_tokens=12288), sums)
    assert request.max_tokens == 12288
    assert len(text(request)) == max(len(text(each)) for each in sums.questions)


def test_importing_evals_does_not_wait_for_lm_eval() -> None:
    code = "import sys, evals; print('lm_eval' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
