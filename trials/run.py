"""One trial, as a straight line: start, preflight, smell, load, judge, stop."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from evals import Exam, Scored, Verdict, collapse, judge, reference, smell
from evals.harness import load as load_exam
from trials import outcome as outcomes
from trials.engines import Failure
from trials.files import write_whole
from trials.load import closed_loop, metrics, record
from trials.load.client import RequestFailed, asker, complete
from trials.load.closed_loop import Loaded, Point
from trials.load.workload import prompts
from trials.outcome import Infeasible, Lost, Measured, Outcome
from trials.plan import Plan
from trials.serving import Endpoint, EngineFailed, serving


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
    """Run one trial and keep its outcome and raw data in its folder; engine trouble is an outcome, not an error."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    watch = Watch()
    try:
        outcome: Outcome = _measure(plan, watch)
    except EngineFailed as error:
        outcome = _of_failure(error.failure, watch)
    outcomes.write(plan.folder / "outcome.json", outcome)
    return outcome


def _measure(plan: Plan, watch: Watch) -> Measured:
    exam = load_exam(plan.gate.task) if plan.gate else None
    watch.lap("prepare")
    loads: list[tuple[Point, Loaded, int]] = []
    judged: list[tuple[Verdict, Sequence[Scored]]] = []
    for launch, serve, ladder in plan.launches():
        with serving(launch) as endpoint:
            watch.lap("start")
            _preflight(endpoint, plan, exam)
            sniffed = _smell(endpoint, plan, exam)
            watch.lap("smell")
            loads += [(point, _load(endpoint, point), serve.gpus) for point in plan.points(ladder)]
            watch.lap("load")
            if plan.gate and exam:
                judged.append(
                    judge(
                        asker(endpoint.url, endpoint.model, timeout_s=plan.deadlines.request_s),
                        plan.gate,
                        exam,
                        asked=sniffed,
                    )
                )
            watch.lap("judge")
        watch.lap("stop")
    return _kept(plan, loads, judged, watch)


def _preflight(endpoint: Endpoint, plan: Plan, exam: Exam | None) -> None:
    """Ask once for the largest budget that the workload and the gate will ask for: it must be answered in full."""
    workload = plan.recipe.workload
    prompt = next(prompts(workload.input_tokens, f"{plan.seed}/preflight"))
    questions = exam.questions if exam else ()
    prompt = max([prompt, *(question.prompt for question in questions)], key=len)
    budget = max([workload.output_tokens, *(question.max_tokens for question in questions)])
    try:
        got = complete(
            endpoint.url, endpoint.model, prompt, max_tokens=budget, timeout_s=plan.deadlines.request_s, ignore_eos=True
        )
    except RequestFailed as error:
        raise EngineFailed(Failure("refused" if error.refused else "stuck", f"preflight: {error}")) from error
    if got.completion_tokens != budget:
        message = f"preflight: asked for {budget} tokens after {got.prompt_tokens}, got {got.completion_tokens}"
        raise EngineFailed(Failure("refused", f"{message}: is the context of a slot long enough?"))


def _smell(endpoint: Endpoint, plan: Plan, exam: Exam | None) -> tuple[Scored, ...]:
    """Ask the first few questions of the gate; garbage ends the trial before any load."""
    if not (plan.gate and exam):
        return ()
    scored = smell(asker(endpoint.url, endpoint.model, timeout_s=plan.deadlines.request_s), plan.gate, exam)
    if reason := collapse(scored, plan.gate):
        _keep_answers(plan, scored)
        raise EngineFailed(Failure("wrong", reason))
    return scored


def _load(endpoint: Endpoint, point: Point) -> Loaded:
    loaded = closed_loop.run(endpoint.url, endpoint.model, point)
    for timing in loaded.timings:
        if timing.error:
            message = f"under load at concurrency {point.concurrency}: {timing.error}"
            raise EngineFailed(Failure("stuck" if timing.timed_out else "wrong", message))
        if timing.completion_tokens != point.output_tokens:
            message = f"answered {timing.completion_tokens} of {point.output_tokens} tokens asked with ignore_eos"
            raise EngineFailed(Failure("wrong", f"under load at concurrency {point.concurrency}: {message}"))
    return loaded


def _kept(
    plan: Plan,
    loads: Sequence[tuple[Point, Loaded, int]],
    judged: Sequence[tuple[Verdict, Sequence[Scored]]],
    watch: Watch,
) -> Measured:
    """Write the raw data and return the outcome; of several launches' verdicts the worst one counts."""
    record.write(
        plan.folder / "requests.parquet",
        ((point.concurrency, window, timing) for point, loaded, _ in loads for window, timing in loaded.rows()),
    )
    verdict, scored = max(judged, key=lambda pair: pair[0].violation, default=(None, ()))
    _keep_answers(plan, scored)
    return Measured(
        points=tuple(
            metrics.summarise(loaded.windows(), concurrency=point.concurrency, gpus=gpus)
            for point, loaded, gpus in loads
        ),
        verdict=verdict,
        correct=reference(scored, plan.gate) if plan.gate else {},
        seconds=watch.seconds,
    )


def _keep_answers(plan: Plan, scored: Sequence[Scored]) -> None:
    lines = (json.dumps(asdict(one), ensure_ascii=False) for one in scored)
    write_whole(plan.folder / "answers.jsonl", "".join(f"{line}\n" for line in lines))


def _of_failure(failure: Failure, watch: Watch) -> Infeasible | Lost:
    if failure.kind == "world":
        return Lost(reason=failure.reason, seconds=watch.seconds)
    return Infeasible(failure=failure.kind, reason=failure.reason, seconds=watch.seconds)
