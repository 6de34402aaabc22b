"""The load generator: splits a load over processes of its own, starts them at one moment, puts together what came."""

import contextlib
import itertools
import math
import os
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import IO, Self, assert_never

from trials.deadline import Deadline
from trials.load import stream
from trials.load.messages import Beat, Done, Load, Ready, Setup, Start, Stop, Turn
from trials.load.timing import ClientUse, Ran
from trials.load.workload import Planned, Session

ROOT = Path(__file__).parents[2]  # from where the program is found as a module, installed or not
CHUNK_S = 12e-6  # CPU time a chunk, all in, as benchmarks/load_generator.py measures it
CORE_SHARE = 0.25  # of a core: a step's chunks are then stamped within a quarter of the step
POLL_S = 0.5
BEAT_S = 1.0  # between two words of a shard, where a stall is no matter of less; each costs two processes a wake-up
LEAD_S = 0.02  # from the word to start until the start; all have heard it by then
PARSE_S = 600.0  # the longest that a shard may take to end once it was told to give up


class GeneratorFailed(Exception):
    """A process of the generator died or hangs: its run says nothing about the server."""


def processes(concurrency: int, tokens_per_s_per_user: float = 50) -> int:
    """Return how many processes it takes to send a load and stamp in time; never more than there are cores."""
    needed = math.ceil(concurrency * tokens_per_s_per_user * CHUNK_S / CORE_SHARE)
    return max(1, min(needed, concurrency, len(os.sched_getaffinity(0))))


class Generator:
    """A load on one endpoint at one concurrency: a `with` block around its processes, each run a call."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        concurrency: int,
        processes: int,
        request_s: float,
        stall_s: float,
        virtual: bool = False,
    ) -> None:
        """
        Start nothing yet.

        Args:
            concurrency: How many requests may be in flight at once; each has a connection of its own, its slot.
            processes: How many share the slots.
            request_s: Seconds that one request may take.
            stall_s: Seconds that may pass without a token of any stream.
            virtual: The endpoint keeps a clock of its own, in which the timings then are.
        """
        self._concurrency, self._processes = concurrency, min(processes, concurrency)
        self._model, self._stall_s = model, stall_s
        slices = (tuple(range(first, concurrency, self._processes)) for first in range(self._processes))
        virtual_slots = concurrency if virtual else None
        beat_s = min(BEAT_S, stall_s / 2)
        self._setups = [
            Setup(url=url, slots=slots, request_s=request_s, beat_s=beat_s, virtual_slots=virtual_slots)
            for slots in slices
        ]
        self._shards: list[_Shard] = []
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start the processes."""
        with contextlib.ExitStack() as closing:
            self._shards = [closing.enter_context(_started(setup)) for setup in self._setups]
            self._closing = closing.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        """End the processes, whatever they are doing."""
        self._closing.close()

    def run(self, sessions: Sequence[Session], *, arrivals: Sequence[float] | None, deadline: Deadline) -> Ran:
        """
        Send sessions, from empty until the last answer has ended.

        A request that fails ends the run early: nothing more is sent, and what is in flight may end. A stall and the
        deadline give up what is in flight; it stands in the timings as timed out, and what was not sent is not there.

        Args:
            arrivals: Seconds after the start at which each session is due; None: as soon as a slot is free.

        Raises:
            GeneratorFailed: A process of ours died, or hangs.
        """
        for shard, load in zip(self._shards, self._split(sessions, arrivals), strict=True):
            shard.send(load)
        return _merged(self._conduct(deadline))

    def _split(self, sessions: Sequence[Session], arrivals: Sequence[float] | None) -> Iterator[Load]:
        """Yield each shard's part: a session goes where its slot would be if all took turns."""
        numbers, run = itertools.count(), uuid.uuid4().hex
        turns = [tuple(self._turn(next(numbers), planned) for planned in session) for session in sessions]
        for shard in range(self._processes):
            own = [at for at in range(len(turns)) if at % self._concurrency % self._processes == shard]
            yield Load(
                sessions=tuple(turns[at] for at in own),
                arrivals=None if arrivals is None else tuple(arrivals[at] for at in own),
                run=run,
            )

    def _turn(self, number: int, planned: Planned) -> Turn:
        return Turn(
            number=number,
            body=stream.body(self._model, planned.prompt, planned.output_tokens),
            input_tokens=planned.input_tokens,
            output_tokens=planned.output_tokens,
            pause_s=planned.pause_s,
        )

    def _conduct(self, deadline: Deadline) -> list[Done]:
        """Start all shards at one moment, stop all when one has failed or the time is up, wait until all are done."""
        heard, patience = _Heard(), Deadline("the load", math.inf)
        while len(heard.done) < len(self._shards):
            for shard in self._speaking():
                heard.take(shard.slots, shard.receive())
            if heard.ready == len(self._shards):
                heard.ready = 0
                self._tell(Start(perf_counter() + LEAD_S))
            if stop := heard.stop(self._stall_s, deadline):
                self._tell(stop)
                patience = Deadline("ending a load that was stopped", PARSE_S)
            if not patience.left_s:
                raise GeneratorFailed(f"{patience.reason}: a process of the load generator hangs")
        return heard.done

    def _speaking(self) -> "list[_Shard]":
        """Wait a little for shards that have said something."""
        spoken = wait([shard.connection for shard in self._shards], POLL_S)
        return [shard for shard in self._shards if shard.connection in spoken]

    def _tell(self, message: Start | Stop) -> None:
        for shard in self._shards:
            shard.send(message)


