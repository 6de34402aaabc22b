"""Ends the driver of a study politely, from anywhere on its machine."""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autotune.folder import StudyFolder
from autotune.lock import Driver, StudyLocked, driver

MARGIN_S = 60.0  # beyond an engine's own grace: its memory, the rest of its tree, and the cluster's goodbye
TICK_S = 1.0


def stop(folder: StudyFolder, *, timeout_s: float) -> Iterator[float]:
    """
    Ask the driver of a study to end as Ctrl-C does; yield the seconds waited, every now and then, until it has.

    Yields nothing if no driver runs.

    Raises:
        StudyLocked: If it runs on another machine, or has not ended in time.
    """
    running, name = driver(folder.lock), folder.root.name
    if running is None:
        return
    if not running.is_here:
        raise StudyLocked(f"study {name!r} is being run by process {running.pid} on {running.host}: stop it there")
    begun_s = time.monotonic()
    yield from (time.monotonic() - begun_s for _ in _ended(running, folder.lock, begun_s + timeout_s))
    if driver(folder.lock) == running:
        raise StudyLocked(
            f"study {name!r}: process {running.pid} was asked to end and still runs after {timeout_s:g} s: wait with "
            f"a longer --timeout, or look at its newest engine.log in {folder.root}"
        )


def _ended(running: Driver, lock: Path, deadline_s: float) -> Iterator[None]:
    """Send SIGTERM to that very process, whoever has its pid afterwards, and wait for it, a tick at a time."""
    with suppress(ProcessLookupError), _pidfd(running.pid) as process:
        if not running.runs:
            return
        signal.pidfd_send_signal(process, signal.SIGTERM)
        yield
        while driver(lock) == running and time.monotonic() < deadline_s:
            select.select([process], [], [], min(TICK_S, max(0.0, deadline_s - time.monotonic())))
            yield


@contextmanager
def _pidfd(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
