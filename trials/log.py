"""An engine's log while it grows: whether it still does, and which new lines say that something is being built."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from trials.engines.adapter import Building

LINE_CHARS = 300
TAIL_BYTES = 4096


class BuildWatch:
    """Reads what an engine has added to its log; what stood there before is its start and is passed over."""

    def __init__(self, log: Path, signs: Sequence[Building]) -> None:
        """Begin at the log's present end; a log that is not there yet begins empty."""
        self._log = log
        self._signs = [re.compile(sign.regex) for sign in signs]
        self._read_bytes = log.stat().st_size if log.exists() else 0
        self._rest = b""

    def built(self) -> tuple[str, ...]:
        """Return the lines since the last call that mean compiling, tuning or capturing, each cut to `LINE_CHARS`."""
        # a progress bar returns to the start of its line
        *lines, self._rest = (self._rest + self._new()).replace(b"\r", b"\n").split(b"\n")
        told = (line.decode(errors="replace").strip() for line in lines)
        return tuple(line[:LINE_CHARS] for line in told if any(sign.search(line) for sign in self._signs))

    def _new(self) -> bytes:
        if not self._log.exists():
            return b""
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            new = log.read()
        self._read_bytes += len(new)
        return new


class Silence:
    """Tells how long a log has said nothing new; after a line that means building an engine may be silent."""

    def __init__(self, log: Path, signs: Sequence[Building]) -> None:
        """Begin to listen."""
        self._log = log
        self._signs = [re.compile(sign.regex) for sign in signs]
        self._heard_bytes, self._heard_s = 0, time.monotonic()

    def lasts_s(self) -> float:
        """Return the seconds since the log was last seen to have grown; 0 while something is being built."""
        size = self._log.stat().st_size
        if size != self._heard_bytes or self._building(size):
            self._heard_bytes, self._heard_s = size, time.monotonic()
        return time.monotonic() - self._heard_s

    def _building(self, size: int) -> bool:
        with self._log.open("rb") as log:
            log.seek(max(0, size - TAIL_BYTES))
            lines = log.read().replace(b"\r", b"\n").split(b"\n")
        last = next((line for line in reversed(lines) if line.strip()), b"").decode(errors="replace")
        return any(sign.search(last) for sign in self._signs)
