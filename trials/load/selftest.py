"""
Can this client measure this load on this machine? It is tried on a server that knows what is true.

What is tried is the workload at its highest concurrency: its prompts, its answers cut to about a second, and its
arrivals where it has a request rate. How fast the engine will answer nobody knows before: `TOKENS_PER_S_PER_USER` is
assumed where nothing else is said, as it is for the number of the client's processes.
"""

import contextlib
import http.client
import importlib.util
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from pathlib import Path
from statistics import fmean
from urllib.parse import urlsplit

import psutil

from search_spaces import Workload
from trials.deadline import Deadline
from trials.load import calibrated, truth
from trials.load.generator import Generator, processes
from trials.load.timing import Ran, RequestTiming
from trials.load.truth import Sent
from trials.load.workload import Planned, Session, arrivals, sessions

TRIES = 3  # a machine that is busy for a moment must not be refused
LASTING_S = 1.0
ALLOWED_S = 60.0  # for a try: many times what it should take
MODEL = "m"
SEED = "selftest"
TOKENS_PER_S_PER_USER = 50.0
FILLED = (
    2.0  # times as long as an answer: from the first arrival on it takes one until as many are under way as will be
)

RATE_WITHIN = 0.02
MOST_LATE, MOST_CPU, MOST_TTFT_ERROR_MS = 0.25, 0.5, 5.0  # docs/decisions/0005-load.md
BUSY = 0.1  # of a core: another program that uses more is worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """
    What one try found.

    Attributes:
        tokens_per_s_per_user: What the server was asked to send each stream.
        request_rate: Requests that arrived a second; None: each slot sent when its last one had ended.
        processes: Of the client.
        peak: The most requests that the server saw at once: all of them, unless they arrive at a rate.
        failed: Why a request failed, or None if none did.
        rate: Tokens of a slot a second as the client saw them, of what was asked; of an answer where requests arrive.
        server_rate: The same of the server's own sends.
        late: From its send to its stamp, the latest chunk of a step, of the step, median; None if a request failed.
        cpu: Of one core, the busiest process of the client.
        ttft_error_ms: By how much a time to first token is wrong, median; None if a request failed.
        lag_ms: By how much the client's event loop is late, 99th percentile.
    """

    concurrency: int
    tokens_per_s_per_user: float
    processes: int
    peak: int
    failed: str | None
    rate: float
    server_rate: float
    late: float | None
    cpu: float
    ttft_error_ms: float | None
    lag_ms: float
    request_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """
    What a try sends.

    Attributes:
        arrivals: Seconds after the start at which each session is due; None: as soon as a slot is free.
        request_rate: Of the arrivals.
    """

    sessions: Sequence[Session]
    arrivals: Sequence[float] | None = None
    request_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """
    The best of a few tries.

    Attributes:
        faults: Why the client can't measure the load; none if it can.
        advice: What would help.
    """

    figures: Figures
    faults: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def fit(self) -> bool:
        """Whether the client can measure the load on this machine."""
        return not self.faults


def selftest(
    workload: Workload,
    *,
    file: Path | None = None,
    concurrency: int | None = None,
    tokens_per_s_per_user: float = TOKENS_PER_S_PER_USER,
) -> SelfTest:
    """
    Try the client at a workload's lengths and arrivals, for a second or two a try, until one shows no fault.

    Args:
        file: Of the workload's trace or prompts, where its shape is one.
        concurrency: Default: the workload's highest.
        tokens_per_s_per_user: What the engine is taken to send each of them.
    """
    clients = concurrency or max(workload.concurrency)
    load = _load(workload, clients, file=file, tokens=max(2, round(LASTING_S * tokens_per_s_per_user)))
    with served(1 / tokens_per_s_per_user) as url:
        return min(
            _until_fit(_try(url, load, clients, tokens_per_s_per_user) for _ in range(TRIES)),
            key=lambda test: len(test.faults),
        )


@contextlib.contextmanager
def served(step_s: float) -> Iterator[str]:
    """Run the calibrated server for the block; yield its URL."""
    argv = [sys.executable, "-P", calibrated.__file__, str(step_s)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout  # noqa: S101 for the type: it is a pipe
        _, port = process.stdout.readline().split()
        yield f"http://{calibrated.HOST}:{port}"


def ask_seen(url: str) -> tuple[int, tuple[Sent, ...]]:
    """Return what a calibrated server has seen since it was last asked."""
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=ALLOWED_S)) as connection:
        connection.request("GET", "/seen")
        return truth.seen(connection.getresponse().read())


def faults(figures: Figures) -> tuple[str, ...]:
    """Return why the client can't measure such a load; nothing if it can."""
    if figures.late is None or figures.ttft_error_ms is None:
        return (f"a request failed: {figures.failed}",)
    found = (
        (
            figures.request_rate is None and figures.peak != figures.concurrency,
            f"the server saw {figures.peak} requests at once, not {figures.concurrency}",
        ),
        (
            figures.server_rate < 1 - RATE_WITHIN,
            f"the calibrated server itself kept only {figures.server_rate:.1%} of its rate",
        ),
        (
            figures.server_rate >= 1 - RATE_WITHIN and abs(figures.rate - 1) > RATE_WITHIN,
            f"throughput is {figures.rate:.1%} of what was asked, not within {RATE_WITHIN:.0%}",
        ),
        (
            figures.late >= MOST_LATE,
            f"a step has been read {figures.late:.2f} of its time after it was sent, not under {MOST_LATE:g}",
        ),
        (
            figures.cpu >= MOST_CPU,
            f"a process of the client takes {figures.cpu:.0%} of a core, not under {MOST_CPU:.0%}",
        ),
        (
            figures.ttft_error_ms >= MOST_TTFT_ERROR_MS,
            f"time to first token is wrong by {figures.ttft_error_ms:.1f} ms, not under {MOST_TTFT_ERROR_MS:g} ms",
        ),
    )
    return tuple(words for holds, words in found if holds)


