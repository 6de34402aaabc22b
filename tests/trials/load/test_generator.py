"""The load generator against real servers: what is in flight, in which order, and how it ends when something breaks."""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.fakes.running import running, seen
from tests.fakes.stream_server import CHUNKED, Answer, chunk, event, serving
from trials.deadline import Deadline
from trials.load.generator import Generator, GeneratorFailed, processes
from trials.load.timing import Ran, RequestTiming
from trials.load.workload import Planned, Session

FOREVER = 3_000


def asked(*prompts: str, output_tokens: int = 3) -> list[Session]:
    """Return sessions of one turn each."""
    return [(Planned(prompt=prompt, input_tokens=None, output_tokens=output_tokens),) for prompt in prompts]


def many(count: int, *, output_tokens: int = 3) -> list[Session]:
    """Return sessions of one turn each, no two alike."""
    return asked(*(f"prompt number {n}" for n in range(count)), output_tokens=output_tokens)


def ran(
    url: str,
    sessions: Sequence[Session],
    *,
    concurrency: int = 1,
    shards: int = 1,
    request_s: float = 30.0,
    stall_s: float = 30.0,
    load_s: float = 60.0,
    arrivals: Sequence[float] | None = None,
) -> Ran:
    """Return one run."""
    with Generator(
        url, "m", concurrency=concurrency, processes=shards, request_s=request_s, stall_s=stall_s
    ) as generator:
        return generator.run(sessions, arrivals=arrivals, deadline=Deadline("the load", load_s))


def one(url: str, *, request_s: float = 30.0, output_tokens: int = 4) -> RequestTiming:
    """Return the only request of a run."""
    (timing,) = ran(url, asked("one two three", output_tokens=output_tokens), request_s=request_s).timings
    return timing


def errors(run: Ran) -> set[str | None]:
    """Return what went wrong."""
    return {timing.error for timing in run.timings}


