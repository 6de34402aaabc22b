"""Asks an exam's questions and judges the answers; how a question travels is the caller's function."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice

from evals.exam import Answer, Exam, Request, TaskError
from evals.gate import Gate, Scored, Verdict
from evals.protocol import EvalProtocol
from evals.verdict import broken, decide, verdict

Ask = Callable[[Request], Answer]
"""Sends one request and waits; trouble on the way is an Answer with an error, an exception is a bug."""


def judge(ask: Ask, gate: Gate, exam: Exam, *, asked: Sequence[Scored] = ()) -> tuple[Verdict, tuple[Scored, ...]]:
    """
    Ask the gate's questions, as few as decide, and return the verdict with every question it rests on.

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
        return decide(scored, gate) is not None

    scored = _ask(partial(_put, ask, gate, exam), gate, asked=asked, upto=gate.questions, stop=stop)
    return verdict(scored, gate, protocol(gate, exam)), scored


def smell(ask: Ask, gate: Gate, exam: Exam) -> tuple[Scored, ...]:
    """
    Ask the first few questions only: a collapse shows in them.

    Raises:
        TaskError: The gate does not fit the exam.
    """
    _check(gate, exam)
    return _ask(partial(_put, ask, gate, exam), gate, asked=(), upto=gate.smell, stop=broken)


def largest(gate: Gate, exam: Exam) -> Request:
    """
    Return the question that takes the most context: what a server must not refuse if the gate is to be asked.

    Raises:
        TaskError: The gate does not fit the exam.
    """
    _check(gate, exam)
    asked = [_capped(request, gate) for request in exam.questions[: gate.questions]]
    return max(asked, key=lambda request: (request.max_tokens, request.characters))


def protocol(gate: Gate, exam: Exam) -> EvalProtocol:
    """Return the protocol under which this gate asks this exam."""
    return EvalProtocol(identity=exam.identity, max_tokens=gate.max_tokens, context=gate.context)


def _check(gate: Gate, exam: Exam) -> None:
    """Refuse a gate that asks for what the exam does not have."""
    if gate.task != exam.source:
        raise TaskError(f"gate {gate.task!r} was given the exam {exam.source!r}")
    if gate.endpoint != exam.identity.endpoint:
        raise TaskError(f"gate {gate.task!r} asks through {gate.endpoint}, its exam is for {exam.identity.endpoint}")
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
    """
    Ask on from `asked` to question `upto`, looking after each answer, in the order of asking, whether to stop.

    Where the verdict may come early, no question is sent before all but the last `concurrency` are looked at, and what
    was sent by then is waited for: as many are asked in vain on every machine.
    """
    scored, waiting = list(asked), iter(range(len(asked), upto))
    ahead = gate.concurrency if gate.early else upto
    with ThreadPoolExecutor(gate.concurrency, thread_name_prefix="gate") as pool:
        sent = deque() if stop(scored) else deque(pool.submit(put, index) for index in islice(waiting, ahead))
        while sent:
            scored.append(sent.popleft().result())
            if stop(scored):
                pool.shutdown(wait=False, cancel_futures=not gate.early)
                break
            sent.extend(pool.submit(put, index) for index in islice(waiting, 1))
    return tuple(scored)


def _put(ask: Ask, gate: Gate, exam: Exam, index: int) -> Scored:
    """Ask one question and mark the answer."""
    answer = ask(_capped(exam.questions[index], gate))
    if answer.error is not None:
        return Scored(
            index=index,
            error=answer.error,
            status=answer.status,
            refused=answer.refused,
            text=answer.text,
            retries=answer.retries,
        )
    return Scored(
        index=index,
        correct=exam.score(index, answer.text),
        truncated=answer.finish_reason == "length" and not exam.complete(index, answer.text),
        text=answer.text,
        retries=answer.retries,
    )


def _capped(request: Request, gate: Gate) -> Request:
    return request if gate.max_tokens is None else replace(request, max_tokens=gate.max_tokens)
