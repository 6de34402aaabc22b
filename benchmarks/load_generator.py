"""
What a client of streams costs and how wrong its times are, for ours and for others, side by side.

    python -m benchmarks.load_generator [--short] [--streams N...] [--aiperf VENV] [--guidellm VENV]

A compiled server sends every stream its next event at the same instant and knows when it sent each one. The server has
one core, the client another. Processor time a chunk is the slope between two lengths of answer, so that what
a request costs stays apart, at a step in which the slowest client keeps up: one that falls behind reads several chunks
at once and looks cheaper. Times are compared at an engine's step. The compiled client is the limit: it receives,
stamps, and reads one number of each event.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import native
from benchmarks.contenders import ALLOWED_S, CONTENDERS, Run, prompt
from benchmarks.peers import PEERS, Asked, PeerRun
from trials.load.selftest import ask_seen
from trials.load.truth import NS, Sent, Stamped, errors, lost, paired

STEP_S = 0.02
EASY_S = 200e-6  # a stream and step: half as much again as plain httpx takes
LIMIT, OURS, FIELD = "C", "ours", "aiohttp"
MEASURED_AT = 512  # streams at which the targets hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """
    How long to measure.

    Attributes:
        lengths: Tokens of the short and of the long answers whose processor times are compared.
        repeats: Pairs of such runs, whose median counts.
        requests: Of each such run, at least.
        peers_lengths: The same lengths for programs whose start costs seconds of a processor.
        timed: Tokens of the answers whose times are compared.
    """

    streams: tuple[int, ...] = (64, 256, 512)
    lengths: tuple[int, int] = (10, 60)
    repeats: int = 3
    requests: int = 256
    peers_lengths: tuple[int, int] = (10, 160)
    timed: int = 50


SHORT = Effort(streams=(4,), lengths=(2, 4), repeats=1, requests=8, peers_lengths=(2, 4), timed=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The URL of a server with an engine's step, and of one whose step every client keeps up with."""

    real: str
    easy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    A client's figures.

    Attributes:
        chunk_us: Processor time a chunk, microseconds.
        request_ms: Processor time a request beside its chunks, milliseconds; None where it is lost in a long start.
        drain_s: From a step's first send until all of it is stamped, median; None where a client keeps no stamps.
        ttft_ms: By how much a time to first token is wrong: median and 99th percentile.
        itl_ms: The same of the gaps between chunks; of a request's mean gap where a client keeps no stamps.
    """

    client: str
    chunk_us: float
    request_ms: float | None
    drain_s: float | None
    ttft_ms: tuple[float, float]
    itl_ms: tuple[float, float]


def main() -> None:
    """Measure every client at every number of streams; print tables and targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="few streams, for a test: the figures mean nothing")
    parser.add_argument("--streams", type=int, nargs="+", help="how many at once; default: 64 256 512")
    parser.add_argument("--tokens-a-chunk", type=int, default=1)
    for name in PEERS:
        parser.add_argument(f"--{name}", type=Path, metavar="VENV", help=f"a virtual environment with {name}")
    told = parser.parse_args()
    effort = SHORT if told.short else Effort()
    venvs = {name: venv for name in PEERS if (venv := getattr(told, name))}
    with native.built() as programs:
        for streams in told.streams or effort.streams:
            easy_s = max(STEP_S, streams * EASY_S)
            with (
                native.serving(programs, step_s=STEP_S, tokens_a_chunk=told.tokens_a_chunk) as real,
                native.serving(programs, step_s=easy_s, tokens_a_chunk=told.tokens_a_chunk) as easy,
            ):
                servers = Servers(real=real, easy=easy)
                rows = [*measured(programs, servers, streams, effort), *peers(venvs, servers, streams, effort)]
            head = f"{streams} streams; times at a step of {STEP_S * 1e3:g} ms, costs at one of {easy_s * 1e3:g} ms"
            print("\n".join(["", head, *table(rows)]), flush=True)
            if streams == MEASURED_AT:
                print("\n".join(["", *targets({row.client: row for row in rows})]), flush=True)


def measured(programs: Path, servers: Servers, streams: int, effort: Effort) -> Iterator[Row]:
    """Yield the figures of each client that keeps its stamps."""
    requests = max(effort.requests, streams)
    warm_up, *_ = effort.lengths
    for name in (LIMIT, *CONTENDERS):
        costs = printed(
            [*command(name, programs, servers.easy), streams, requests, warm_up, *effort.lengths * effort.repeats]
        )
        ask_seen(servers.easy)
        times = printed([*command(name, programs, servers.real), streams, 2 * streams, warm_up, effort.timed])
        yield of_runs(name, costs[1:], times[1], ask_seen(servers.real)[1])


def command(name: str, programs: Path, url: str) -> list[object]:
    """Return how a client is called, up to how many streams it is to read."""
    if name == LIMIT:
        return [programs / "client", url.rpartition(":")[2]]
    return [sys.executable, "-m", "benchmarks.contenders", name, url]


def printed(argv: Sequence[object]) -> list[Run]:
    """Run a client on its core; return the runs it prints."""
    with subprocess.Popen([str(word) for word in argv], stdout=subprocess.PIPE) as process:
        native.pin(process.pid, native.CLIENT_CORE)
        out, _ = process.communicate(timeout=ALLOWED_S)
    assert process.returncode == 0, f"{argv} ended with {process.returncode}"
    runs: list[Run] = json.loads(out)
    return runs


