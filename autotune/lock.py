"""Who runs a study: one driver at a time, found by its process and never by a name."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

STATE, START_TICKS = 0, 19  # fields of /proc/PID/stat after the name; proc_pid_stat(5) counts them from 3


class StudyLocked(Exception):
    """Another driver is running this study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """
    The process that runs a study, as its lock file names it.

    Attributes:
        start_ticks: Clock ticks from its machine's boot to its start: a reused pid has another number, and a clock
            that jumps does not change it.
    """

    pid: int
    host: str
    start_ticks: int

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return self.host == socket.gethostname()

    @property
    def runs(self) -> bool:
        """Whether it still runs; only where it is here."""
        return _start_ticks(self.pid) == self.start_ticks


_DRIVER = TypeAdapter(Driver)


@contextmanager
def held(path: Path, study: str) -> Iterator[None]:
    """
    Hold a lock file for the length of the block and name this process in it; it is free when the process ends.

    Raises:
        StudyLocked: If another process holds it.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = driver(path)
            by = f"process {who.pid} on {who.host}" if who else "another process"
            raise StudyLocked(f"study {study!r} is being run by {by}: wait, or `autotune stop {study}`") from error
        pid = os.getpid()
        _name(path, Driver(pid=pid, host=socket.gethostname(), start_ticks=_start_ticks(pid) or 0))
        try:
            yield
        finally:
            _name(path, None)


def driver(path: Path) -> Driver | None:
    """Return who holds a lock file, or None if nobody does."""
    try:
        named = _DRIVER.validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return named if (named.runs if named.is_here else _is_locked(path)) else None


def _start_ticks(pid: int) -> int | None:
    """Return when a process started, in ticks; None if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[STATE] == "Z" else int(fields[START_TICKS])
    return None


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _name(path: Path, holder: Driver | None) -> None:
    """Write into the file itself: a new one in its place would not be locked."""
    path.write_bytes(_DRIVER.dump_json(holder) if holder else b"")
