"""
Send one slice of a load: a process of its own, so that its loop has a processor and no other work.

A program, `python -m trials.load.shard FD`: the generator starts it with one end of a socket pair, over which their
messages go, and it ends when the other end is closed. While a run goes on nothing is parsed and no garbage collected:
the answers lie in memory as they came, some 400 bytes a chunk, until the last one has ended.
"""

import asyncio
import contextlib
import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from time import perf_counter

from trials.load import stream
from trials.load.clock import Clock, OwnClock, VirtualClock
from trials.load.messages import Beat, Done, Load, Ready, Setup, Start, Stop, Turn
from trials.load.meter import METERED, Meter
from trials.load.timing import RequestTiming
from trials.load.transport import DROPPED, Address, Reply, StampTransport, Unanswered, posted

NEW_LOOP: Callable[[], asyncio.AbstractEventLoop] | None = None
with contextlib.suppress(ImportError):
    import uvloop

    NEW_LOOP = uvloop.new_event_loop


@dataclass(slots=True, eq=False)
class _Exchange:
    """A request on its way."""

    turn: Turn
    slot: int
    due_s: float
    tried_s: float
    ended_s: float = 0.0
    reply: Reply | None = None
    error: str | None = None
    timed_out: bool = False
    resent: bool = False

    @property
    def failed(self) -> bool:
        """Whether it has failed, as far as can be told cheaply."""
        return (
            self.error is not None or self.reply is None or stream.failed(self.reply.pieces, self.reply.framing.status)
        )

    @property
    def token_s(self) -> float:
        """When its newest token came, 0 before the first; a server's keep-alive comments are none."""
        pieces = self.reply.pieces if self.reply else []
        return next((stamp_ns for stamp_ns, data in reversed(pieces) if b"data:" in data), 0) / 1e9

    def timing(self, clock: Clock) -> RequestTiming:
        """Parse the answer."""
        said = clock.read(self.reply.pieces if self.reply else [])
        return RequestTiming(
            number=self.turn.number,
            slot=self.slot,
            due_s=self.due_s,
            sent_s=clock.sent_s(self.reply, due_s=self.due_s, tried_s=self.tried_s),
            first_token_s=said.first_s,
            last_token_s=said.last_s,
            ended_s=self.ended_s,
            asked_input_tokens=self.turn.input_tokens,
            asked_output_tokens=self.turn.output_tokens,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            cached_tokens=said.cached_tokens,
            chunks=said.chunks,
            gaps_s=said.gaps_s,
            finish_reason=said.finish_reason,
            error=self.error or said.error,
            refused=said.refused,
            timed_out=self.timed_out,
            resent=self.resent,
        )


@dataclass(slots=True)
class _Slot:
    """One client: a connection, a request at a time."""

    number: int
    transport: StampTransport
    timeout: asyncio.Timeout | None = None


@dataclass(frozen=True, slots=True)
class _Session:
    """Encoded requests, and when the first is due after the start, if that is fixed."""

    turns: list[tuple[Turn, bytes]]
    arrival_s: float | None


