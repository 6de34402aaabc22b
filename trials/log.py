"""An engine's log while it grows: which of its new lines say that it is still building something."""

import re
from collections.abc import Sequence
from pathlib import Path

from trials.engines.adapter import Building

LINE_CHARS = 300


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
