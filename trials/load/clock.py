"""
Whose time the timings of a load are in: the client's own, or a virtual one that the endpoint keeps.

An emulated endpoint says with every chunk when its last token came, virtually, and is told with every request when that
arrives: at the virtual end of the one that it follows. Nobody waits for such a clock, so a run's timings are the same
on an idle machine and on a busy one. It is read only from an endpoint that declares it, see `client.keeps_a_clock`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from trials.load import stream
from trials.load.stream import Streamed
from trials.load.transport import Address, Piece, Reply, posted

STAMP = b'"emulated_ns":'
LEAVE = "/emulated/leave"


class Clock(Protocol):
    """The clock of one run."""

    @property
    def virtual(self) -> bool:
        """Whether the endpoint keeps it."""

    def begun_s(self, at_s: float) -> float:
        """Return what it says when a run begins at a moment of `time.perf_counter`."""

    def left_s(self, due_s: float) -> float:
        """Return how many seconds to wait for a moment."""

    def request(self, encoded: bytes, body: bytes, *, slot: int, due_s: float) -> bytes:
        """Return a request to be sent: encoded beforehand from its body, or with its arrival in it."""

    def sent_s(self, reply: Reply | None, *, due_s: float, tried_s: float) -> float:
        """Return when a request was sent that could have been at `due_s`; `tried_s` is when it was tried."""

    def ended_s(self, reply: Reply | None, *, due_s: float) -> float:
        """Return when an answer ended, or was given up."""

    def read(self, pieces: Sequence[Piece]) -> Streamed:
        """Return what an answer says."""

    def farewell(self, slot: int) -> bytes | None:
        """Return the request that says that a slot sends nothing more, where the endpoint has to know."""


@dataclass(frozen=True, slots=True)
class OwnClock:
    """The client's own: `time.perf_counter`, the same in every process of the host."""

    virtual: bool = False

    def begun_s(self, at_s: float) -> float:
        """Return the moment itself."""
        return at_s

    def left_s(self, due_s: float) -> float:
        """Return the seconds until then."""
        return due_s - perf_counter()

    def request(self, encoded: bytes, body: bytes, *, slot: int, due_s: float) -> bytes:  # noqa: ARG002
        """Return the request as it was encoded."""
        return encoded

    def sent_s(self, reply: Reply | None, *, due_s: float, tried_s: float) -> float:  # noqa: ARG002
        """Return when its first byte was written."""
        return tried_s if reply is None else reply.sent_ns / 1e9

    def ended_s(self, reply: Reply | None, *, due_s: float) -> float:  # noqa: ARG002
        """Return when the last byte came, or now where none will."""
        return perf_counter() if reply is None or reply.ended_ns is None else reply.ended_ns / 1e9

    def read(self, pieces: Sequence[Piece]) -> Streamed:
        """Read the answer with the times at which it came."""
        return stream.read(pieces)

    def farewell(self, slot: int) -> None:
        """Return nothing: a real endpoint waits for nobody."""


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """
    The endpoint's. A run begins at 0.

    Attributes:
        url: The endpoint's, without `/v1`.
        run: What the run is called; no other run of the endpoint is.
        slots: Of the whole load.
    """

    url: str
    run: str
    slots: int
    virtual: bool = True

    def begun_s(self, at_s: float) -> float:  # noqa: ARG002
        """Return 0."""
        return 0.0

    def left_s(self, due_s: float) -> float:  # noqa: ARG002
        """Return 0: what comes virtually later is sent at once, with its arrival."""
        return 0.0

    def request(self, encoded: bytes, body: bytes, *, slot: int, due_s: float) -> bytes:  # noqa: ARG002
        """Return the request with its place in the load, and when it arrives."""
        place = b',"emulated":{"run":"%s","slot":%d,"slots":%d,"arrival_ns":%d}}'
        said = place % (self.run.encode(), slot, self.slots, round(due_s * 1e9))
        return posted(Address(f"{self.url}/v1/completions"), body[:-1] + said)

    def sent_s(self, reply: Reply | None, *, due_s: float, tried_s: float) -> float:  # noqa: ARG002
        """Return when it arrived."""
        return due_s

    def ended_s(self, reply: Reply | None, *, due_s: float) -> float:
        """Return when the last token came; of an answer without one, when its request arrived."""
        data = b"".join(data for _, data in reply.pieces[-4:]) if reply else b""
        at = data.rfind(STAMP)
        return due_s if at < 0 else int(data[at + len(STAMP) :].partition(b"}")[0]) / 1e9

    def read(self, pieces: Sequence[Piece]) -> Streamed:
        """Read the answer with the times that its chunks say."""
        return stream.read(pieces, stamped=True)

    def farewell(self, slot: int) -> bytes:
        """Return a slot's last word."""
        said = b'{"run":"%s","slot":%d,"slots":%d}' % (self.run.encode(), slot, self.slots)
        return posted(Address(f"{self.url}{LEAVE}"), said)
