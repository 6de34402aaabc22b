"""A client too slow for its load, for whatever reason: no number, and never the engine's fault."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from search_spaces import Workload
from tests.fakes import plans
from tests.fakes.bench import AUTOTUNE, Bench, command_of
from tests.fakes.running import ENGINE
from trials.engines import engine
from trials.load.measure import Server, measure
from trials.load.point import Point
from trials.load.selftest import MODEL, served
from trials.outcome import Lost
from trials.run import run
from trials.telemetry import Telemetry

UNFIT = 3
FEW_FILES = ("/bin/sh", "-c", 'ulimit -n 256 && exec "$0" "$@"', str(AUTOTUNE))
STREAMS, STEP_S, LIMIT_S = 256, 0.002, 120.0


@contextlib.contextmanager
def client_held_up(*, held_s: float, freed_s: float) -> Iterator[None]:
    """Stop this process's load generator again and again, as a host does that has other things to do."""
    over = threading.Event()

    def hold_up() -> None:
        while not over.wait(freed_s):
            for shard in shards():
                with contextlib.suppress(psutil.Error):  # it has just ended
                    shard.suspend()
                    over.wait(held_s)
                    shard.resume()

    holding = threading.Thread(target=hold_up)
    holding.start()
    try:
        yield
    finally:
        over.set()
        holding.join()


def shards() -> list[psutil.Process]:
    """Return the processes of this process's load generator."""
    return [child for child in psutil.Process().children() if "trials.load.shard" in command_of(child)]


@contextlib.contextmanager
def programs_traced() -> Iterator[None]:
    """Let Python programs that start in the block trace each allocation, which makes them several times as slow."""
    os.environ["PYTHONTRACEMALLOC"] = "20"
    try:
        yield
    finally:
        del os.environ["PYTHONTRACEMALLOC"]


def test_a_client_that_is_too_slow_says_how_and_does_not_blame_the_engine(tmp_path: Path) -> None:
    """The server is not traced; it sends each chunk when it is due, and the client's stamps of a step are late."""
    workload = Workload(
        input_tokens=8,
        output_tokens=8,
        concurrency=(STREAMS,),
        waves=4,
        warmup_waves=1,
        window_sd={STREAMS: 10.0},
    )
    point = Point(workload=workload, concurrency=STREAMS, seed="1", request_s=LIMIT_S, stall_s=LIMIT_S, load_s=LIMIT_S)
    names = engine("llamacpp").metrics
    with served(STEP_S) as url, programs_traced():
        server = Server(url=url, model=MODEL, log=tmp_path / "engine.log", metrics=names, building=())
        last = measure(server, point, Telemetry()).last
    assert {fault.whose for fault in last.faults} == {"client"}
    said = "; ".join(fault.reason for fault in last.faults)
    assert f"of concurrency {STREAMS} active, under 95%" in said
    assert "to stamp what came at once (p99), over" in said
    assert ("of a core, over 50%" in said) == (last.ran.client.cpu_share > 0.5)  # less where other programs have it


@pytest.mark.long
def test_a_client_that_is_held_up_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
    workload = Workload(
        input_tokens=40, output_tokens=10, concurrency=(2,), waves=12, warmup_waves=1, window_sd={2: 10.0}
    )
    with client_held_up(held_s=0.2, freed_s=0.1):
        outcome = run(plans.plan(tmp_path / "trial", "--token-s", "0.02", workload=workload))
    assert isinstance(outcome, Lost), outcome
    assert "the client's loop was " in outcome.reason


def test_a_study_that_is_gone_on_with_tries_its_client_again(bench: Bench) -> None:
    many = {"concurrency": [16], "waves": 200}
    bench.write_space({"slow": {"flag": "--token-s", "choice": [0.01]}}, {"slow": 0.01}, workload=many)
    for sitting, words in enumerate((("study", "fake.yaml", "--dispatcher", "local"), ("resume", "fake"))):
        driver = bench.start(*words, sitting=sitting)
        tried = False
        while not tried and driver.poll() is None:
            tried = any("calibrated.py" in command_of(process) for process in bench.living())
            time.sleep(0.05)
        if not sitting:
            bench.wait_for("trials/0000/trial.json")
        driver.send_signal(signal.SIGTERM)
        driver.wait(timeout=60)
        assert tried, bench.said(sitting=sitting)


def test_a_study_whose_load_cannot_be_sent_from_here_is_refused_with_what_would_help(bench: Bench) -> None:
    bench.write_space(
        {"slow": {"flag": "--token-s", "choice": [0.001]}}, {"slow": 0.001}, workload={"concurrency": [512]}
    )
    ran = bench.run("study", "fake.yaml", "--dispatcher", "local", program=FEW_FILES)
    assert ran.returncode == UNFIT, ran.stderr
    assert "256 files may be open at once, the space needs " in ran.stderr
    assert "ulimit -n " in ran.stderr
    assert not bench.study.exists()
