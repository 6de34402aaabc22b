"""The shard as a program: what it says to its generator, what it carries along, and when it ends."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

import pytest

from tests.fakes.running import running, seen
from trials.load.messages import Beat, Done, Load, Ready, Setup, Start, Stop, Turn
from trials.load.stream import body

ROOT = Path(__file__).parents[3]
HEAVY = ("lm_eval", "ray", "pandas", "numpy", "scipy", "pydantic", "evals", "search_spaces")


@contextlib.contextmanager
def shard() -> Iterator[tuple[Connection, "subprocess.Popen[bytes]"]]:
    """Run the program; yield our end of the pair, and the process."""
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-m", "trials.load.shard", str(theirs.fileno())]
    with Connection(ours.detach()) as connection, contextlib.ExitStack() as closing:
        with theirs:
            process = subprocess.Popen(argv, cwd=ROOT, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE)
        closing.enter_context(process)
        closing.callback(process.kill)
        yield connection, process


def load(count: int, *, output_tokens: int = 2) -> Load:
    """Return a load of sessions with one turn."""
    turns = (
        Turn(
            number=n,
            body=body("m", f"prompt {n}", output_tokens),
            input_tokens=None,
            output_tokens=output_tokens,
            pause_s=0,
        )
        for n in range(count)
    )
    return Load(sessions=tuple((turn,) for turn in turns), arrivals=None)


def setup(url: str) -> Setup:
    """Return what a shard is told first."""
    return Setup(url=url, slots=(0, 2), request_s=30.0, beat_s=0.25)


def done(connection: Connection) -> Done:
    """Return the end of a run; only beats come before it."""
    while isinstance(message := connection.recv(), Beat):
        pass
    assert isinstance(message, Done)
    return message


def test_a_run_is_prepared_then_started_then_told() -> None:
    with running() as url, shard() as (connection, process):
        connection.send(setup(url))
        for _ in range(2):
            connection.send(load(5))
            assert connection.recv() == Ready()
            at_s = perf_counter() + 0.05
            connection.send(Start(at_s))
            timings = done(connection).timings
            assert [timing.error for timing in timings] == [None] * 5
            assert {timing.slot for timing in timings} == {0, 2}
            assert min(timing.sent_s for timing in timings) >= at_s
        connection.close()
        assert process.wait(10) == 0


def test_nothing_is_asked_before_the_start() -> None:
    with running() as url, shard() as (connection, _):
        connection.send(setup(url))
        connection.send(load(5))
        assert connection.recv() == Ready()
        assert seen(url).completions == []


def test_a_load_that_is_stopped_before_its_start_sends_nothing() -> None:
    with running() as url, shard() as (connection, _):
        connection.send(setup(url))
        connection.send(load(5))
        assert connection.recv() == Ready()
        connection.send(Stop(None))
        assert done(connection).timings == ()
        assert seen(url).completions == []


def test_a_stop_that_comes_too_late_is_forgotten() -> None:
    with running() as url, shard() as (connection, _):
        connection.send(setup(url))
        connection.send(Stop("the load took longer than its 1 s"))
        connection.send(load(5))
        assert connection.recv() == Ready()
        connection.send(Start(perf_counter()))
        assert len(done(connection).timings) == 5


def test_a_stop_lets_what_is_in_flight_end_unless_it_has_a_reason() -> None:
    for why, error in ((None, None), ("enough", "enough")):
        with running("--token-s", "0.1") as url, shard() as (connection, _):
            connection.send(setup(url))
            connection.send(load(5, output_tokens=4))
            assert connection.recv() == Ready()
            connection.send(Start(perf_counter()))
            while connection.recv().token_s == 0.0:  # a beat without a token yet
                pass
            connection.send(Stop(why))
            timings = done(connection).timings
            assert [(timing.error, timing.timed_out) for timing in timings] == [(error, error is not None)] * 2


def test_a_beat_says_since_when_requests_are_in_flight() -> None:
    with running("--token-s", "0.3") as url, shard() as (connection, _):
        connection.send(setup(url))
        connection.send(load(2))
        assert connection.recv() == Ready()
        at_s = perf_counter()
        connection.send(Start(at_s))
        beats = []
        while isinstance(message := connection.recv(), Beat):
            beats.append(message)
        assert beats[0].busy_since_s is None or beats[0].busy_since_s >= at_s
        assert any(beat.busy_since_s is not None and beat.busy_since_s >= at_s for beat in beats)
        assert beats[-1].busy_since_s is None
        assert beats[-1].token_s > at_s
        assert not any(beat.failed for beat in beats)


@pytest.mark.parametrize("when", ["idle", "running"])
def test_it_ends_when_the_other_end_is_closed(when: str) -> None:
    with running("--token-s", "1") as url, shard() as (connection, process):
        connection.send(setup(url))
        if when == "running":
            connection.send(load(100))
            assert connection.recv() == Ready()
            connection.send(Start(perf_counter()))
            assert isinstance(connection.recv(), Beat)
        connection.close()
        assert process.wait(10) == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_it_starts_without_the_libraries_that_take_long_to_import() -> None:
    program = f"import sys, trials.load.shard; print(*(name for name in {HEAVY} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