def unused_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("concurrency", "rate", "needed"), [(1, 50, 1), (4, 50, 1), (400, 50, 1), (512, 50, 2), (10**6, 50, 10**6)]
)
def test_there_are_as_many_processes_as_stamp_in_time_but_no_more_than_cores(
    concurrency: int, rate: float, needed: int
) -> None:
    assert processes(concurrency, rate) == min(needed, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize(("concurrency", "shards"), [(1, 1), (3, 1), (3, 2), (2, 5)])
def test_a_loop_keeps_its_concurrency_in_flight_on_as_many_connections(concurrency: int, shards: int) -> None:
    with running("--token-s", "0.01") as url:
        run = ran(url, many(4 * concurrency), concurrency=concurrency, shards=shards)
        assert (seen(url).peak, seen(url).connections) == (concurrency, concurrency)
    assert run.client.processes == min(concurrency, shards)


def test_every_session_is_sent_once_in_order_and_timed() -> None:
    with running("--token-s", "0.01") as url:
        run = ran(url, many(12), concurrency=3, shards=2)
        assert sorted(seen(url).prompts) == sorted(f"prompt number {n}" for n in range(12))
    assert errors(run) == {None}
    assert [timing.number for timing in run.timings] == list(range(12))
    assert [timing.slot for timing in run.timings[:3]] == [0, 1, 2]
    assert {(timing.prompt_tokens, timing.completion_tokens) for timing in run.timings} == {(3, 3)}
    assert {(timing.asked_input_tokens, timing.asked_output_tokens) for timing in run.timings} == {(None, 3)}
    assert run.begun_s == min(timing.sent_s for timing in run.timings)
    assert run.ended_s == max(timing.ended_s for timing in run.timings)


def test_a_slot_sends_its_next_request_when_the_last_one_has_ended() -> None:
    with running("--token-s", "0.01") as url:
        run = ran(url, many(9), concurrency=3)
    for slot in range(3):
        own = sorted((timing for timing in run.timings if timing.slot == slot), key=lambda timing: timing.sent_s)
        assert all(before.ended_s == after.due_s <= after.sent_s for before, after in itertools.pairwise(own))


def test_a_run_follows_a_run_on_the_same_processes() -> None:
    with running() as url, Generator(url, "m", concurrency=2, processes=2, request_s=30, stall_s=30) as generator:
        runs = [generator.run(many(4), arrivals=None, deadline=Deadline("the load", 60)) for _ in range(2)]
    assert [len(run.timings) for run in runs] == [4, 4]
    assert runs[0].ended_s < runs[1].begun_s


def test_nothing_to_send_is_a_run_without_requests() -> None:
    with running() as url:
        assert ran(url, []).timings == ()


def test_a_prompt_may_be_the_ids_of_its_tokens() -> None:
    with running() as url:
        run = ran(url, [(Planned(prompt=(5, 6, 7), input_tokens=3, output_tokens=2),)])
        assert [body["prompt"] for body in seen(url).completions] == [[5, 6, 7]]
    assert [timing.asked_input_tokens for timing in run.timings] == [3]


def test_the_turns_of_a_session_follow_each_other_with_their_pauses() -> None:
    turns = tuple(Planned(prompt=f"turn {n}", input_tokens=None, output_tokens=2, pause_s=0.1 * n) for n in range(3))
    with running() as url:
        run = ran(url, [turns, turns], concurrency=2, shards=2)
        assert seen(url).prompts[-1] == "turn 2"
    for first, second, third in (run.timings[:3], run.timings[3:]):
        assert second.due_s == pytest.approx(first.ended_s + 0.1)
        assert third.due_s == pytest.approx(second.ended_s + 0.2)
        assert second.sent_s >= second.due_s
        assert third.sent_s >= third.due_s


def test_requests_are_sent_when_they_arrive_whatever_is_in_flight() -> None:
    arrivals = (0.0, 0.02, 0.04, 0.3)
    with running("--token-s", "0.05") as url:
        run = ran(url, many(4), concurrency=4, shards=2, arrivals=arrivals)
        assert seen(url).peak == 3
    begun_s = run.timings[0].due_s
    assert [timing.due_s - begun_s for timing in run.timings] == pytest.approx(arrivals)
    assert all(timing.sent_s >= timing.due_s for timing in run.timings)


def test_a_request_that_arrives_when_all_slots_are_taken_waits_for_one() -> None:
    with running("--token-s", "0.05") as url:
        run = ran(url, many(3), concurrency=1, arrivals=(0.0, 0.01, 0.02))
        assert seen(url).peak == 1
    assert all(after.sent_s >= before.ended_s > after.due_s for before, after in itertools.pairwise(run.timings))


def test_a_pause_between_arrivals_is_no_stall() -> None:
    with running() as url:
        assert errors(ran(url, many(2), arrivals=(0.0, 0.9), stall_s=0.3)) == {None}


def test_a_stream_is_asked_for_with_its_usage_and_a_fixed_length() -> None:
    with running() as url:
        ran(url, asked("one two", output_tokens=5))
        assert seen(url).completions == [
            {
                "model": "m",
                "prompt": "one two",
                "max_tokens": 5,
                "temperature": 0,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ]


def test_a_stream_is_timed_and_counted_by_the_servers_usage() -> None:
    with running("--token-s", "0.02") as url:
        timing = one(url, output_tokens=5)
    assert (timing.prompt_tokens, timing.completion_tokens, timing.chunks, len(timing.gaps_s)) == (3, 5, 5, 4)
    assert (timing.error, timing.refused, timing.timed_out, timing.resent) == (None, False, False, False)
    assert timing.first_token_s is not None
    assert timing.last_token_s is not None
    assert timing.due_s <= timing.sent_s < timing.first_token_s < timing.last_token_s <= timing.ended_s
    assert timing.first_token_s - timing.sent_s >= 0.02
    assert sum(timing.gaps_s) == pytest.approx(timing.last_token_s - timing.first_token_s)


def test_twenty_tokens_a_chunk_are_one_chunk() -> None:
    pieces = (CHUNKED, chunk(event(choices=[{"text": "x" * 20}], usage={"prompt_tokens": 1, "completion_tokens": 20})))
    with serving() as url:
        (timing,) = ran(url, asked(Answer(pieces=(*pieces, "0\r\n\r\n")).prompt, output_tokens=20)).timings
    assert (timing.chunks, timing.completion_tokens, timing.error) == (1, 20, None)


def test_what_the_run_cost_the_client_is_measured() -> None:
    with running("--token-s", "0.01") as url:
        client = ran(url, many(6, output_tokens=5), concurrency=3).client
    assert 0 < client.cpu_share < 1.5
    assert 0 <= client.lag_p99_s <= client.lag_max_s
    assert client.drain_p99_s is not None
    assert client.drain_p99_s > 0


def test_a_connection_that_is_closed_as_announced_is_opened_anew_and_nothing_sent_again() -> None:
    with running("--hang-up", "announced") as url:
        run = ran(url, asked("a", "b", "c"))
        assert seen(url).connections == 3
    assert [(timing.error, timing.resent) for timing in run.timings] == [(None, False)] * 3


def test_a_connection_that_is_closed_without_a_word_costs_no_request() -> None:
    with running("--hang-up", "silent") as url:
        assert errors(ran(url, asked("a", "b", "c"))) == {None}
        assert seen(url).prompts == ["a", "b", "c"]


def test_a_request_on_a_dropped_keep_alive_is_sent_again_and_marked() -> None:
    with running("--hang-up", "reused") as url:
        run = ran(url, asked("a", "b", "c"))
        assert seen(url).prompts == ["a", "b", "b", "c", "c"]
    assert [(timing.error, timing.resent) for timing in run.timings] == [(None, False), (None, True), (None, True)]


def test_a_new_connection_that_is_dropped_is_an_error() -> None:
    with running("--hang-up", "always") as url:
        timing = one(url)
        assert len(seen(url).prompts) == 1
    assert timing.error is not None
    assert timing.error.startswith("RemoteProtocolError: ")
    assert not timing.resent


def test_a_drop_in_the_middle_of_a_stream_is_an_error_and_not_sent_again() -> None:
    with running("--stream", "drop") as url:
        timing = one(url)
        assert len(seen(url).prompts) == 1
    assert timing.error is not None
    assert timing.error.startswith("RemoteProtocolError: ")
    assert timing.first_token_s is not None
    assert timing.completion_tokens is None
    assert (timing.resent, timing.timed_out) == (False, False)


@pytest.mark.parametrize(
    ("flags", "error", "refused"),
    [
        pytest.param(
            ("--stream", "error"), "error in the stream: {'message': 'out of slots'}", False, id="in the stream"
        ),
        pytest.param(("--stream", "misshapen"), "not a piece of a completion: {", False, id="misshapen"),
        pytest.param(("--stream", "no-usage"), "the stream ended without usage", False, id="without usage"),
        pytest.param(("--status", "400"), "HTTP 400: ", True, id="refused"),
        pytest.param(("--status", "503"), "HTTP 503: ", False, id="unavailable"),
    ],
)
def test_what_goes_wrong_stands_in_the_timing(flags: tuple[str, ...], error: str, refused: bool) -> None:  # noqa: FBT001
    with running(*flags) as url:
        timing = one(url)
        assert len(seen(url).prompts) == 1
    assert timing.error is not None
    assert error in timing.error
    assert (timing.refused, timing.resent, timing.timed_out) == (refused, False, False)


def test_a_server_that_is_not_there_stands_in_the_timing() -> None:
    timing = one(f"http://127.0.0.1:{unused_port()}")
    assert timing.error is not None
    assert timing.error.startswith("ConnectError: 127.0.0.1:")
    assert not timing.resent


def test_the_environments_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running() as url:
        assert one(url).error is None


@pytest.mark.parametrize("fault", ["silence", "stall"])
def test_a_request_out_of_time_is_marked(fault: str) -> None:
    with running("--stream", fault) as url:
        timing = one(url, request_s=0.3)
    assert (timing.error, timing.timed_out) == ("no whole answer within 0.3 s", True)
    assert (timing.first_token_s is None) == (fault == "silence")


def test_a_stream_that_moves_but_does_not_end_is_out_of_time_too() -> None:
    with running("--token-s", "0.05") as url:
        timing = one(url, output_tokens=1000, request_s=0.3)
    assert timing.timed_out
    assert timing.first_token_s is not None


@pytest.mark.parametrize("shards", [1, 2])
def test_an_error_ends_the_run_long_before_its_last_session(shards: int) -> None:
    with running("--stream", "error", "--token-s", "0.01") as url:
        run = ran(url, many(FOREVER), concurrency=4, shards=shards)
    assert len(run.timings) < FOREVER
    assert run.timings[0].error == "error in the stream: {'message': 'out of slots'}"


def test_an_engine_that_dies_ends_the_run() -> None:
    with running("--token-s", "0.01", "--exit-on-completion", "10") as url:
        run = ran(url, many(1000), concurrency=3, shards=2)
    assert run.timings[0].error is None
    assert len(run.timings) < 20
    assert len(errors(run)) > 1


@pytest.mark.parametrize("fault", ["silence", "stall"])
def test_a_stall_of_every_stream_ends_the_run_before_its_requests_are_out_of_time(fault: str) -> None:
    with running("--stream", fault) as url:
        run = ran(url, many(30), concurrency=3, shards=2, stall_s=0.4)
    assert [(timing.error, timing.timed_out) for timing in run.timings] == [("no token for 0.4 s", True)] * 3


def test_keep_alive_comments_are_no_tokens() -> None:
    answer = Answer(
        pieces=(CHUNKED, chunk(event(choices=[{"text": "a"}])), *[chunk(": ping\n\n")] * 1000), pause_s=0.02
    )
    with serving() as url:
        assert errors(ran(url, asked(answer.prompt), stall_s=0.4)) == {"no token for 0.4 s"}


def test_requests_longer_than_the_stall_are_none_while_tokens_come() -> None:
    with running("--token-s", "0.1") as url:
        assert errors(ran(url, many(3, output_tokens=8), concurrency=3, stall_s=0.5)) == {None}


def test_a_run_that_takes_too_long_ends_at_its_deadline_and_keeps_what_it_measured() -> None:
    with running("--token-s", "0.02") as url:
        run = ran(url, many(FOREVER), concurrency=3, shards=2, load_s=2.0)
    assert run.timings[0].error is None
    late = [timing for timing in run.timings if timing.error]
    assert 0 < len(late) <= 3
    assert {(timing.error, timing.timed_out) for timing in late} == {("the load took longer than its 2 s", True)}


def children() -> list[psutil.Process]:
    """Return the generator's processes."""
    return [child for child in psutil.Process().children() if "trials.load.shard" in child.cmdline()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_of_ours_that_dies_is_one_clear_error(number: signal.Signals) -> None:
    with (
        running("--token-s", "0.05") as url,
        Generator(url, "m", concurrency=2, processes=2, request_s=30, stall_s=30) as generator,
    ):
        victim = children()[0].pid
        killing = threading.Timer(0.5, os.kill, (victim, number))
        killing.start()
        with pytest.raises(
            GeneratorFailed, match=f"^process {victim} of the load generator ended with status -{number}"
        ):
            generator.run(many(FOREVER), arrivals=None, deadline=Deadline("the load", 60))
        killing.join()
    assert not children()


def test_a_bug_in_a_process_of_ours_is_told_in_its_own_words() -> None:
    with pytest.raises(GeneratorFailed, match=r"ended with status 1 within a run: httpx\.InvalidURL: "):
        ran("http://127.0.0.1:port", asked("a"))


def test_an_exception_within_the_block_leaves_no_process() -> None:
    with (
        contextlib.suppress(RuntimeError),
        running() as url,
        Generator(url, "m", concurrency=2, processes=2, request_s=30, stall_s=30),
    ):
        assert len(children()) == 2
        raise RuntimeError
    assert not children()


OWNER = """
import sys
from trials.deadline import Deadline
from trials.load.generator import Generator
from trials.load.workload import Planned
sessions = [(Planned(prompt=str(n), input_tokens=None, output_tokens=1000),) for n in range(1000)]
with Generator(sys.argv[1], "m", concurrency=2, processes=2, request_s=60, stall_s=60) as generator:
    print("running", flush=True)
    generator.run(sessions, arrivals=None, deadline=Deadline("the load", 60))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_its_owner_ends_no_process_is_left(number: signal.Signals) -> None:
    root = Path(__file__).parents[3]
    with running("--token-s", "0.05") as url:
        with subprocess.Popen(
            [sys.executable, "-c", OWNER, url], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as owner:
            assert owner.stdout
            owner.stdout.readline()
            while len(shards := psutil.Process(owner.pid).children()) < 2 or not seen(url).completions:
                time.sleep(0.02)
            owner.send_signal(number)
        for shard in shards:
            with contextlib.suppress(psutil.NoSuchProcess):
                shard.wait(10)
