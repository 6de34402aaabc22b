"""The raw files behind a number: which there are, which there should be, and links to them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trials.machine import FILE as MACHINE
from trials.machine import Machine
from trials.outcome import Infeasible, Measured, Outcome
from trials.supervisor import LOG

OUTCOME, REQUESTS, ANSWERS, EFFECTIVE = "outcome.json", "requests.parquet", "answers.jsonl", "effective.json"
COMMAND = "command.sh"
STARTED = (COMMAND, LOG)
"""Of each launch: in the folder itself, or below it where a recipe needs several launches."""
FILES = (*STARTED, EFFECTIVE, REQUESTS, "runs.jsonl", ANSWERS, MACHINE, OUTCOME)
"""All that a record may leave, in the order in which it comes to be."""


class Record(Protocol):
    """A trial or a launch: its folder, and how it ended."""

    @property
    def folder(self) -> Path:
        """Its own."""

    @property
    def outcome(self) -> Outcome | None:
        """None while it runs."""


class Gathered(Protocol):
    """What the documents of a folder are made from beside its numbers: all by the folder of a trial or a launch."""

    @property
    def root(self) -> Path:
        """Where the documents are."""

    @property
    def records(self) -> Sequence[Record]:
        """All that ran."""

    @property
    def machines(self) -> Mapping[Path, Machine]:
        """On what it ran; none where it was not noted."""

    @property
    def effective(self) -> Mapping[Path, Mapping[str, str]]:
        """What its engine said that it runs; none where it said nothing."""


@dataclass(frozen=True, slots=True)
class Link:
    """A file by a path relative to the document."""

    name: str
    href: str


@dataclass(frozen=True, slots=True)
class Sources:
    """
    Where a row's numbers come from: a cell of a table.

    Attributes:
        missing: Files that were there when the numbers came to be, relative to the document.
    """

    links: tuple[Link, ...] = ()
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it for a terminal."""
        return ", ".join([*(link.href for link in self.links), *(f"MISSING {path}" for path in self.missing)])


def sources(root: Path, record: Record, *, ended: bool) -> Sources:
    """
    Return every raw file of a record.

    Args:
        root: Where the document is.
        ended: Whether all that was begun has ended, so that a record without an outcome lost it.
    """
    needed = set(_needed(record.outcome, ended=ended))
    links, missing = [], []
    for name in FILES:
        found = _found(record.folder, name)
        links += [Link(_named(path, record.folder), path.relative_to(root).as_posix()) for path in found]
        if name in needed and not found:
            missing.append((record.folder / name).relative_to(root).as_posix())
    return Sources(tuple(links), tuple(missing))


def behind(root: Path, records: Sequence[Record], name: str) -> Sources:
    """Return one file of each of several measured records, named as their folders are: what a mean is made of."""
    links, missing = [], []
    for record in records:
        path = record.folder / name
        where = path.relative_to(root).as_posix()
        if path.exists():
            links.append(Link(record.folder.name, where))
        else:
            missing.append(where)
    return Sources(tuple(links), tuple(missing))


def _needed(outcome: Outcome | None, *, ended: bool) -> Iterator[str]:
    if outcome is not None or ended:
        yield OUTCOME
    if isinstance(outcome, Measured | Infeasible):
        yield from STARTED
    if isinstance(outcome, Measured):
        yield from (REQUESTS, "runs.jsonl")
        if outcome.judged:
            yield ANSWERS


def _found(folder: Path, name: str) -> list[Path]:
    """Return a file, or those of the several launches of a trial."""
    own = folder / name
    return [own] if own.exists() else sorted(folder.glob(f"launch-*/{name}"))


def _named(path: Path, folder: Path) -> str:
    """Return a file's name without its ending, with its launch's number where there are several."""
    return path.stem if path.parent == folder else f"{path.stem} {path.parent.name.removeprefix('launch-')}"