@dataclass(frozen=True, slots=True)
class _Shard:
    """A process, its slots, and our end of the socket pair that joins us."""

    slots: tuple[int, ...]
    process: "subprocess.Popen[bytes]"
    connection: Connection
    errors: IO[bytes]

    def send(self, message: Setup | Load | Start | Stop) -> None:
        """Say something; whether it is still there, `receive` tells."""
        with contextlib.suppress(ConnectionError):
            self.connection.send(message)

    def receive(self) -> Ready | Beat | Done:
        """
        Return what it says next.

        Raises:
            GeneratorFailed: It says nothing more.
        """
        try:
            message: Ready | Beat | Done = self.connection.recv()
        except (EOFError, ConnectionError) as error:
            status = self.process.wait()
            self.errors.seek(0)
            words = self.errors.read().decode(errors="replace").strip().splitlines()
            raise GeneratorFailed(
                f"process {self.process.pid} of the load generator ended with status {status} within a run: "
                + (words[-1] if words else "it said nothing")
            ) from error
        return message


@contextlib.contextmanager
def _started(setup: Setup) -> Iterator[_Shard]:
    """Start a shard in a session of its own, so that Ctrl-C is ours alone; end it with the block."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as errors, Connection(ours.detach()) as connection:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "trials.load.shard", str(theirs.fileno())],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        with process:
            try:
                shard = _Shard(setup.slots, process, connection, errors)
                shard.send(setup)
                yield shard
            finally:
                process.kill()


@dataclass(slots=True)
class _Heard:
    """What the shards have said in a run, and what they were told."""

    ready: int = 0
    beats: dict[tuple[int, ...], Beat] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    told: Stop | None = None

    def take(self, slots: tuple[int, ...], message: Ready | Beat | Done) -> None:
        """Note what the shard with these slots says."""
        match message:
            case Ready():
                self.ready += 1
            case Beat():
                self.beats[slots] = message
            case Done():
                self.done.append(message)
            case _:
                assert_never(message)

    def stop(self, stall_s: float, deadline: Deadline) -> Stop | None:
        """Return what the shards have to be told now, once: to send no more, and later perhaps to give up."""
        stop = _stop(self.beats.values(), stall_s, deadline)
        if stop is None or (self.told is not None and (self.told.why is not None or stop.why is None)):
            return None
        self.told = stop
        return stop


def _stop(beats: Collection[Beat], stall_s: float, deadline: Deadline) -> Stop | None:
    """Return why a run cannot go on, if it can't."""
    if not deadline.left_s:
        return Stop(deadline.reason)
    busy_since_s = [beat.busy_since_s for beat in beats if beat.busy_since_s is not None]
    if busy_since_s and perf_counter() - max(min(busy_since_s), *(beat.token_s for beat in beats)) > stall_s:
        return Stop(f"no token for {stall_s:g} s")
    return Stop(None) if any(beat.failed for beat in beats) else None


def _merged(done: Sequence[Done]) -> Ran:
    """Put the shards' requests in order; of what they cost, the worst of each counts."""
    timings = sorted((timing for part in done for timing in part.timings), key=attrgetter("number"))
    uses = [part.use for part in done]
    drains = [use.drain_p99_s for use in uses if use.drain_p99_s is not None]
    now_s = perf_counter()
    return Ran(
        timings=tuple(timings),
        begun_s=min((timing.sent_s for timing in timings), default=now_s),
        ended_s=max((timing.ended_s for timing in timings), default=now_s),
        client=ClientUse(
            processes=len(uses),
            cpu_share=max(use.cpu_share for use in uses),
            lag_p99_s=max(use.lag_p99_s for use in uses),
            lag_max_s=max(use.lag_max_s for use in uses),
            drain_p99_s=max(drains, default=None),
            virtual=any(use.virtual for use in uses),
        ),
    )