def advice(figures: Figures, *, cores: int, uvloop: bool, others: Mapping[str, float]) -> tuple[str, ...]:
    """
    Return what would help a client that is not fit.

    Args:
        uvloop: Whether it is installed.
        others: The cores that other programs took during the try, by name.
    """
    busy = sorted((name for name, share in others.items() if share >= BUSY), key=others.__getitem__, reverse=True)
    told = []
    if busy:
        named = ", ".join(f"{name} ({others[name]:.1f} of a core)" for name in busy[:3])
        told.append(f"end other programs that use the {cores} cores: {named}")
    if not uvloop:
        told.append("pip install uvloop: the client then takes less than half the processor time")
    if figures.processes >= cores:
        told.append(f"measure on a machine with more than {cores} cores, or at a lower concurrency")
    return tuple(told)


def _until_fit(tries: Iterator[SelfTest]) -> Iterator[SelfTest]:
    for test in tries:
        yield test
        if test.fit:
            return


def _load(workload: Workload, clients: int, *, file: Path | None, tokens: int) -> Offered:
    """
    Return the workload's requests, each of at most `tokens` tokens and known by its number, none paused.

    Cut answers that arrive at a rate arrive so much faster that as many are under way as of whole ones.
    """
    drawn = sessions(workload, concurrency=clients, waves=1, seed=SEED, contents="", file=file)
    whole = list(chain.from_iterable(drawn))
    turns = [replace(turn, output_tokens=min(turn.output_tokens, tokens), pause_s=0.0) for turn in whole]
    mean = fmean(turn.output_tokens for turn in turns)
    closed = math.ceil(tokens / mean) * clients
    if workload.request_rate is None:
        return Offered(sessions=_first(turns, closed))
    rate = workload.request_rate * len(whole) / len(drawn) * fmean(turn.output_tokens for turn in whole) / mean
    count = min(math.ceil(FILLED * LASTING_S * rate), math.ceil(FILLED) * closed)
    arriving = workload.model_copy(update={"request_rate": rate})
    return Offered(sessions=_first(turns, count), arrivals=arrivals(arriving, count, SEED), request_rate=rate)


