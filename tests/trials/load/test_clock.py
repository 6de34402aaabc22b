"""An endpoint that keeps the clock: the load generator's timings are in its time, and the same however busy we are."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from search_spaces import Workload
from tests.fakes.emulated import MODEL, QUIET, Emulated, running, spelled
from tests.fakes.running import running as real_server
from trials.deadline import Deadline
from trials.engines.emulated.adapter import Emulated as Adapter
from trials.engines.emulated.landscape import load, point
from trials.load.client import keeps_a_clock
from trials.load.generator import Generator
from trials.load.measure import Server, measure
from trials.load.point import Point
from trials.load.timing import Ran
from trials.load.workload import Planned, sessions
from trials.telemetry import Telemetry

L0 = load("L0")
NOISY = ("--flaky", "0", "--seed", "3")
LIMIT_S = 60.0
WORKLOAD = Workload(
    input_tokens=512, output_tokens=200, range_ratio=0.5, concurrency=(6,), token_ids=(1000, 50_000), waves=4
)


def ran(
    emulated: Emulated,
    planned: Sequence[tuple[Planned, ...]],
    *,
    concurrency: int = 6,
    shards: int = 1,
    arrivals: Sequence[float] | None = None,
) -> Ran:
    """Return one run in virtual time."""
    with Generator(
        emulated.url, MODEL, concurrency=concurrency, processes=shards, request_s=LIMIT_S, stall_s=LIMIT_S, virtual=True
    ) as generator:
        return generator.run(planned, arrivals=arrivals, deadline=Deadline("the load", LIMIT_S))


def drawn(contents: str = "a") -> list[tuple[Planned, ...]]:
    """Return four waves of requests of different lengths."""
    return sessions(WORKLOAD, concurrency=6, waves=4, seed="1", contents=contents)


def one(output_tokens: int = 50, pause_s: float = 0.0) -> Planned:
    """Return a request."""
    return Planned(prompt=(1, 2, 3), input_tokens=3, output_tokens=output_tokens, pause_s=pause_s)


def test_only_an_endpoint_that_says_so_keeps_the_clock() -> None:
    with running() as emulated:
        assert keeps_a_clock(emulated.url, timeout_s=LIMIT_S)
    with real_server() as url:
        assert not keeps_a_clock(url, timeout_s=LIMIT_S)
    assert not keeps_a_clock("http://127.0.0.1:9", timeout_s=LIMIT_S)


def test_a_busy_machine_changes_nothing() -> None:
    with running(options=NOISY) as emulated:
        idle = ran(emulated, drawn()).timings
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with running(options=NOISY) as emulated:
            loaded = ran(emulated, drawn()).timings
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert len(idle) == 24
    assert loaded == idle


def test_a_load_that_is_split_over_processes_waits_for_all_of_them() -> None:
    with running() as emulated:
        split = ran(emulated, drawn(), shards=2)
    assert split.client.virtual
    assert [timing.error for timing in split.timings] == [None] * 24
    for slot in range(6):
        own = [timing for timing in split.timings if timing.slot == slot]
        assert [timing.due_s for timing in own] == [0.0, *(timing.ended_s for timing in own[:-1])]


def test_times_are_the_endpoints_and_begin_at_0() -> None:
    with running() as emulated:
        first, second = ran(emulated, drawn("a")), ran(emulated, drawn("b"))
    assert first.begun_s == second.begun_s == 0.0
    for timing in first.timings:
        assert timing.sent_s == timing.due_s
        assert timing.first_token_s is not None
        assert timing.sent_s < timing.first_token_s < timing.ended_s == timing.last_token_s
    assert [t.ended_s for t in second.timings] == [t.ended_s for t in first.timings]


def test_a_pause_passes_virtually() -> None:
    with running() as emulated:
        timings = ran(emulated, [(one(), one(pause_s=1000.0))], concurrency=1).timings
    assert timings[1].due_s == pytest.approx(timings[0].ended_s + 1000.0)
    assert timings[1].ended_s - timings[1].due_s == pytest.approx(timings[0].ended_s)


def test_requests_arrive_virtually_when_they_are_due() -> None:
    arrivals = [0.0, 100.0, 200.0, 300.0]
    with running() as emulated:
        timings = ran(emulated, [(one(),)] * 4, concurrency=2, arrivals=arrivals).timings
    assert [timing.sent_s for timing in timings] == arrivals


def test_more_slots_than_sessions_do_not_hold_a_run_up() -> None:
    with running() as emulated:
        assert [timing.error for timing in ran(emulated, [(one(),)] * 2).timings] == [None] * 2


def test_an_engine_that_dies_fails_what_is_in_flight() -> None:
    flags, env = spelled(L0.baseline._replace(gmu=0.95, mnbt=65536, qr="INT8", cg="FULL_AND_PIECEWISE"))
    with running(flags, env) as emulated:
        timings = ran(emulated, [(one(1000),)] * 2000, concurrency=6).timings
    assert len(timings) < 2000
    assert any("EngineCore encountered an issue" in (timing.error or "") for timing in timings)


def test_a_point_is_measured_in_virtual_time_without_a_fault(tmp_path: Path) -> None:
    flags, env = spelled(L0.baseline)
    workload = WORKLOAD.model_copy(update={"range_ratio": 1.0})
    asked = Point(workload=workload, concurrency=6, seed="1", request_s=LIMIT_S, stall_s=LIMIT_S, load_s=LIMIT_S)
    with running(flags, env, QUIET) as emulated:
        adapter = Adapter()
        server = Server(
            url=emulated.url,
            model=MODEL,
            log=tmp_path / "engine.log",
            metrics=adapter.metrics,
            building=adapter.building,
        )
        loaded = measure(server, asked, Telemetry())
    assert loaded.last.faults == ()
    assert loaded.steady
    pure = point(L0, L0.baseline, 6, isl=512, osl=200)
    measured = loaded.metrics(gpus=4)
    assert measured.total_tok_per_s_per_gpu == pytest.approx(pure.total_tok_per_s_per_gpu, rel=1e-6)
    assert measured.ttft_ms.mean == pytest.approx(pure.ttft_ms, rel=1e-6)
    assert measured.client.virtual
