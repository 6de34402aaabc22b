"""Loops whose true rate is known: requests as a client would have seen them."""

import heapq
import random
from collections.abc import Callable
from dataclasses import replace

from trials.load.timing import ClientUse, Ran, RequestTiming

TOKENS_PER_S = 100
"""Of one slot, in and out together: a request has as many as its seconds say."""

IDLE = ClientUse(processes=1, cpu_share=0.1, lag_p99_s=0.001, lag_max_s=0.02, drain_p99_s=0.0001)

Draw = Callable[[random.Random], float]


def request(  # noqa: PLR0917 fields
    number: int, slot: int, sent_s: float, seconds: float, tokens: int = 20, chunks: int = 20
) -> RequestTiming:
    """Return a request without trouble: a tenth of its time until the first token, then one after the other."""
    first_s, ended_s = sent_s + seconds / 10, sent_s + seconds
    gaps = ((ended_s - first_s) / (chunks - 1),) * (chunks - 1) if chunks > 1 else ()
    return RequestTiming(
        number=number,
        slot=slot,
        due_s=sent_s,
        sent_s=sent_s,
        first_token_s=first_s,
        last_token_s=ended_s,
        ended_s=ended_s,
        asked_input_tokens=0,
        asked_output_tokens=tokens,
        prompt_tokens=0,
        completion_tokens=tokens,
        cached_tokens=0,
        chunks=chunks,
        gaps_s=gaps,
        finish_reason="length",
    )


def closed_loop(concurrency: int, waves: int, draw: random.Random, seconds: Draw) -> list[RequestTiming]:
    """Return the requests of slots that pull from one list without pause."""
    free = [(0.0, slot) for slot in range(concurrency)]
    timings = []
    for number in range(concurrency * waves):
        now_s, slot = heapq.heappop(free)
        lasting_s = seconds(draw)
        timings.append(request(number, slot, now_s, lasting_s, tokens=round(lasting_s * TOKENS_PER_S)))
        heapq.heappush(free, (now_s + lasting_s, slot))
    return timings


def ran(timings: list[RequestTiming], client: ClientUse = IDLE) -> Ran:
    """Return these requests as a run."""
    begun_s, ended_s = min(t.sent_s for t in timings), max(t.ended_s for t in timings)
    return Ran(timings=tuple(timings), begun_s=begun_s, ended_s=ended_s, client=client)


def moved(timing: RequestTiming, seconds: float, *, due: bool = False) -> RequestTiming:
    """Return a request that was sent later, or also due later."""
    first_s, last_s = timing.first_token_s, timing.last_token_s
    return replace(
        timing,
        due_s=timing.due_s + seconds * due,
        sent_s=timing.sent_s + seconds,
        first_token_s=None if first_s is None else first_s + seconds,
        last_token_s=None if last_s is None else last_s + seconds,
        ended_s=timing.ended_s + seconds,
    )
