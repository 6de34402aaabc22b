"""The evidence of a sweep over contexts: each cell's verdict, and where B begins to lose."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from autotune.comparisons import ComparisonFolder
from autotune.evidence import verdicts
from autotune.evidence.cells import Cell as Linked
from autotune.evidence.cells import Row, markdown
from autotune.evidence.comparison import Compared, gather
from autotune.evidence.plots import Canvas, Plot, Theme, svg
from autotune.evidence.tables import percent
from autotune.evidence.templates import render
from autotune.sweep import Cell, Crossover, Found, crossover
from search_spaces import Lengths
from trials.files import write_whole

PLOT = "crossover"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """
    All that a sweep's folder holds.

    Attributes:
        parts: One comparison a context.
        found: Every cell that has two launches of each side or more.
    """

    root: Path
    parts: tuple[Compared, ...]
    found: tuple[Found, ...]

    @property
    def mark(self) -> str:
        """What stands before every title: nothing, or that all of it was emulated."""
        return self.parts[0].mark

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """The raw files of each context's comparison, by its name, that were there when its numbers came to be."""
        return {part.settings.name: part.missing for part in self.parts}

    @property
    def crossover(self) -> Crossover | None:
        """Where B begins to lose."""
        return crossover(self.found)

    @property
    def lines(self) -> list[str]:
        """What was found, a line a cell, and where B begins to lose."""
        failed = [f"{part.settings.name}: {part.lines[0]}" for part in self.parts if part.stands.failed]
        return [*map(_line, self.found), *failed, f"{self.mark}{verdicts.crossing(self.crossover)}"]

    def record(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {
            "event": "swept",
            "emulated": bool(self.mark),
            "cells": [
                {**asdict(each.cell), **asdict(each.verdict), "change": each.ratio.change} for each in self.found
            ],
            "crossover": self.crossover and asdict(self.crossover),
            "sentence": self.lines[-1],
        }


def swept(root: Path) -> Swept:
    """Read the folder of a sweep."""
    folders = sorted(root.glob("context-*"), key=lambda path: int(path.name.removeprefix("context-")))
    parts = tuple(gather(ComparisonFolder(path)) for path in folders)
    return Swept(root=root, parts=parts, found=tuple(each for part in parts for each in _found(part)))


def _found(part: Compared) -> Iterator[Found]:
    shape, comparison = part.sides.a.workload.shape, part.stands.comparison
    if comparison is None or not isinstance(shape, Lengths):
        return
    for batch, ratio in comparison.levels.items():
        yield Found(Cell(batch, shape.input_tokens), ratio, comparison.verdicts[batch])


def _line(each: Found) -> str:
    change, verdict = percent(each.ratio.change), verdicts.level(each.verdict)
    return f"{each.cell.batch} x {each.cell.context}: {change} ({_interval(each)}): {verdict}"


def _interval(each: Found) -> str:
    return f"{percent(each.verdict.low)} to {percent(each.verdict.high)}"


def write_sweep(found: Swept) -> None:
    """Write the table and the plot."""
    write_whole(found.root / f"{PLOT}.svg", svg(_plot(found)))
    rows = [_row(found, each) for each in sorted(found.found, key=lambda each: each.cell.tokens)]
    write_whole(found.root / "sweep.md", render("sweep.md.j2", escape=False, found=found, table=markdown(rows)))


def _row(found: Swept, each: Found) -> Row:
    cell = each.cell
    part = f"context-{cell.context}"
    source, gone = f"{part}/evidence.md", found.missing.get(part, ())
    return {
        "batch": Linked(str(cell.batch)),
        "context": Linked(f"{cell.context:,}"),
        "tokens in the batch": Linked(f"{cell.tokens:,}"),
        "A": Linked(f"{each.ratio.a:.1f}", source),
        "B": Linked(f"{each.ratio.b:.1f}", source),
        "change": Linked(percent(each.ratio.change), source),
        "interval": Linked(_interval(each)),
        "verdict": Linked(verdicts.level(each.verdict)),
        "raw data": Linked(f"missing: {', '.join(gone)}" if gone else "launches", source),
    }


def _plot(found: Swept) -> Plot:
    return Plot(
        name=PLOT,
        title=f"{found.mark}B against A by context",
        says="Change of the rate by tokens of context in the batch; bars are the intervals that the verdicts rest on.",
        draw=partial(_draw, found.found, found.crossover),
    )


def _draw(cells: tuple[Found, ...], where: Crossover | None, axes: Canvas, theme: Theme) -> None:
    axes.axhline(0.0, color=theme.ink, linewidth=1.0)
    for batch in sorted({each.cell.batch for each in cells}):
        own = sorted((each for each in cells if each.cell.batch == batch), key=lambda each: each.cell.tokens)
        changes = [100 * each.ratio.change for each in own]
        below = [change - 100 * (each.verdict.low or 0.0) for change, each in zip(changes, own, strict=True)]
        above = [100 * (each.verdict.high or 0.0) - change for change, each in zip(changes, own, strict=True)]
        tokens = [each.cell.tokens for each in own]
        axes.errorbar(tokens, changes, yerr=[below, above], marker="o", capsize=3, label=f"batch {batch}")
    if where is not None:
        axes.axvline(where.at, color=theme.bad, linestyle="--", label=f"B slower from {where.at:,} tokens")
    axes.set_xscale("log")
    axes.set_xlabel("tokens of context in the batch")
    axes.set_ylabel("B against A, %")
