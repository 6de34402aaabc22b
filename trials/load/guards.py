"""
What makes a run no measurement: pure checks of a run against what was asked, against the server, against itself.

Source of the limits: docs/decisions/0006-windows.md.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from trials.load.counters import Counters
from trials.load.meter import LAG_EVERY_S
from trials.load.metrics import e2el_ms, tpot_ms
from trials.load.point import Point
from trials.load.timing import Ran, RequestTiming
from trials.load.windows import FULL, Interval, slope, steady_stretch
from trials.load.workload import prefix_share, words_sent

TURNAROUND_S = 0.002
"""A slot may be idle so long between two requests: what other clients take of a processor for one."""
STALLS = 0.05
"""Of a run's gaps between requests, one at least, the longest are a host's scheduler, and not a client too slow."""
CPU_SHARE = 0.5
"""Of one core, of the busiest process: a client that has more to do at times falls behind."""
LAG_STEPS, LAG_S = 1.0, 0.025
"""A loop may be late by a step, or by the slice of a busy host's scheduler."""
LAG_TIMERS = 20
"""Of fewer timers the 99th percentile is the worst one or close to it: one stall of the host speaks for the client."""
DRAIN_STEPS, DRAIN_S = 0.25, 0.005
"""A step's chunks must be stamped in a quarter of it; 5 ms is that of a 20 ms step."""
COUNTED = 0.005
"""By how much the server's counter of generated tokens may differ from its answers."""
INPUT_TOKENS = 2
"""Ids that a server may add to those sent: begin and end of text."""
CUT = 0.1
"""Share of a prompt's words that may be missing in the server's count of its tokens."""
HIT_SHARE = 0.02
"""Of the prompts' tokens, that the cache may serve beyond what the workload means."""
SILENT = 0.01
"""Share of answers without a visible letter: some tokens stand for nothing, but hardly all those of an answer."""
USER_TOK_PER_S = 20_000.0
"""Faster is no engine: the fastest public service gives one user about 3,000 (see genai-bench issue 31)."""
FLUSHED = 2
"""Chunks with content that may come without a token of their own: what a detokenizer held back."""
SLOPES = ((0.02, 4.9), (0.10, 3.0))
"""(change, standard errors) not both to be exceeded: 4.9 of a line through 8 slices are as rare as 3 of a normal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """
    Why a run is no measurement.

    Attributes:
        whose: The engine's fault, or the client's and its host's.
        late: Whether a deadline passed while no request was under way that could have said so.
    """

    whose: Literal["engine", "client"]
    reason: str
    late: bool = False


def failed(ran: Ran) -> tuple[Fault, ...]:
    """Return what is wrong with a run's answers: a request that failed, or was not answered as it was asked."""
    return tuple(itertools.islice(_answers(ran.timings), 1))


def faults(ran: Ran, point: Point, counted: Counters | None) -> tuple[Fault, ...]:
    """
    Return all that makes a measured run invalid; wrong answers alone, since the rest would only follow from them.

    A client that was too slow stamps late: then nothing that rests on when chunks came is held against the engine.

    Args:
        counted: What the server counted over the run; None where it does not say.
    """
    if wrong := failed(ran):
        return wrong
    stretch = steady_stretch(ran.timings, point.concurrency, open_loop=point.workload.request_rate is not None)
    if stretch is None:
        reason = f"{len(ran.timings)} requests never kept {point.concurrency} slots busy: send more waves"
        return (Fault(whose="client", reason=reason),)
    client = tuple(_client(ran, point, stretch))
    return (
        *_content(ran.timings),
        *(client or _streams(ran.timings, point.stall_s)),
        *_implausible(ran.timings),
        *_cut(ran.timings, point),
        *_server(ran.timings, point, counted),
        *_trend(ran.timings, stretch),
    )


def idle_share(timings: Sequence[RequestTiming], stretch: Interval, concurrency: int) -> float:
    """
    Return which share of the slots' time in a stretch the client left them idle.

    Each gap counts beyond `TURNAROUND_S`, and the longest `STALLS` of them not at all: a host that holds the client up
    once makes one long gap, a client that can't keep up makes most of them long.
    """
    start_s, end_s = stretch
    gaps = sorted(max(0.0, t.sent_s - t.due_s - TURNAROUND_S) for t in timings if start_s <= t.due_s < end_s)
    kept = gaps[: len(gaps) - math.ceil(STALLS * len(gaps))]
    return sum(kept) / ((end_s - start_s) * concurrency)


