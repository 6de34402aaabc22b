"""What every engine's adapter answers: how to start it, and what its last words mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["refused", "memory", "wrong", "stuck", "world", "unknown"]


class EngineNotFound(Exception):
    """No program of this engine is on this machine; the message says how to get one."""


@dataclass(frozen=True)
class Failure:
    """
    Why an engine did not serve.

    Attributes:
        kind: Whose fault it is: the config's (refused, memory, wrong, stuck), the world's, or not known.
        reason: The engine's own words where it has any.
    """

    kind: Kind
    reason: str


@dataclass(frozen=True)
class Pattern:
    """
    A log line that has a meaning.

    Attributes:
        regex: Searched line by line; the part that matches becomes the reason.
        kind: What the line means.
        source: Where such a line was seen: a captured file under tests/captures, a repository file with its commit,
            or a URL. Without one the line is quoted but decides nothing.
    """

    regex: str
    kind: Kind
    source: str


class Engine(Protocol):
    """One kind of engine; autotune knows nothing else about it."""

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path) -> list[str]:
        """
        Return the command line that serves `model` at `host`:`port` with a recipe's `args`.

        Raises:
            EngineNotFound: No program to start on this machine.
        """

    def version(self, data_root: Path) -> str:
        """
        Return which program would run, precisely enough to get it again.

        Raises:
            EngineNotFound: None would.
        """

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why an engine ended that wrote `log` and exited with `returncode` (below 0: a signal)."""


def explain(patterns: Sequence[Pattern], log: str, returncode: int | None) -> Failure:
    """Return what the first pattern found in `log` means; the exit code and the last words where there is none."""
    for pattern in patterns:
        if found := re.search(pattern.regex, log):
            return Failure(pattern.kind if pattern.source else "unknown", found[0].strip())
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    ending = how_it_ended(returncode)
    return Failure("unknown", f"{ending}; its last words: {lines[-1]}" if lines else f"{ending} without a word")


def how_it_ended(returncode: int | None) -> str:
    """Return an exit code in words."""
    if returncode is None:
        return "ended"
    return f"killed by signal {-returncode}" if returncode < 0 else f"exited with code {returncode}"
