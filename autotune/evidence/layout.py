"""What a document consists of, whatever it tells of: words in every language, tables, plots."""

from dataclasses import dataclass

from autotune.evidence.plots import Plot
from autotune.evidence.raw import Link, Sources
from autotune.evidence.tables import Table
from autotune.evidence.words import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """
    One section; of it the words are in the reader's language, the tables and plots are there once.

    Attributes:
        before: Sentences before the table.
        after: Sentences after it.
        items: A list, in words.
        code: A command to run.
        raw: Where the table's numbers come from, where its rows don't say it.
    """

    heading: Said
    before: tuple[Said, ...] = ()
    table: Table | None = None
    after: tuple[Said, ...] = ()
    items: tuple[Said, ...] = ()
    plots: tuple[Plot, ...] = ()
    code: str = ""
    raw: Sources | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    All of it.

    Attributes:
        mark: What stands before every title: nothing, or that all of it was emulated.
        name: Of what it tells of; `summary` says it in a line.
        opening: Sentences under the verdict.
        files: That lie beside it.
    """

    mark: str
    name: str
    summary: str
    finished: bool
    verdict: Said
    opening: tuple[Said, ...]
    sections: tuple[Section, ...]
    files: tuple[Link, ...] = ()