def hit_share(timings: Sequence[RequestTiming], counted: Counters | None) -> float | None:
    """
    Return which share of the prompts' tokens came from the prefix cache; None where the server does not say.

    By its counters, or else by the usage of its answers.
    """
    if counted and counted.hit_share is not None:
        return counted.hit_share
    cached = [timing.cached_tokens for timing in timings if timing.cached_tokens is not None]
    sent = sum(timing.prompt_tokens or 0 for timing in timings)
    return sum(cached) / sent if cached and sent else None


def _answers(timings: Sequence[RequestTiming]) -> Iterator[Fault]:
    """Yield what is wrong with the answers themselves; the first one of each kind stands for the others."""
    checks: tuple[Callable[[RequestTiming], str | None], ...] = (_failed, _length, _finish, _input)
    for check in checks:
        if reasons := [reason for timing in timings if (reason := check(timing))]:
            more = f" ({len(reasons)} of {len(timings)} requests)" if len(reasons) > 1 else ""
            yield Fault(whose="engine", reason=reasons[0] + more)
    if not timings:
        yield Fault(whose="client", reason="no request was sent")


def _failed(timing: RequestTiming) -> str | None:
    return timing.error


def _length(timing: RequestTiming) -> str | None:
    if timing.completion_tokens is None or timing.prompt_tokens is None:
        return "the stream ended without usage: nobody knows how many tokens it had"
    if timing.completion_tokens != timing.asked_output_tokens:
        return f"answered {timing.completion_tokens} of {timing.asked_output_tokens} tokens asked with ignore_eos"
    return None


def _finish(timing: RequestTiming) -> str | None:
    """Return what ended an answer other than its length; a stream that does not say is told by its tokens."""
    if timing.finish_reason in {None, "length"}:
        return None
    return f"an answer asked with ignore_eos ended with finish_reason {timing.finish_reason!r} in place of 'length'"


def _input(timing: RequestTiming) -> str | None:
    asked, got = timing.asked_input_tokens, timing.prompt_tokens
    if asked is None or got is None or abs(got - asked) <= INPUT_TOKENS:
        return None
    return f"sent {asked} ids and the server counted {got} prompt tokens, more than {INPUT_TOKENS} apart"


def _content(timings: Sequence[RequestTiming]) -> Iterator[Fault]:
    silent = sum(t.first_token_s is None for t in timings) / len(timings)
    if silent > SILENT:
        yield Fault(whose="engine", reason=f"{silent:.1%} of the answers had no visible content, over {SILENT:.0%}")


def _streams(timings: Sequence[RequestTiming], stall_s: float) -> Iterator[Fault]:
    """Yield where a stream stood still, or none of those with content was one."""
    if (longest_s := max((gap for t in timings for gap in t.gaps_s), default=0.0)) > stall_s:
        yield Fault(whose="engine", reason=f"one stream stood still for {longest_s:.3g} s, over {stall_s:g} s")
    spoken = [t for t in timings if t.first_token_s is not None]
    if spoken and all(tpot_ms(t) is None for t in spoken):
        reason = "every answer came at one moment: there is no time per token; the server must stream"
        yield Fault(whose="engine", reason=reason)


def _implausible(timings: Sequence[RequestTiming]) -> Iterator[Fault]:
    """Yield what no engine and no clock can have done."""
    for timing in timings:
        moments = [timing.due_s, timing.sent_s, timing.first_token_s, timing.last_token_s, timing.ended_s]
        there = [moment for moment in moments if moment is not None]
        if there != sorted(there):
            reason = f"request {timing.number} has times out of order: due, sent, first, last, ended {moments}"
            yield Fault(whose="client", reason=reason)
            break
    extra = max(timing.chunks - (timing.completion_tokens or 0) for timing in timings)
    if extra > FLUSHED:
        reason = f"an answer had {extra} chunks more than the tokens its usage counts, over {FLUSHED}"
        yield Fault(whose="engine", reason=reason)
    speeds = [(t.completion_tokens or 0) / ms * 1e3 for t in timings if (ms := e2el_ms(t))]
    if speeds and (speed := median(speeds)) > USER_TOK_PER_S:
        reason = f"an answer comes at {speed:,.0f} tok/s, over {USER_TOK_PER_S:,.0f}: no engine writes so fast"
        yield Fault(whose="engine", reason=reason)


