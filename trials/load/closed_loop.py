"""A closed loop: C clients, each sends its next request when the last one ended."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from trials.deadline import Deadline
from trials.load.client import Connection
from trials.load.metrics import RequestTiming, inside
from trials.load.workload import prompts

WHOLE_REQUESTS = 2  # a slot's fewest whole requests in a window: its rate needs a beginning and an end
POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """
    What one point of the ladder asks for: tokens in and out, how many at once, how long.

    Attributes:
        request_s: Seconds that one request may take.
        stall_s: Seconds that may pass without a token of any stream.
        load_s: Seconds that the whole point may take.
    """

    concurrency: int
    input_tokens: int
    output_tokens: int
    warmup_s: float
    window_s: float
    windows: int
    request_s: float
    stall_s: float
    load_s: float
    seed: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """
    All requests of a point and the windows cut from them.

    Attributes:
        timings: Every request, warm-up and drain too.
        edges_s: (start, end) of each measured window, on the clock of the timings.
    """

    timings: tuple[RequestTiming, ...]
    edges_s: tuple[tuple[float, float], ...]

    def windows(self) -> list[list[RequestTiming]]:
        """Return the whole requests of each window."""
        return [inside(self.timings, start, end) for start, end in self.edges_s]

    def rows(self) -> Iterator[tuple[int, RequestTiming]]:
        """Yield (window, timing): windows count from 1, 0 is warm-up, drain, or a request over an edge."""
        for timing in self.timings:
            whole = (n for n, edges in enumerate(self.edges_s, 1) if inside([timing], *edges))
            yield next(whole, 0), timing


@dataclass
class _Loop:
    """What the clients of a running loop share."""

    timings: list[RequestTiming] = field(default_factory=list)
    stopping: bool = False

    def fewest(self, start_s: float, concurrency: int) -> int:
        """Return the whole requests since `start_s` of the slot that has the fewest."""
        whole = Counter(timing.slot for timing in inside(self.timings, start_s, math.inf))
        return min(whole[slot] for slot in range(concurrency))


def run(url: str, model: str, point: Point) -> Loaded:
    """
    Load an endpoint at one point: warm up, measure the windows, let the last requests finish.

    A request that fails ends the loop early, and so do a stall and the point's own deadline, by which the requests in
    flight then fail; it stands in the timings with its error.
    """
    return asyncio.run(_run(url, model, point))


async def _run(url: str, model: str, point: Point) -> Loaded:
    loop = _Loop()
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(Connection(url, model, request_s=point.request_s))
            for _ in range(point.concurrency)
        ]
        async with asyncio.TaskGroup() as group:
            slots = [group.create_task(_slot(loop, *each, point)) for each in enumerate(connections)]
            watchdog = group.create_task(_watch(loop, connections, point))
            edges = await _conduct(loop, point)
            loop.stopping = True
            await asyncio.wait(slots)
            watchdog.cancel()
    return Loaded(tuple(loop.timings), tuple(edges))


async def _slot(loop: _Loop, slot: int, connection: Connection, point: Point) -> None:
    for prompt in prompts(point.input_tokens, f"{point.seed}/{point.concurrency}/{slot}"):
        if loop.stopping:
            return
        timing = await connection.request(slot, prompt, output_tokens=point.output_tokens)
        loop.timings.append(timing)
        if timing.error:
            loop.stopping = True


async def _watch(loop: _Loop, connections: Sequence[Connection], point: Point) -> None:
    """Give up every request in flight when no stream has brought a token for too long, or the point takes too long."""
    deadline, begun_s = Deadline("the load", point.load_s), time.perf_counter()
    while deadline.left_s and not (stalled := _stalled(connections, begun_s, point.stall_s)):  # noqa: ASYNC110 as below
        await asyncio.sleep(POLL_S)
    loop.stopping = True
    for connection in connections:
        connection.give_up(f"no token for {point.stall_s:g} s" if stalled else deadline.reason)


def _stalled(connections: Sequence[Connection], begun_s: float, stall_s: float) -> bool:
    newest_s = max(connection.token_s or begun_s for connection in connections)
    return time.perf_counter() - newest_s > stall_s


async def _conduct(loop: _Loop, point: Point) -> Sequence[tuple[float, float]]:
    """Wait for the warm-up, then for each window; return the windows' edges."""
    await _stretch(loop, point, point.warmup_s, whole=1)
    return [await _stretch(loop, point, point.window_s, whole=WHOLE_REQUESTS) for _ in range(point.windows)]


async def _stretch(loop: _Loop, point: Point, seconds: float, *, whole: int) -> tuple[float, float]:
    """Wait `seconds`, and on until every slot has had its whole requests; return when it began and ended."""
    start_s = time.perf_counter()
    while not loop.stopping and (  # noqa: ASYNC110 time itself is waited for
        time.perf_counter() - start_s < seconds or loop.fewest(start_s, point.concurrency) < whole
    ):
        await asyncio.sleep(POLL_S)
    return start_s, time.perf_counter()
