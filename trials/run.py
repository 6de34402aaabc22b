"""One trial, as a straight line: start, preflight, smell, load, judge, stop."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals import Answer, Ask, Exam, Gate, Request, Scored, Verdict, collapse, judge, reference, smell
from evals.harness import load as load_exam
from trials import outcome as outcomes
from trials.data import DataMissing
from trials.deadline import Deadline
from trials.engines import EngineNotFound, Failure
from trials.load import closed_loop, metrics
from trials.load.client import RequestFailed, asker, complete
from trials.load.closed_loop import Point
from trials.load.metrics import PointMetrics
from trials.load.workload import prompts
from trials.outcome import Infeasible, Lost, Measured, Outcome
from trials.plan import Plan
from trials.raw import RawData
from trials.serving import SETTLE_S, Endpoint, EngineFailed, serving


@dataclass(slots=True)
class Watch:
    """A stopwatch with named laps; `seconds` sums the laps of one name."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last_s: float = field(default_factory=time.perf_counter)

    def lap(self, name: str) -> None:
        """End a lap: the time since the last one belongs to `name`."""
        now_s = time.perf_counter()
        self.seconds[name] = round(self.seconds.get(name, 0.0) + now_s - self._last_s, 3)
        self._last_s = now_s


def run(plan: Plan) -> Outcome:
    """
    Run one trial and keep its raw data and outcome in its folder; whatever the engine does is an outcome, not an error.

    Raises:
        evals.TaskError: If the gate's task can't be loaded, or does not fit the gate.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    watch, raw = Watch(), RawData()
    try:
        outcome: Outcome = _measure(plan, watch, raw)
    except EngineFailed as error:
        watch.lap("failed")
        outcome = _of_failure(error.failure, watch)
    except (DataMissing, EngineNotFound) as error:  # a node that lacks what the driver's has
        outcome = Lost(reason=str(error), seconds=watch.seconds)
    raw.keep(plan.folder)
    outcomes.write(plan.folder / "outcome.json", outcome)
    return outcome


def _measure(plan: Plan, watch: Watch, raw: RawData) -> Measured:
    exam = load_exam(plan.gate.task) if plan.gate else None
    watch.lap("prepare")
    points: list[PointMetrics] = []
    judged: list[tuple[Verdict, Sequence[Scored]]] = []
    for launch, serve, ladder in plan.launches():
        with serving(launch) as endpoint:
            watch.lap("start")
            _preflight(endpoint, plan, exam)
            sniffed = _smell(endpoint, plan, exam, raw)
            watch.lap("smell")
            points += [_load(endpoint, point, serve.gpus, raw) for point in plan.points(ladder)]
            watch.lap("load")
            judged += _judge(endpoint, plan, exam, sniffed, raw)
            watch.lap("judge")
        watch.lap("stop")
    verdict, scored = max(judged, key=lambda pair: pair[0].violation, default=(None, ()))
    correct = reference(scored, plan.gate) if plan.gate else {}
    return Measured(points=tuple(points), verdict=verdict, correct=correct, seconds=watch.seconds)


def _preflight(endpoint: Endpoint, plan: Plan, exam: Exam | None) -> None:
    """Ask once for the most that the workload, and that the gate, will ask for: each must be answered in full."""
    workload = plan.recipe.workload
    budgets = [(next(prompts(workload.input_tokens, f"{plan.seed}/preflight")), workload.output_tokens)]
    if plan.gate and exam:
        longest = max(exam.questions[: plan.gate.questions], key=lambda question: len(question.prompt))
        budgets.append((longest.prompt, plan.gate.max_tokens or longest.max_tokens))
    for prompt, budget in budgets:
        try:
            got = complete(
                endpoint.url,
                endpoint.model,
                prompt,
                max_tokens=budget,
                timeout_s=plan.deadlines.request_s,
                ignore_eos=True,
            )
        except RequestFailed as error:
            raise EngineFailed(Failure("refused" if error.refused else "stuck", f"preflight: {error}")) from error
        if got.completion_tokens != budget:
            message = f"preflight: asked for {budget} tokens after {got.prompt_tokens}, got {got.completion_tokens}"
            raise EngineFailed(Failure("refused", f"{message}: is the context of a slot long enough?"))


def _smell(endpoint: Endpoint, plan: Plan, exam: Exam | None, raw: RawData) -> tuple[Scored, ...]:
    """Ask the first few questions of the gate; garbage ends the trial before any load."""
    if not (plan.gate and exam):
        return ()
    deadline = Deadline("the gate's first questions", plan.judge_s(plan.gate))
    scored = smell(_asker(endpoint, plan, deadline), plan.gate, exam)
    if failure := _late(deadline) or _collapsed(scored, plan.gate):
        raw.answers += scored
        raise EngineFailed(failure)
    return scored


def _load(endpoint: Endpoint, point: Point, gpus: int, raw: RawData) -> PointMetrics:
    """Measure one point; a request that failed, or was answered short, ends the trial."""
    loaded = closed_loop.run(endpoint.url, endpoint.model, point)
    raw.loads.append((point, loaded))
    for timing in loaded.timings:
        if timing.error:
            message = f"under load at concurrency {point.concurrency}: {timing.error}"
            raise EngineFailed(Failure("stuck" if timing.timed_out else "wrong", message))
        if timing.completion_tokens != point.output_tokens:
            message = f"answered {timing.completion_tokens} of {point.output_tokens} tokens asked with ignore_eos"
            raise EngineFailed(Failure("wrong", f"under load at concurrency {point.concurrency}: {message}"))
    return metrics.summarise(loaded.windows(), concurrency=point.concurrency, gpus=gpus)


def _judge(
    endpoint: Endpoint, plan: Plan, exam: Exam | None, sniffed: Sequence[Scored], raw: RawData
) -> Iterator[tuple[Verdict, Sequence[Scored]]]:
    """Yield the gate's verdict, if there is a gate; an engine that died of the questions has failed otherwise."""
    if not (plan.gate and exam):
        return
    deadline = Deadline("the gate", plan.judge_s(plan.gate))
    verdict, scored = judge(_asker(endpoint, plan, deadline), plan.gate, exam, asked=sniffed)
    raw.answers += scored
    if verdict.unanswered and (failure := endpoint.failed(within_s=SETTLE_S) or _late(deadline)):
        raise EngineFailed(failure)
    yield verdict, scored


def _asker(endpoint: Endpoint, plan: Plan, deadline: Deadline) -> Ask:
    """Return the gate's way to ask; after the deadline no question is sent any more, and the gate stops asking."""

    def ask(request: Request) -> Answer:
        if not (left_s := deadline.left_s):
            return Answer(text="", finish_reason=None, completion_tokens=None, error=deadline.reason, refused=True)
        timeout_s = min(left_s, plan.deadlines.request_s)
        return asker(endpoint.url, endpoint.model, timeout_s=timeout_s)(request)

    return ask


def _collapsed(scored: Sequence[Scored], gate: Gate) -> Failure | None:
    reason = collapse(scored, gate)
    return Failure("wrong", reason) if reason else None


def _late(deadline: Deadline) -> Failure | None:
    return None if deadline.left_s else Failure("stuck", deadline.reason)


def _of_failure(failure: Failure, watch: Watch) -> Infeasible | Lost:
    if failure.kind == "world":
        return Lost(reason=failure.reason, seconds=watch.seconds)
    return Infeasible(failure=failure.kind, reason=failure.reason, seconds=watch.seconds)
