"""The gates of a trial: exams that are loaded once, asked over HTTP within their time, on the way to judgements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from evals import (
    Answer,
    Ask,
    EvalProtocol,
    Exam,
    Gate,
    Request,
    Scored,
    collapse,
    judge,
    largest,
    protocol,
    reference,
    smell,
)
from evals.exam import Endpoint as GateEndpoint
from trials.deadline import Deadline
from trials.engines import Failure
from trials.load.client import RequestFailed, asker, served_context
from trials.outcome import Judgement
from trials.plan import Plan
from trials.raw import RawData
from trials.serving import SETTLE_S, Endpoint, EngineFailed


@dataclass(frozen=True, slots=True)
class Bench:
    """One gate before one engine: what is asked, whom, and what keeps the answers."""

    gate: Gate
    exam: Exam
    endpoint: Endpoint
    plan: Plan
    raw: RawData

    def largest(self) -> Request:
        """Return the request that takes the most context."""
        return largest(self.gate, self.exam)

    def smell(self) -> tuple[Scored, ...]:
        """
        Ask the first few questions.

        Raises:
            EngineFailed: They show a collapse, or take too long.
        """
        deadline = self._deadline("the gate's first questions")
        scored = smell(self._ask(deadline), self.gate, self.exam)
        reason = collapse(scored, self.gate)
        if failure := _late(deadline) or (Failure("wrong", reason) if reason else None):
            self._keep(scored)
            raise EngineFailed(failure)
        return scored

    def judge(self, sniffed: Sequence[Scored]) -> Judgement:
        """
        Ask on from the first questions and judge.

        Raises:
            EngineFailed: The engine died of the questions, or took too long.
        """
        deadline = self._deadline("the gate")
        verdict, scored = judge(self._ask(deadline), self.gate, self.exam, asked=sniffed)
        self._keep(scored)
        if verdict.unanswered and (failure := self.endpoint.failed(within_s=SETTLE_S) or _late(deadline)):
            raise EngineFailed(failure)
        return Judgement(concurrency=self.gate.concurrency, verdict=verdict, correct=reference(scored, self.gate))

    def _deadline(self, what: str) -> Deadline:
        return Deadline(what, self.plan.judge_s(self.gate))

    def _keep(self, scored: Sequence[Scored]) -> None:
        self.raw.answers += ((self.gate, one) for one in scored)

    def _ask(self, deadline: Deadline) -> Ask:
        """Return the gate's way to ask; after the deadline no question is sent any more, and the gate stops asking."""
        endpoint, request_s = self.endpoint, self.plan.deadlines.request_s

        def ask(request: Request) -> Answer:
            if not (left_s := deadline.left_s):
                return Answer(text="", finish_reason=None, completion_tokens=None, error=deadline.reason, refused=True)
            return asker(endpoint.url, endpoint.model, timeout_s=min(left_s, request_s))(request)

        return ask


def exams(plan: Plan) -> tuple[Exam, ...]:
    """
    Return the exam of each gate.

    Raises:
        evals.TaskError: One can't be loaded.
    """
    return tuple(exam(gate.task, gate.endpoint, tuple(gate.data.items())) for gate in plan.gates)


@cache
def exam(task: str, endpoint: GateEndpoint, data: tuple[tuple[str, str], ...]) -> Exam:
    """
    Return an exam, loaded once in a process: building GSM8K's requests takes ten seconds, and a worker judges often.

    Args:
        data: Splits and the files of JSON lines to take for them.

    Raises:
        evals.TaskError: It can't be loaded.
    """
    from evals.harness import load  # noqa: PLC0415 lm-eval takes most of a second to import

    return load(task, endpoint=endpoint, data=dict(data))


def benches(plan: Plan, loaded: Sequence[Exam], endpoint: Endpoint, raw: RawData) -> tuple[Bench, ...]:
    """
    Return the gates as this engine is asked: an answer's cap that was left open follows from what it serves.

    Raises:
        EngineFailed: It does not say what it serves.
    """
    if not plan.gates:
        return ()
    try:
        context = served_context(endpoint.url, endpoint.model, timeout_s=plan.deadlines.request_s)
    except RequestFailed as error:
        raise EngineFailed(Failure("stuck", str(error))) from error
    return tuple(
        Bench(gate.served_with(context), exam, endpoint, plan, raw)
        for gate, exam in zip(plan.gates, loaded, strict=True)
    )


def sniffed(benches: Sequence[Bench]) -> Iterator[tuple[Scored, ...]]:
    """Yield the first answers to each gate; one that differs only in how many it asks at once is not begun again."""
    begun: set[EvalProtocol] = set()
    for bench in benches:
        asked = protocol(bench.gate, bench.exam)
        yield () if asked in begun else bench.smell()
        begun.add(asked)


def _late(deadline: Deadline) -> Failure | None:
    return None if deadline.left_s else Failure("stuck", deadline.reason)
