"""Engines that outlived the driver of their study."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from autotune.folder import StudyFolder
from autotune.lock import driver
from trials import supervisor
from trials.supervisor import Started

SAME_S = 1.0  # a process's start as two readers compute it
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Leftover:
    """An engine without a driver, and the folder of its launch."""

    pid: int
    folder: Path


def leftovers(study: StudyFolder) -> Iterator[Leftover]:
    """Yield the engines of a study that no driver runs: still being stopped, or without their supervisor."""
    if driver(study.lock):
        return
    for path in sorted(study.root.rglob(supervisor.STARTED)):
        if not path.with_name(supervisor.ENDED).exists():
            started = Started(**json.loads(path.read_text(encoding="utf-8")))
            if _runs(started.engine_pid, started.engine_created):
                yield Leftover(started.engine_pid, path.parent)


def outwait(study: StudyFolder, *, within_s: float) -> list[Leftover]:
    """Wait until the engines of a killed driver have ended, so that none is measured beside; return what is left."""
    deadline = time.monotonic() + within_s
    while (left := list(leftovers(study))) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def _runs(pid: int, created: float) -> bool:
    """Say whether that very process runs; a reused pid started at another time."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - created) < SAME_S
    except psutil.NoSuchProcess:
        return False
