"""What every engine's adapter answers: how to start it, and what its last words mean."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from search_spaces.knob import LayoutName

SIZE_FLAGS: Mapping[LayoutName, str] = {
    "tp": "--tensor-parallel-size",
    "pp": "--pipeline-parallel-size",
    "dp": "--data-parallel-size",
}

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


@dataclass(frozen=True)
class Building:
    """
    A log line that an engine writes while it compiles, tunes or captures: what it serves meanwhile is no steady state.

    Attributes:
        regex: Searched in each line.
        source: Where such a line was seen: a captured file under tests/captures, or a repository's file or thread.
    """

    regex: str
    source: str


@dataclass(frozen=True)
class Reading:
    """
    A line of an engine's log, or of its metrics, that says what really runs.

    Attributes:
        regex: Its last match counts, and in it the group.
        source: Where such a line was seen: a captured file under tests/captures, or a repository's file or thread.
    """

    regex: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Setting:
    """
    How to ask for what a reading tells.

    Attributes:
        options: By any of these names; `--option.key` is a key in the JSON object that an option takes.
        variable: Asks for it too, in some version of the engine; empty where none does.
        words: What means the same, by one way to say it: the engine's words, another name.
        open: Values that leave it to the engine.
    """

    options: tuple[str, ...]
    variable: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    open: tuple[str, ...] = ("auto",)

    @property
    def keys(self) -> tuple[str, ...]:
        """All names by which it can be asked for."""
        return (*self.options, self.variable) if self.variable else self.options


class Engine(Protocol):
    """One kind of engine; autotune knows nothing else about it."""

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Log lines that say why it ended, the most telling first."""

    @property
    def readings(self) -> Mapping[str, Reading]:
        """Log lines that say what really runs, by what they tell."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """How to ask for what the readings tell, by their names; a reading that can't be asked for has none."""

    @property
    def unknown_variable(self) -> Reading | None:
        """The log line that names a variable which the engine does not know; None where it does not look."""

    @property
    def metrics(self) -> Mapping[str, tuple[str, ...]]:
        """For a field of `trials.load.counters.Counters` the names at `/metrics` that it is the sum of."""

    @property
    def building(self) -> tuple[Building, ...]:
        """Log lines that mean that it is not done building."""

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path | None) -> list[str]:
        """
        Return the command line that serves `model` at `host`:`port` with a recipe's `args`.

        Args:
            data_root: Where fetched engines are on this machine; None inside an image, whose own program it is.

        Raises:
            EngineNotFound: No program to start on this machine.
        """

    def layout(self, dimensions: Mapping[LayoutName, int]) -> list[str]:
        """Return the flags that spread the model over so many GPUs in each dimension; they belong to `args`."""

    def version(self, data_root: Path) -> str:
        """
        Return which program would run, precisely enough to get it again.

        Raises:
            EngineNotFound: None would.
        """

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why an engine ended that wrote `log` and exited with `returncode` (below 0: a signal)."""

    def effective(self, said: str) -> Mapping[str, str] | None:
        """Return what an engine runs that `said` so of itself, in its log and at `/metrics`; None: it says nothing."""


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


def last_readings(readings: Mapping[str, Reading], said: str) -> dict[str, str]:
    """Return what each reading says last in what an engine `said`; one that is not there is left out."""
    found = {name: re.findall(reading.regex, said) for name, reading in readings.items()}
    return {name: matches[-1] for name, matches in found.items() if matches}


def parallel_flags(dimensions: Mapping[LayoutName, int]) -> list[str]:
    """Return the flags of vLLM, and of what took them over: its expert parallelism spreads over all GPUs or none."""
    sizes = [word for name, flag in SIZE_FLAGS.items() if name in dimensions for word in (flag, str(dimensions[name]))]
    return [*sizes, "--enable-expert-parallel"] if dimensions.get("ep", 1) > 1 else sizes