def _client(ran: Ran, point: Point, stretch: Interval) -> Iterator[Fault]:
    """Yield where the client was too slow for what it measures; it can't be for an endpoint that keeps the clock."""
    if ran.client.virtual:
        return
    reached = 1 - idle_share(ran.timings, stretch, point.concurrency)
    if point.workload.request_rate is None and reached < FULL:
        reason = f"the client kept {reached:.1%} of concurrency {point.concurrency} active, under {FULL:.0%}"
        yield Fault(whose="client", reason=reason)
    use = ran.client
    if use.cpu_share > CPU_SHARE:
        reason = f"the client took {use.cpu_share:.0%} of a core, over {CPU_SHARE:.0%}: give it more processes or cores"
        yield Fault(whose="client", reason=reason)
    step_s = median([ms for t in ran.timings if (ms := tpot_ms(t)) is not None] or [0.0]) / 1e3
    lag_s = max(LAG_STEPS * step_s, LAG_S)
    if ran.ended_s - ran.begun_s >= LAG_TIMERS * LAG_EVERY_S and use.lag_p99_s > lag_s:
        yield Fault(whose="client", reason=f"the client's loop was {_ms(use.lag_p99_s)} late (p99), over {_ms(lag_s)}")
    drain_s = max(DRAIN_STEPS * step_s, DRAIN_S)
    if use.drain_p99_s is not None and use.drain_p99_s > drain_s:
        reason = f"the client took {_ms(use.drain_p99_s)} to stamp what came at once (p99), over {_ms(drain_s)}"
        yield Fault(whose="client", reason=reason)


def _server(timings: Sequence[RequestTiming], point: Point, counted: Counters | None) -> Iterator[Fault]:
    """Yield where the server's own counters contradict its answers, or what its cache was meant to do."""
    output = sum(timing.completion_tokens or 0 for timing in timings)
    sent = sum(timing.prompt_tokens or 0 for timing in timings)
    if counted and counted.generation_tokens is not None:
        off = counted.generation_tokens / output - 1
        if abs(off) > COUNTED:
            says = f"the server counted {counted.generation_tokens} tokens and its answers have {output}"
            who: Literal["engine", "client"] = "engine" if off < 0 else "client"
            why = "its usage is wrong" if off < 0 else "somebody else uses it"
            yield Fault(whose=who, reason=f"{says}, {off:+.1%} and over {COUNTED:.1%} apart: {why}")
    share, meant = hit_share(timings, counted), _meant(point)
    if share is None or meant is None:
        return
    most = meant + max(HIT_SHARE, INPUT_TOKENS * len(timings) / sent)
    if share > most:
        reason = f"{share:.1%} of the prompts' tokens came from the prefix cache, over {most:.1%}"
        yield Fault(whose="engine", reason=f"{reason}: the load means {meant:.1%}")


def _cut(timings: Sequence[RequestTiming], point: Point) -> Iterator[Fault]:
    """Yield where prompts of words are fewer tokens than words: a vocabulary may split a word, and joins no two."""
    words = words_sent(
        point.workload, concurrency=point.concurrency, waves=point.workload.waves, seed=point.seed, file=point.file
    )
    texts = [timing.prompt_tokens or 0 for timing in timings if timing.asked_input_tokens is None]
    if words is not None and texts and (counted := fmean(texts)) < (1 - CUT) * words:
        reason = f"prompts of {words:.1f} words on average are {counted:.1f} tokens to the server: it cuts them"
        yield Fault(whose="engine", reason=reason)


def _meant(point: Point) -> float | None:
    return prefix_share(
        point.workload,
        concurrency=point.concurrency,
        waves=point.workload.waves,
        seed=point.seed,
        file=point.file,
    )


def _trend(timings: Sequence[RequestTiming], stretch: Interval) -> Iterator[Fault]:
    if (found := slope(timings, stretch)) is None:
        return
    for change, errors in SLOPES:
        if abs(found.change) > max(change, errors * found.standard_error):
            limits = f"over {change:.0%} and {errors:g} standard errors of {found.standard_error:.2%}"
            reason = f"tok/s changed by {found.change:+.1%} over the run, {limits}: the engine or its host was unsteady"
            yield Fault(whose="client", reason=reason)
            return


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
