"""One trial, as a straight line: start, preflight, smell, load, judge, stop."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Literal

from search_spaces import Serve
from trials import machine
from trials import outcome as outcomes
from trials.data import DataMissing
from trials.emulation import spent_s
from trials.engines import EngineNotFound, Failure, engine
from trials.engines.asked import Mismatch, mismatches
from trials.files import write_whole
from trials.gates import Bench, benches, exams, sniffed
from trials.load.client import Prompt, RequestFailed, complete
from trials.load.generator import GeneratorFailed
from trials.load.guards import Fault
from trials.load.measure import Loaded, Server, measure
from trials.load.metrics import PointMetrics
from trials.load.point import Point
from trials.load.workload import largest
from trials.outcome import Infeasible, Judgement, Lost, Measured, Outcome
from trials.plan import Plan
from trials.raw import RawData
from trials.serving import Endpoint, EngineFailed, serving
from trials.supervisor import LOG
from trials.telemetry import Telemetry, telemetry, visible


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
        evals.TaskError: If a gate's task can't be loaded, or does not fit the gate.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    machine.note(plan.folder, gpus=plan.emulation is None)
    watch, raw = Watch(), RawData()
    try:
        outcome: Outcome = _measure(plan, watch, raw)
    except EngineFailed as error:
        watch.lap("failed")
        outcome = _of_failure(error.failure, watch)
    except (DataMissing, EngineNotFound, GeneratorFailed) as error:  # a node that lacks what the driver's has
        outcome = Lost(reason=str(error), seconds=watch.seconds)
    if plan.emulation:
        outcome = replace(outcome, seconds={"virtual": spent_s(plan.folder)})
    raw.keep(plan.folder)
    outcomes.write(plan.folder / "outcome.json", outcome)
    return outcome


def _measure(plan: Plan, watch: Watch, raw: RawData) -> Measured:
    loaded = exams(plan)
    watch.lap("prepare")
    points: list[PointMetrics] = []
    judged: list[Judgement] = []
    ignored: dict[Mismatch, None] = {}
    for way in plan.launches():
        with serving(way.launch) as endpoint, _watching(way.serve) as gpus:
            watch.lap("start")
            ignored |= dict.fromkeys(_note_what_runs(endpoint))
            gates = benches(plan, loaded, endpoint, raw) if way.judged else ()
            _preflight(endpoint, plan, gates)
            begun = tuple(sniffed(gates))
            watch.lap("smell")
            points += [_load(endpoint, point, way.serve, gpus, raw) for point in plan.points(way.ladder)]
            watch.lap("load")
            judged += [gate.judge(answers) for gate, answers in zip(gates, begun, strict=True)]
            watch.lap("judge")
        watch.lap("stop")
    return Measured(points=tuple(points), judged=tuple(judged), seconds=watch.seconds, mismatches=tuple(ignored))


def _note_what_runs(endpoint: Endpoint) -> tuple[Mismatch, ...]:
    """Keep what the engine says that it runs beside its log, and return what it was asked and does not do."""
    launch, said = endpoint.launch, endpoint.said()
    adapter = engine(launch.engine)
    if effective := adapter.effective(said):
        write_whole(launch.folder / "effective.json", json.dumps(dict(effective), indent=2) + "\n")
    return mismatches(adapter, launch.args, launch.env, said)


def _preflight(endpoint: Endpoint, plan: Plan, gates: Sequence[Bench]) -> None:
    """Ask once for the most that the workload, and that each gate, will ask for: all must be answered in full."""
    for prompt, budget in _budgets(plan, gates):
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


def _budgets(plan: Plan, gates: Sequence[Bench]) -> Iterator[tuple[Prompt, int]]:
    """Yield prompts with the tokens to ask for; two gates that differ in how many they ask at once need one."""
    most = largest(plan.recipe.workload, seed=str(plan.seed), file=plan.workload_file())
    yield most.prompt, most.output_tokens
    yield from dict.fromkeys((request.prompt, request.max_tokens) for request in (gate.largest() for gate in gates))


def _load(endpoint: Endpoint, point: Point, serve: Serve, gpus: Telemetry, raw: RawData) -> PointMetrics:
    """Measure one point; a point that the guards refuse ends the trial."""
    loaded = measure(_server(endpoint), point, gpus)
    raw.loads.append(loaded)
    if loaded.last.faults:
        raise EngineFailed(_refused(loaded))
    return loaded.metrics(serve.gpus)


def _server(endpoint: Endpoint) -> Server:
    adapter = engine(endpoint.launch.engine)
    return Server(
        url=endpoint.url,
        model=endpoint.model,
        log=endpoint.launch.folder / LOG,
        metrics=adapter.metrics,
        building=adapter.building,
    )


def _refused(loaded: Loaded) -> Failure:
    """Return why a point has no number: what the engine did, or else that this machine could not measure it."""
    faults, where = loaded.last.faults, f"under load at concurrency {loaded.point.concurrency}"
    theirs = [fault for fault in faults if fault.whose == "engine"]
    reason = f"{where}: {'; '.join(fault.reason for fault in theirs or faults)}"
    return Failure(_kind(loaded, theirs), reason)


def _kind(loaded: Loaded, theirs: Sequence[Fault]) -> Literal["refused", "stuck", "world", "wrong"]:
    if not theirs:
        return "world"
    failed = [timing for timing in loaded.last.ran.timings if timing.error]
    if any(timing.refused for timing in failed):
        return "refused"
    late = any(timing.timed_out for timing in failed) or any(fault.late for fault in theirs)
    return "stuck" if late else "wrong"


def _watching(serve: Serve) -> AbstractContextManager[Telemetry]:
    return telemetry(gpus=visible({**os.environ, **serve.env}))


def _of_failure(failure: Failure, watch: Watch) -> Infeasible | Lost:
    if failure.kind == "world":
        return Lost(reason=failure.reason, seconds=watch.seconds)
    return Infeasible(failure=failure.kind, reason=failure.reason, seconds=watch.seconds)