def _first(turns: Sequence[Planned], count: int) -> list[Session]:
    """Return so many requests, over and over the same ones but for their numbers."""
    return [(_numbered(turn, number),) for number, turn in enumerate(islice(cycle(turns), count))]


def _numbered(turn: Planned, number: int) -> Planned:
    prompt = turn.prompt
    return replace(turn, prompt=f"{number} {prompt}" if isinstance(prompt, str) else (number, *prompt[1:]))


def _try(url: str, load: Offered, clients: int, rate: float) -> SelfTest:
    """Send the load with as many processes as a study takes for it."""
    with Generator(
        url, MODEL, concurrency=clients, processes=processes(clients), request_s=ALLOWED_S, stall_s=ALLOWED_S
    ) as generator:
        before = _used_s()
        ran = generator.run(load.sessions, arrivals=load.arrivals, deadline=Deadline("the self-test", ALLOWED_S))
        after = _used_s()
    lasting_s = ran.ended_s - ran.begun_s
    others = {name: (used_s - before.get(name, used_s)) / lasting_s for name, used_s in after.items()}
    peak, answers = ask_seen(url)
    figures = _figures(ran, load, answers, concurrency=clients, peak=peak, rate=rate)
    found = faults(figures)
    uvloop = importlib.util.find_spec("uvloop") is not None
    cores = len(os.sched_getaffinity(0))
    return SelfTest(
        figures=figures,
        faults=found,
        advice=advice(figures, cores=cores, uvloop=uvloop, others=others) if found else (),
    )


def _figures(ran: Ran, load: Offered, answers: Sequence[Sent], *, concurrency: int, peak: int, rate: float) -> Figures:
    pairs = truth.paired((truth.stamped(timing, timing.number) for timing in ran.timings), answers)
    whole = len(pairs) == len(ran.timings) and not truth.lost(pairs)
    failed = next((t.error for t in ran.timings if t.error), None if whole else "chunks that were sent did not arrive")
    errors = truth.errors(pairs, step_s=1 / rate) if not failed else None
    return Figures(
        concurrency=concurrency,
        tokens_per_s_per_user=rate,
        processes=ran.client.processes,
        peak=peak,
        failed=failed,
        rate=(_slot_rate if load.arrivals is None else _answer_rate)(ran.timings) / rate,
        server_rate=_rate([answer.sent_s for answer in answers]) / rate,
        late=errors.late_p50_s * rate if errors else None,
        cpu=ran.client.cpu_share,
        ttft_error_ms=errors.ttft_p50_ms if errors else None,
        lag_ms=ran.client.lag_p99_s * 1e3,
        request_rate=load.request_rate,
    )


def _slot_rate(timings: Sequence[RequestTiming]) -> float:
    """Return the tokens a second of a slot from its first stamp to its last: what it lost between requests counts."""
    slots: dict[int, list[float]] = defaultdict(list)
    for timing in timings:
        slots[timing.slot] += truth.stamped(timing, timing.number).stamps_s
    return _rate([sorted(stamps) for stamps in slots.values()])


def _answer_rate(timings: Sequence[RequestTiming]) -> float:
    """Return the tokens a second of an answer: between two of them a slot may wait for the next arrival."""
    return _rate([truth.stamped(timing, timing.number).stamps_s for timing in timings])


def _rate(times_s: Sequence[Sequence[float]]) -> float:
    """Return how often, on average, something happens in each sequence of times, a second; 0 if it can't be said."""
    spans_s = sum(times[-1] - times[0] for times in times_s if times)
    return sum(len(times) - 1 for times in times_s if times) / spans_s if spans_s else 0.0


def _used_s() -> dict[str, float]:
    """Return the processor seconds that programs other than this and its children have used, by name and pid."""
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    used = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        info = process.info
        if info["pid"] not in ours and info["cpu_times"]:
            used[f"process {info['pid']}, {info['name']}"] = info["cpu_times"].user + info["cpu_times"].system
    return used