class _Run:
    """One run of this shard's slice."""

    def __init__(self, setup: Setup, load: Load, generator: Connection) -> None:
        self._url = Address(f"{setup.url}/v1/completions")
        self._request_s, self._beat_s = setup.request_s, setup.beat_s
        self._generator = generator
        self._meter = Meter()
        self._clock: Clock = OwnClock()
        if setup.virtual_slots is not None:
            self._clock = VirtualClock(setup.url, load.run, setup.virtual_slots)
        self._slots = [
            _Slot(number, StampTransport(self._meter.drains if place % METERED == 0 else None))
            for place, number in enumerate(setup.slots)
        ]
        arrivals = load.arrivals or [None] * len(load.sessions)
        self._waiting = deque(
            _Session([(turn, posted(self._url, turn.body)) for turn in session], arrival_s)
            for session, arrival_s in zip(load.sessions, arrivals, strict=True)
        )
        self._exchanges: list[_Exchange] = []
        self._in_flight: set[_Exchange] = set()
        self._busy_since_s = self._token_s = 0.0
        self._failed = False
        self._given_up: str | None = None

    async def run(self) -> None:
        """Connect, wait for the start, send until all has ended."""
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[float] = loop.create_future()
        self._stopping = asyncio.Event()
        loop.add_reader(self._generator.fileno(), self._hear)
        os.set_blocking(self._generator.fileno(), True)  # libuv unblocks what it polls
        await self._connect()
        self._generator.send(Ready())
        begun_s = self._clock.begun_s(await self._started)
        await self._until(begun_s)
        self._meter.begin()
        beating = loop.create_task(self._beat())
        await asyncio.gather(*(self._serve(slot, begun_s) for slot in self._slots))
        beating.cancel()
        self._use = replace(self._meter.end(), virtual=self._clock.virtual)
        self._report()
        loop.remove_reader(self._generator.fileno())
        for slot in self._slots:
            await slot.transport.aclose()

    def done(self) -> Done:
        """Parse the answers of a run that is over."""
        return Done(tuple(exchange.timing(self._clock) for exchange in self._exchanges), self._use)

    async def _connect(self) -> None:
        """Open the connections, one by one: servers' queues for new ones are short. A request that fails will tell."""
        with contextlib.suppress(Unanswered, TimeoutError):
            async with asyncio.timeout(self._request_s):
                for slot in self._slots:
                    await slot.transport.connect(self._url)

    def _hear(self) -> None:
        """Take what the generator says; its end is ours."""
        try:
            message = self._generator.recv()
        except (EOFError, ConnectionError):
            os._exit(0)  # nobody waits for anything of ours
        if isinstance(message, Stop):
            self._stop(message.why)
        if not self._started.done():
            self._started.set_result(message.at_s if isinstance(message, Start) else perf_counter())

    def _stop(self, why: str | None) -> None:
        """Send nothing more; with a reason, give up the requests in flight as out of time."""
        self._stopping.set()
        self._given_up = why
        for slot in self._slots:
            if why is not None and slot.timeout is not None and not slot.timeout.expired():
                slot.timeout.reschedule(asyncio.get_running_loop().time())

    async def _beat(self) -> None:
        while True:
            self._report()
            await asyncio.sleep(self._beat_s)

    def _report(self) -> None:
        newer = (exchange.token_s for exchange in self._in_flight if exchange.token_s > self._token_s)
        self._token_s = next(newer, self._token_s)
        busy_since_s = self._busy_since_s if self._in_flight else None
        self._generator.send(Beat(token_s=self._token_s, busy_since_s=busy_since_s, failed=self._failed))

    async def _serve(self, slot: _Slot, begun_s: float) -> None:
        """Send all that a slot has to send, and take leave where the endpoint waits for it."""
        await self._sessions(slot, begun_s)
        if farewell := self._clock.farewell(slot.number):
            with contextlib.suppress(Unanswered, TimeoutError):
                async with asyncio.timeout(self._request_s):
                    await (await slot.transport.send(self._url, farewell)).end()

    async def _sessions(self, slot: _Slot, begun_s: float) -> None:
        """Send one session after another, a turn when the one before has ended and its pause has passed."""
        due_s = begun_s
        while self._waiting:
            session = self._waiting.popleft()
            due_s = due_s if session.arrival_s is None else begun_s + session.arrival_s
            for turn, request in session.turns:
                due_s += turn.pause_s
                if not await self._until(due_s):
                    return
                due_s = await self._request(slot, turn, request, due_s)

    async def _until(self, due_s: float) -> bool:
        """Wait for a moment; return whether the run still goes on then."""
        while not self._stopping.is_set() and (left_s := self._clock.left_s(due_s)) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._stopping.wait()
        return not self._stopping.is_set()

    async def _request(self, slot: _Slot, turn: Turn, request: bytes, due_s: float) -> float:
        """Have one request answered; what goes wrong stands in the exchange. Return when it ended."""
        exchange = _Exchange(turn, slot.number, due_s, tried_s=perf_counter())
        self._exchanges.append(exchange)
        if not self._in_flight:
            self._busy_since_s = exchange.tried_s
        self._in_flight.add(exchange)
        try:
            async with asyncio.timeout(self._request_s) as slot.timeout:
                placed = self._clock.request(request, turn.body, slot=slot.number, due_s=due_s)
                await self._exchange(slot.transport, placed, exchange)
        except TimeoutError:
            exchange.error = self._given_up or f"no whole answer within {self._request_s:g} s"
            exchange.timed_out = True
        except Unanswered as error:
            exchange.error = f"{type(error).__name__}: {error}"
        slot.timeout = None
        self._in_flight.remove(exchange)
        exchange.ended_s = self._clock.ended_s(exchange.reply, due_s=due_s)
        self._token_s = max(self._token_s, exchange.token_s)
        if exchange.failed:
            await self._fail(slot)
        return exchange.ended_s

    async def _exchange(self, transport: StampTransport, request: bytes, exchange: _Exchange) -> None:
        """
        Send a request and wait for the end of its answer.

        A server may drop an idle keep-alive connection just as it is used again. Such a request failed before any byte
        came back, so it is sent once more on a new connection, and its clock starts again. A new connection that is
        dropped is an error.
        """
        exchange.reply = await transport.send(self._url, request)
        try:
            await exchange.reply.end()
        except DROPPED:
            if exchange.reply.pieces or not exchange.reply.reused:
                raise
            exchange.resent = True
            exchange.reply = await transport.send(self._url, request)
            await exchange.reply.end()

    async def _fail(self, slot: _Slot) -> None:
        """End the run early."""
        await slot.transport.aclose()
        self._failed = True
        self._stopping.set()
        self._report()


def main(fd: int) -> None:
    """Do the runs that the generator asks for, until it has gone."""
    with Connection(fd) as generator, contextlib.suppress(EOFError, ConnectionError):
        setup = generator.recv()
        while True:
            load = generator.recv()
            if isinstance(load, Load):  # and not a Stop that crossed the end of a run
                with _uncollected():
                    generator.send(_done(setup, load, generator))


def _done(setup: Setup, load: Load, generator: Connection) -> Done:
    """
    Do one run.

    The loop returns nothing. asyncio's Runner compares its SIGINT handler with the one that is set, for which `signal`
    spells that out, with its task and the task's result: half a microsecond a chunk.
    """
    run = _Run(setup, load, generator)
    with asyncio.Runner(loop_factory=NEW_LOOP) as runner:
        runner.run(run.run())
    return run.done()


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from scanning what a run stores, again and again."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


if __name__ == "__main__":
    main(int(sys.argv[1]))
