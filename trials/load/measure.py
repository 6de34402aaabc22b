"""Measure one point of the ladder: warm up until steady, send the measured run, let the guards judge it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from search_spaces.space import MEASURED_RUNS, WARMUP_RUNS
from trials.deadline import Deadline
from trials.engines.adapter import Building
from trials.load import counters, guards, metrics, windows
from trials.load.client import keeps_a_clock
from trials.load.counters import Counters, Names
from trials.load.generator import Generator, processes
from trials.load.guards import Fault
from trials.load.metrics import PointMetrics, Warmth
from trials.load.point import Point
from trials.load.timing import Ran, RequestTiming
from trials.load.workload import arrivals, sessions
from trials.log import BuildWatch
from trials.telemetry import GpuUse, Telemetry

COUNTERS_S = 5.0
SETTLE_S = 1.0  # for a server that counts a request only after its last byte is out
POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """
    What is measured, and how to read what it says of itself.

    Attributes:
        url: Without `/v1`.
        model: As the API calls it.
        log: Where the engine writes it.
        metrics: What its counters are called.
        building: Lines of its log that mean that it compiles, tunes or captures.
    """

    url: str
    model: str
    log: Path
    metrics: Names
    building: tuple[Building, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    One run, and all that was seen beside it.

    Attributes:
        name: `warm-up 1`, `warm-up 2`, ..., `measured 1`, `measured 2`.
        counted: What the server counted meanwhile; None where it has no counters.
        built: Lines of its log that mean that it was building something.
        gpus: What they did meanwhile; None where nobody knows.
        faults: Why the run is not what it is called.
    """

    name: str
    ran: Ran
    counted: Counters | None
    built: tuple[str, ...]
    gpus: GpuUse | None
    faults: tuple[Fault, ...]

    @property
    def tok_per_s(self) -> float:
        """Input and output tokens a second, of the whole run."""
        return windows.rates(self.ran.timings, (self.ran.begun_s, self.ran.ended_s)).total


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """
    A point, measured or refused.

    Attributes:
        warmup: Its warm-up runs.
        measured: The runs after it: none if the warm-up failed, two if the first one was refused.
        steady: Whether the warm-up ended because nothing changed any more, and nothing was built afterwards.
    """

    point: Point
    warmup: tuple[Run, ...]
    measured: tuple[Run, ...]
    steady: bool

    @property
    def last(self) -> Run:
        """The run that counts: the point's number if it has no faults, the reason for none if it has."""
        return (*self.warmup, *self.measured)[-1]

    @property
    def drift(self) -> float | None:
        """By how much the last warm-up run was faster than the one before, relative; None if there was one only."""
        return _drift(self.warmup)

    def metrics(self, gpus: int) -> PointMetrics:
        """
        Return the numbers of the run that counts; ask only where it has no faults.

        Args:
            gpus: Devices that the engine runs on.
        """
        return metrics.summarise(
            self.last.ran,
            self.point.workload,
            concurrency=self.point.concurrency,
            gpus=gpus,
            warmth=Warmth(steady=self.steady, drift=self.drift, runs=len(self.warmup)),
            prefix_hit_share=guards.hit_share(self.last.ran.timings, self.last.counted),
            power_w=self.last.gpus.power_w if self.last.gpus else None,
        )

    def rows(self) -> Iterator[tuple[str, RequestTiming]]:
        """Yield every request of every run beside its run's name."""
        for run in (*self.warmup, *self.measured):
            yield from ((run.name, timing) for timing in run.ran.timings)


def measure(server: Server, point: Point, gpus: Telemetry) -> Loaded:
    """
    Measure a point: what went wrong stands in the faults of its last run.

    A measured run that a guard refuses, or in which the engine built something, is repeated once, with fresh contents.

    Args:
        gpus: Sampled all the while by the caller.

    Raises:
        GeneratorFailed: A process of the load generator has died.
    """
    with Generator(
        server.url,
        server.model,
        concurrency=point.concurrency,
        processes=processes(point.concurrency),
        request_s=point.request_s,
        stall_s=point.stall_s,
        virtual=keeps_a_clock(server.url, timeout_s=COUNTERS_S),
    ) as generator:
        bench = _Bench(server, point, gpus, generator)
        warmup = _warm_up(bench)
        measured = () if warmup[-1].faults else _measured(bench)
    steady = settled(warmup, point) and not any(run.built for run in measured[-1:])
    return Loaded(point=point, warmup=warmup, measured=measured, steady=steady)


