"""What a load costs the process that sends it: CPU time, late timers, how long a poll's chunks take to stamp."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from trials.load.timing import ClientUse

LAG_EVERY_S = 0.1
"""How late these timers are is the lag. uvloop's are good to a millisecond; each costs a wake-up, some 90 us of CPU."""
METERED = 16
"""Of so many connections one tells of its chunks."""


@dataclass(slots=True)
class Drains:
    """
    How long the loop takes to stamp all the chunks that one poll of its sockets has found.

    A loop asks the kernel which sockets have data, then hands on what they hold, one after the other. The clock runs
    from the first stamp after a poll to a callback that was queued at that stamp, which the loop runs when the chunks
    of the poll are stamped and before any task. A chunk comes during its own poll's drain or the work before it, so
    its stamp is late by no more than that drain and the work since the last poll, which `lag` measures.

    The callback makes uvloop poll once more, 1.5 us of CPU. So only one connection of METERED tells of its chunks: a
    drain is known to within the stamping of so many.

    Attributes:
        polls: (seconds, chunks stamped) of each.
    """

    polls: list[tuple[float, int]] = field(default_factory=list)
    _begun_ns: int = 0
    _chunks: int = 0

    def chunk(self, stamp_ns: int) -> None:
        """Count a chunk that was stamped just now."""
        if not self._chunks:
            self._begun_ns = stamp_ns
            asyncio.get_running_loop().call_soon(self._end)
        self._chunks += 1

    def p99_s(self) -> float | None:
        """Return the drain that 99 % of the chunks were part of, or of a shorter one; None without chunks."""
        left = 0.01 * sum(chunks for _, chunks in self.polls)
        for seconds, chunks in sorted(self.polls, reverse=True):
            left -= chunks
            if left < 0:
                return seconds
        return None

    def _end(self) -> None:
        self.polls.append(((time.perf_counter_ns() - self._begun_ns) / 1e9, self._chunks))
        self._chunks = 0


class Meter:
    """Measures the process and its event loop from `begin` to `end`."""

    def __init__(self) -> None:
        """Measure nothing yet."""
        self.drains = Drains()
        self._lags: list[float] = []

    def begin(self) -> None:
        """Start the clocks; a loop must be running."""
        self._begun_s, self._cpu_s = time.perf_counter(), time.process_time()
        self._set_timer()

    def end(self) -> ClientUse:
        """Stop the clocks and say what they measured."""
        self._timer.cancel()
        cpu_s, wall_s = time.process_time() - self._cpu_s, time.perf_counter() - self._begun_s
        return ClientUse(
            processes=1,
            cpu_share=cpu_s / wall_s,
            lag_p99_s=_p99(self._lags),
            lag_max_s=max(self._lags, default=0.0),
            drain_p99_s=self.drains.p99_s(),
        )

    def _set_timer(self) -> None:
        self._due_s = time.perf_counter() + LAG_EVERY_S
        self._timer = asyncio.get_running_loop().call_later(LAG_EVERY_S, self._fire)

    def _fire(self) -> None:
        self._lags.append(max(0.0, time.perf_counter() - self._due_s))
        self._set_timer()


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[int(0.99 * (len(values) - 1))] if values else 0.0
