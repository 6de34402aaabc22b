"""One point of the ladder against a real server: how long it warms up, what is measured, when a run is refused."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from search_spaces import Workload
from tests.fakes.running import ENGINE, seen
from trials.engines import engine
from trials.load.counters import Counters
from trials.load.guards import Fault
from trials.load.measure import Loaded, Run, Server, measure, settled
from trials.load.point import Point
from trials.load.timing import ClientUse, Ran, RequestTiming
from trials.smi import Gpu
from trials.telemetry import Sample, Telemetry

SLOW = ("--token-s", "0.05", "--metrics")
BUILT = "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel', name = 'kernel'"
ALIKE = {2: 10.0}  # any two runs are
POINT = Point(
    workload=Workload(
        input_tokens=8, output_tokens=4, concurrency=(2,), waves=4, warmup_waves=1, range_ratio=0.5, window_sd=ALIKE
    ),
    concurrency=2,
    seed="seed",
    request_s=30.0,
    stall_s=30.0,
    load_s=60.0,
)
WAIT_S = 30.0


class Sampling(threading.Thread):
    """Adds a sample of one GPU every few milliseconds, for the length of the block."""

    def __init__(self, samples: Telemetry, gpu: Gpu) -> None:
        """Start nothing yet."""
        super().__init__()
        self._samples, self._gpu = samples, gpu
        self._ended = threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self._ended.wait(0.005):
            self._samples.samples.append(Sample(time.perf_counter(), (self._gpu,)))

    def __enter__(self) -> None:
        """Start."""
        self.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._ended.set()
        self.join()


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Server]:
    """Run the fake engine with a log of its own."""
    log = folder / "engine.log"
    argv = [sys.executable, str(ENGINE), *flags, "--alias", "m", "--host", "127.0.0.1", "--port", "0"]
    with log.open("wb") as file, subprocess.Popen(argv, stdout=file, stderr=file) as process:
        try:
            yield Server(
                url=f"http://127.0.0.1:{port(log)}",
                model="m",
                log=log,
                metrics=engine("llamacpp").metrics,
                building=engine("llamacpp").building,
            )
        finally:
            process.kill()


def port(log: Path) -> str:
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.startswith("port ") and line.endswith("\n"):
                return line.split()[1]
        time.sleep(0.01)
    raise TimeoutError(log)


def measured(folder: Path, *flags: str, point: Point = POINT) -> Loaded:
    with serving(folder, *SLOW, *flags) as server:
        return measure(server, point, Telemetry())


def names(loaded: Loaded) -> list[str]:
    return list(dict.fromkeys(name for name, _ in loaded.rows()))


def requests(run: Run) -> int:
    return len(run.ran.timings)


def run_at(tok_per_s: int, *built: str) -> Run:
    """Return a run of one second and one request."""
    timing = RequestTiming(
        number=0,
        slot=0,
        due_s=0.0,
        sent_s=0.0,
        first_token_s=0.5,
        last_token_s=1.0,
        ended_s=1.0,
        asked_input_tokens=None,
        asked_output_tokens=tok_per_s,
        prompt_tokens=0,
        completion_tokens=tok_per_s,
        chunks=2,
    )
    client = ClientUse(processes=1, cpu_share=0.0, lag_p99_s=0.0, lag_max_s=0.0, drain_p99_s=None)
    ran = Ran(timings=(timing,), begun_s=0.0, ended_s=1.0, client=client)
    return Run(name="", ran=ran, counted=None, built=built, gpus=None, faults=())


def point(window_sd: float | None) -> Point:
    """Return a point whose windows are known to differ so much, or not known."""
    known = {} if window_sd is None else {2: window_sd}
    return replace(POINT, workload=POINT.workload.model_copy(update={"window_sd": known}))


def whose(faults: tuple[Fault, ...]) -> set[str]:
    return {fault.whose for fault in faults}


def test_a_warm_engine_gets_two_warm_up_runs_and_one_measured_run(tmp_path: Path) -> None:
    loaded = measured(tmp_path)
    assert names(loaded) == ["warm-up 1", "warm-up 2", "measured 1"]
    assert [requests(run) for run in (*loaded.warmup, *loaded.measured)] == [2, 2, 8]
    assert loaded.last is loaded.measured[0]
    assert loaded.last.faults == ()
    assert loaded.steady
    assert loaded.drift is not None


@pytest.mark.parametrize(
    ("rates", "window_sd", "is_settled"),
    [
        ([1000], None, False),
        ([1000, 1009], None, True),
        ([1000, 1011], None, False),
        ([1000, 989], None, False),
        ([1000, 1050], 0.02, True),
        ([1000, 1060], 0.02, False),
        ([1000, 1005], 0.001, True),
        ([500, 1000, 1005], None, True),
        ([1000, 1000, 500], None, False),
        ([0, 0], None, False),
    ],
)
def test_a_warm_up_is_over_when_two_runs_in_a_row_differ_by_no_more_than_windows_do(
    rates: list[int], window_sd: float | None, *, is_settled: bool
) -> None:
    assert settled([run_at(rate) for rate in rates], point(window_sd)) is is_settled


@pytest.mark.parametrize(("where", "is_settled"), [(0, True), (1, False), (2, False)])
def test_a_build_in_either_of_the_last_two_runs_is_no_steady_state(where: int, *, is_settled: bool) -> None:
    runs = [run_at(1000, *([BUILT] if where == number else [])) for number in range(3)]
    assert settled(runs, POINT) is is_settled


def test_what_the_server_counted_stands_beside_what_the_client_saw(tmp_path: Path) -> None:
    run = measured(tmp_path).last
    prompts = sum(timing.prompt_tokens or 0 for timing in run.ran.timings)
    assert run.counted == Counters(
        prompt_tokens=prompts,
        generation_tokens=sum(timing.completion_tokens or 0 for timing in run.ran.timings),
        prefix_query_tokens=prompts,
        prefix_hit_tokens=0,
        running=0,
    )


def test_a_server_without_counters_is_measured_all_the_same(tmp_path: Path) -> None:
    with serving(tmp_path, "--token-s", "0.05") as server:
        loaded = measure(server, POINT, Telemetry())
    assert loaded.last.counted is None
    assert loaded.metrics(gpus=1).tok_per_s_per_watt is None
    assert loaded.last.faults == ()


def test_no_content_comes_twice_and_every_warm_up_has_the_same_lengths(tmp_path: Path) -> None:
    with serving(tmp_path, *SLOW) as server:
        loaded = measure(server, POINT, Telemetry())
        prompts = seen(server.url).prompts
    assert len(set(prompts)) == len(prompts) == sum(1 for _ in loaded.rows())
    first, second = ([timing.asked_output_tokens for timing in run.ran.timings] for run in loaded.warmup)
    assert first == second


def test_equal_seeds_send_equal_requests(tmp_path: Path) -> None:
    with serving(tmp_path, *SLOW) as server:
        for _ in range(2):
            measure(server, POINT, Telemetry())
        prompts = seen(server.url).prompts
    half = len(prompts) // 2
    assert sorted(prompts[:half]) == sorted(prompts[half:])


def test_it_warms_up_until_two_runs_in_a_row_built_nothing(tmp_path: Path) -> None:
    loaded = measured(tmp_path, "--say-on-completion", "3", BUILT)
    assert [run.built for run in loaded.warmup] == [(), (BUILT,), (), ()]
    assert loaded.steady


def test_a_run_in_which_the_engine_built_something_is_measured_again(tmp_path: Path) -> None:
    loaded = measured(tmp_path, "--say-on-completion", "6", BUILT)
    assert [run.built for run in loaded.measured] == [(BUILT,), ()]
    assert loaded.steady


def test_an_engine_that_never_gets_steady_is_measured_and_flagged(tmp_path: Path) -> None:
    builder = replace(engine("llamacpp").building[0], regex="completion")
    with serving(tmp_path, *SLOW, "--say-each", "one more completion") as server:
        loaded = measure(replace(server, building=(builder,)), POINT, Telemetry())
    assert len(loaded.warmup) == 5
    assert not loaded.steady
    assert loaded.last.faults == ()


def test_an_engine_that_fails_while_it_warms_up_is_not_measured(tmp_path: Path) -> None:
    loaded = measured(tmp_path, "--stream", "error")
    assert names(loaded) == ["warm-up 1"]
    assert loaded.measured == ()
    assert not loaded.steady
    assert whose(loaded.last.faults) == {"engine"}
    assert "out of slots" in loaded.last.faults[0].reason


def test_a_refused_run_is_measured_once_more_with_fresh_contents(tmp_path: Path) -> None:
    with serving(tmp_path, *SLOW, "--miscount", "-1") as server:
        loaded = measure(server, POINT, Telemetry())
        prompts = seen(server.url).prompts
    assert [run.name for run in loaded.measured] == ["measured 1", "measured 2"]
    assert whose(loaded.last.faults) == {"engine"}
    assert len(set(prompts)) == len(prompts)


def test_an_engine_that_dies_in_the_measured_run_is_at_fault(tmp_path: Path) -> None:
    loaded = measured(tmp_path, "--exit-on-completion", "7")
    assert len(loaded.warmup) == 2
    assert whose(loaded.last.faults) >= {"engine"}


def test_a_point_that_takes_too_long_ends_at_its_deadline(tmp_path: Path) -> None:
    loaded = measured(tmp_path, "--token-s", "3.0", point=replace(POINT, load_s=3.0))
    assert names(loaded) == ["warm-up 1"]
    assert any("the load took longer than its 3 s" in fault.reason for fault in loaded.last.faults)


def test_a_load_that_arrives_at_a_rate_is_sent_at_it(tmp_path: Path) -> None:
    workload = POINT.workload.model_copy(update={"request_rate": 40.0})
    loaded = measured(tmp_path, point=replace(POINT, workload=workload, concurrency=8))
    timings = loaded.warmup[0].ran.timings
    assert len(timings) == 8
    assert len({timing.due_s for timing in timings}) == 8


def test_gpus_are_those_that_were_sampled_while_the_run_went_on(tmp_path: Path) -> None:
    gpu = Gpu(index=0, power_w=500.0, clock_mhz=None, temperature_c=None, memory_mib=None)
    samples = Telemetry(tool="nvidia-smi")
    sampling = Sampling(samples, gpu)
    with serving(tmp_path, *SLOW) as server, sampling:
        loaded = measure(server, POINT, samples)
    run, metrics = loaded.last, loaded.metrics(gpus=1)
    assert run.gpus is not None
    assert metrics.power_w == 500.0
    assert metrics.tok_per_s_per_watt == pytest.approx(run.tok_per_s / 500.0)
    assert 0 < run.gpus.samples < len(samples.samples)


def test_the_numbers_of_a_point_are_those_of_its_last_run(tmp_path: Path) -> None:
    loaded = measured(tmp_path)
    metrics = loaded.metrics(gpus=2)
    assert (metrics.full_run.requests, metrics.warmup_runs, metrics.steady) == (8, 2, True)
    assert metrics.full_run.total_tok_per_s == pytest.approx(loaded.last.tok_per_s)
    assert metrics.prefix_hit_share == 0.0