def _warm_up(bench: "_Bench") -> tuple[Run, ...]:
    """Run until two runs in a row are alike; until one fails; or as often as it may take."""
    runs: list[Run] = []
    while len(runs) < WARMUP_RUNS and not settled(runs, bench.point) and not (runs and runs[-1].faults):
        runs.append(bench.warm_up(f"warm-up {len(runs) + 1}"))
    return tuple(runs)


def settled(runs: Sequence[Run], point: Point) -> bool:
    """Say whether the last two runs were about as fast, and nothing was built in either."""
    change = _drift(runs)
    if change is None or any(run.built for run in runs[-2:]):
        return False
    return windows.steady(change, point.workload.window_sd.get(point.concurrency))


def _drift(runs: Sequence[Run]) -> float | None:
    rates = [run.tok_per_s for run in runs[-2:]]
    return windows.drift(*rates) if len(rates) == 2 and all(rates) else None  # noqa: PLR2004 the last two


def _measured(bench: "_Bench") -> tuple[Run, ...]:
    runs: list[Run] = []
    while len(runs) < MEASURED_RUNS and (not runs or runs[-1].faults or runs[-1].built):
        runs.append(bench.measure(f"measured {len(runs) + 1}"))
    return tuple(runs)


class _Bench:
    """What the runs of a point share: the generator, one deadline, and an eye on the engine's log."""

    def __init__(self, server: Server, point: Point, gpus: Telemetry, generator: Generator) -> None:
        self.point = point
        self._server, self._gpus, self._generator = server, gpus, generator
        self._deadline = Deadline("the load", point.load_s)
        self._builds = BuildWatch(server.log, server.building)

    def warm_up(self, name: str) -> Run:
        """Run the warm-up's waves; only what fails is a fault, the rest is what a warm-up is for."""
        run = self._run(name, self.point.workload.warmup_waves)
        return replace(run, faults=run.faults or guards.failed(run.ran))

    def measure(self, name: str) -> Run:
        """Run the measured waves, and let every guard look at them."""
        run = self._run(name, self.point.workload.waves)
        return replace(run, faults=run.faults or guards.faults(run.ran, self.point, run.counted))

    def _run(self, name: str, waves: int) -> Run:
        point = self.point
        planned = sessions(
            point.workload, concurrency=point.concurrency, waves=waves, seed=point.seed, contents=name, file=point.file
        )
        arriving = arrivals(point.workload, len(planned), f"{point.seed}/{point.concurrency}/{name}")
        before = self._counters()
        ran = self._generator.run(planned, arrivals=arriving, deadline=self._deadline)
        after = self._counters()
        return Run(
            name=name,
            ran=ran,
            counted=after.since(before) if after and before else None,
            built=self._builds.built(),
            gpus=self._gpus.use(ran.begun_s, ran.ended_s),
            faults=self._cut_short(ran, sum(map(len, planned))),
        )

    def _cut_short(self, ran: Ran, planned: int) -> tuple[Fault, ...]:
        """Return the fault of a run that its deadline ended while nothing was in flight that could have failed."""
        if len(ran.timings) == planned or any(timing.error for timing in ran.timings):
            return ()
        reason = f"{len(ran.timings)} of {planned} requests: {self._deadline.reason}"
        return (Fault(whose="engine", reason=reason, late=True),)

    def _counters(self) -> Counters | None:
        """Return the server's counters once it has counted what it has answered, or after a moment anyway."""
        settling = Deadline("counting", SETTLE_S)
        while (counted := counters.read(self._server.url, self._server.metrics, timeout_s=COUNTERS_S)) is not None:
            if not counted.running or not settling.left_s:
                return counted
            time.sleep(POLL_S)
        return None
