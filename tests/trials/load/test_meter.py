"""What the load costs its process: the drain of a poll in a real loop, its percentile, CPU time and lag."""

import asyncio
import socket
import time

import pytest

from trials.load.meter import LAG_EVERY_S, Drains, Meter
from trials.load.timing import ClientUse


@pytest.mark.parametrize(
    ("polls", "p99_s"),
    [
        ([], None),
        ([(0.1, 1)], 0.1),
        ([(0.1, 98), (0.5, 2)], 0.5),
        ([(0.1, 990), (0.5, 10)], 0.1),
        ([(0.1, 1)] * 1000 + [(0.5, 512)], 0.5),
    ],
)
def test_a_drain_counts_as_often_as_it_has_chunks(polls: list[tuple[float, int]], p99_s: float | None) -> None:
    assert Drains(polls).p99_s() == p99_s


def test_the_chunks_of_one_poll_are_one_drain() -> None:
    async def polled(drains: Drains, *waves: int) -> None:
        """Let so many sockets have data before the loop looks, and wait until all of it is read; then the next."""
        loop = asyncio.get_running_loop()
        for count in waves:
            arrived: asyncio.Queue[bytes] = asyncio.Queue()

            def chunk(reader: socket.socket, arrived: asyncio.Queue[bytes] = arrived) -> None:
                drains.chunk(time.perf_counter_ns())
                arrived.put_nowait(reader.recv(1))

            pairs = [socket.socketpair() for _ in range(count)]
            for reader, writer in pairs:
                loop.add_reader(reader, chunk, reader)
                writer.send(b"x")
            for reader, writer in pairs:
                await arrived.get()
                loop.remove_reader(reader)
                reader.close()
                writer.close()

    drains = Drains()
    asyncio.run(polled(drains, 2, 1))
    assert [chunks for _, chunks in drains.polls] == [2, 1]
    assert all(seconds > 0 for seconds, _ in drains.polls)


def busy(seconds: float) -> ClientUse:
    """Return the use of a loop that is blocked for so long, in CPU time, among a little sleep."""

    async def run() -> ClientUse:
        meter = Meter()
        meter.begin()
        await asyncio.sleep(0.03)
        end_s = time.process_time() + seconds
        while time.process_time() < end_s:
            pass
        await asyncio.sleep(0.03)
        return meter.end()

    return asyncio.run(run())


def test_a_loop_that_is_kept_from_its_timers_lags_and_uses_its_core() -> None:
    use = busy(6 * LAG_EVERY_S)
    assert use.lag_max_s >= 4 * LAG_EVERY_S
    assert use.cpu_share > 0
    assert use.drain_p99_s is None