def of_runs(client: str, costs: Sequence[Run], times: Run, answers: Sequence[Sent]) -> Row:
    """
    Return the figures of a client.

    Args:
        costs: Runs of short and of long answers, in turn.
        times: The run of which the server knows `answers`.
    """
    pairs = list(zip(costs[::2], costs[1::2], strict=True))
    chunk_s = statistics.median(
        (long["cpu_s"] - short["cpu_s"]) / (chunks(long) - chunks(short)) for short, long in pairs
    )
    request_s = statistics.median(
        (short["cpu_s"] - chunk_s * chunks(short)) / len(short["requests"]) for short, _ in pairs
    )
    known = paired([stamps(request) for request in times["requests"]], answers)
    assert len(known) == len(times["requests"]), f"{client}: the server knows {len(known)} of its requests"
    assert not lost(known), f"{client}: {lost(known)} chunks that were sent were not stamped"
    wrong = errors(known, step_s=STEP_S)
    return Row(
        client=client,
        chunk_us=chunk_s * 1e6,
        request_ms=request_s * 1e3,
        drain_s=wrong.drain_p50_s,
        ttft_ms=(wrong.ttft_p50_ms, wrong.ttft_p99_ms),
        itl_ms=(wrong.itl_p50_ms, wrong.itl_p99_ms),
    )


def chunks(run: Run) -> int:
    """Return the chunks that a run stamped."""
    return sum(len(request["stamps_ns"]) for request in run["requests"])


def stamps(request: Mapping[str, Any]) -> Stamped:
    """Return a request as its client printed it."""
    stamps_s = tuple(stamp * NS for stamp in request["stamps_ns"])
    return Stamped(number=request["number"], sent_s=request["sent_ns"] * NS, stamps_s=stamps_s)


def peers(venvs: Mapping[str, Path], servers: Servers, streams: int, effort: Effort) -> Iterator[Row]:
    """Yield the figures of each program that is installed."""
    for name, venv in venvs.items():

        def told(url: str, tokens: int, name: str = name, venv: Path = venv) -> tuple[PeerRun, list[Sent]]:
            asked = Asked(
                url=url,
                model="m",
                concurrency=streams,
                prompts=[prompt(number) for number in range(max(effort.requests, 2 * streams))],
                tokens=tokens,
                core=native.CLIENT_CORE,
            )
            run = PEERS[name](venv, asked)
            return run, [answer for answer in ask_seen(url)[1] if answer.number >= 0]

        costs = [told(servers.easy, tokens) for tokens in effort.peers_lengths]
        yield of_peer(name, costs, *told(servers.real, effort.timed))


def of_peer(client: str, costs: Sequence[tuple[PeerRun, list[Sent]]], times: PeerRun, answers: Sequence[Sent]) -> Row:
    """Return the figures of a program that keeps no stamps: its percentiles less the true ones."""
    (short, short_sent), (long, long_sent) = costs
    ttft_ms = [(answer.sent_s[0] - answer.received_s) * 1e3 for answer in answers]
    tpot_ms = [(answer.sent_s[-1] - answer.sent_s[0]) / (len(answer.sent_s) - 1) * 1e3 for answer in answers]
    return Row(
        client=client,
        chunk_us=(long.cpu_s - short.cpu_s) / (sent(long_sent) - sent(short_sent)) * 1e6,
        request_ms=None,
        drain_s=None,
        ttft_ms=apart(times.ttft_ms, ttft_ms),
        itl_ms=apart(times.tpot_ms, tpot_ms),
    )


def sent(answers: Sequence[Sent]) -> int:
    """Return the chunks that the server sent."""
    return sum(len(answer.sent_s) for answer in answers)


def apart(told: Sequence[float], true: Sequence[float]) -> tuple[float, float]:
    """Return by how much a median and a 99th percentile differ from the true ones."""
    p50, p99 = np.abs(np.percentile(told, [50, 99]) - np.percentile(true, [50, 99]))
    return float(p50), float(p99)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each client, the processor time as a ratio to the limit and to ours too."""
    by_client = {row.client: row.chunk_us for row in rows}
    yield (
        f"{'client':<15}{'us/chunk':>9}{'to C':>7}{'to ours':>8}{'ms/request':>11}{'drain, ms':>10}"
        f"{'TTFT wrong by p50, p99 ms':>27}{'ITL wrong by p50, p99 ms':>26}"
    )
    for row in rows:
        request = "-" if row.request_ms is None else f"{row.request_ms:.3f}"
        drain = "-" if row.drain_s is None else f"{row.drain_s * 1e3:.2f}"
        yield (
            f"{row.client:<15}{row.chunk_us:>9.2f}{row.chunk_us / by_client[LIMIT]:>7.2f}"
            f"{row.chunk_us / by_client[OURS]:>8.2f}{request:>11}{drain:>10}"
            f"{row.ttft_ms[0]:>18.2f},{row.ttft_ms[1]:>8.2f}{row.itl_ms[0]:>17.2f},{row.itl_ms[1]:>8.2f}"
        )


def targets(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield each target beside what was measured; up to 1.00 it is met."""
    ours, drain_s = rows[OURS], rows[OURS].drain_s
    assert drain_s is not None
    figures = (
        ("processor time a chunk, all-in, us", ours.chunk_us, 10.0),
        ("of the C client's", ours.chunk_us / rows[LIMIT].chunk_us, 1.7),
        ("of aiohttp's", ours.chunk_us / rows[FIELD].chunk_us, 1 / 3),
        ("drain of a step", drain_s / STEP_S, 0.2),
        ("TTFT error, median, ms", ours.ttft_ms[0], 5.0),
    )
    for what, value, target in figures:
        yield f"{what}: {value:.2f}, target {target:.2f}: {value / target:.2f} of it"


if __name__ == "__main__":
    main()
