"""Asks an exam's questions and judges the answers; how a question travels is the caller's function."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from evals.exam import Answer, Exam, Request, TaskError
from evals.gate import Gate, Scored, Verdict, verdict
from evals.sequential import broken, decided

Ask = Callable[[Request], Answer]
"""Sends one request and waits; trouble on the way is an Answer with an error, an exception is a bug."""


def judge(ask: Ask, gate: Gate, exam: Exam, *, asked: Sequence[Scored] = ()) -> tuple[Verdict, tuple[Scored, ...]]:
    """Ask the gate's questions, as few as a fail needs, and return the verdict with every question it rests on.

    `ask` is called from `gate.concurrency` threads at once. `asked` are the exam's first questions where they were
    asked already, as `smell` returns them.

    Raises:
        TaskError: The gate does not fit the exam.
        ValueError: `asked` is no prefix of the exam.
    """
    _check(gate, exam)
    if [each.index for each in asked] != list(range(len(asked))):
        raise ValueError(f"gate {gate.task!r}: asked holds other questions than the first {len(asked)}, in their order")

    def stop(scored: Sequence[Scored]) -> bool:
        return broken(scored) or decided(scored, gate)

    scored = _ask(partial(_put, ask, gate, exam), gate, asked=asked, upto=gate.questions, stop=stop)
    return verdict(scored, gate), scored


def smell(ask: Ask, gate: Gate, exam: Exam) -> tuple[Scored, ...]:
    """Ask the first few questions only: a collapse shows in them.

    Raises:
        TaskError: The gate does not fit the exam.
    """
    _check(gate, exam)
    return _ask(partial(_put, ask, gate, exam), gate, asked=(), upto=gate.smell, stop=broken)


def _check(gate: Gate, exam: Exam) -> None:
    """Refuse a gate that asks for what the exam does not have."""
    if gate.task != exam.identity.task:
        raise TaskError(f"gate {gate.task!r} was given the exam {exam.identity.task!r}")
    if gate.questions > len(exam.questions):
        raise TaskError(f"gate {gate.task!r}: questions is {gate.questions}, the task has {len(exam.questions)}")
    if missing := set(gate.filters) - set(exam.filters):
        raise TaskError(
            f"gate {gate.task!r}: the task has no filter {min(missing)!r}; it has {', '.join(exam.filters)}"
        )


def _ask(
    put: Callable[[int], Scored],
    gate: Gate,
    *,
    asked: Sequence[Scored],
    upto: int,
    stop: Callable[[Sequence[Scored]], bool],
) -> tuple[Scored, ...]:
    """Ask on from `asked` to question `upto`, looking after each answer, in the order of asking, whether to stop."""
    scored = list(asked)
    if stop(scored):
        return tuple(scored)
    with ThreadPoolExecutor(gate.concurrency, thread_name_prefix="gate") as pool:
        for each in pool.map(put, range(len(asked), upto)):
            scored.append(each)
            if stop(scored):
                pool.shutdown(wait=False, cancel_futures=True)
                break
    return tuple(scored)


def _put(ask: Ask, gate: Gate, exam: Exam, index: int) -> Scored:
    """Ask one question and mark the answer."""
    request = exam.questions[index]
    answer = ask(request if gate.max_tokens is None else replace(request, max_tokens=gate.max_tokens))
    if answer.error is not None:
        return Scored(index=index, error=answer.error, refused=answer.refused, text=answer.text)
    return Scored(
        index=index,
        correct=exam.score(index, answer.text),
        truncated=answer.finish_reason == "length" and not exam.complete(index, answer.text),
        text=answer.text,
    )
