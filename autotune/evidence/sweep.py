"""The evidence of a sweep over contexts: each cell's verdict, and where B begins to lose."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

from autotune.comparisons import ComparisonFolder, Launched
from autotune.evidence import facts, tables, verdicts
from autotune.evidence.compared import Compared, gather
from autotune.evidence.comparison_sections import SIDES
from autotune.evidence.layout import Document, Section
from autotune.evidence.plots import Canvas, Plot, Theme, looks
from autotune.evidence.publish import publish
from autotune.evidence.raw import Link, Sources
from autotune.evidence.tables import RAW, Row, percent
from autotune.evidence.words import ENGLISH, Said, said
from autotune.sweep import Cell, Crossover, Found, crossover
from search_spaces import Lengths
from trials.machine import Machine

PLOT = "crossover"
EDGE = 1.2
"""Beyond the first and the last decade of the plot, so that no mark is cut."""


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
    def records(self) -> tuple[Launched, ...]:
        """All that ran."""
        return tuple(one for part in self.parts for one in part.launches)

    @property
    def machines(self) -> Mapping[Path, Machine]:
        """On what each launch ran, by its folder."""
        return {folder: machine for part in self.parts for folder, machine in part.machines.items()}

    @property
    def effective(self) -> Mapping[Path, Mapping[str, str]]:
        """What the engine of each launch said that it ran, by its folder."""
        return {folder: told for part in self.parts for folder, told in part.effective.items()}

    @property
    def crossover(self) -> Crossover | None:
        """Where B begins to lose."""
        return crossover(self.found)

    @property
    def verdict(self) -> Said:
        """Where B begins to lose, in words."""
        return verdicts.crossing(self.crossover)

    @property
    def failed(self) -> tuple[Said, ...]:
        """The contexts at which nothing is compared, and why."""
        failed = [part for part in self.parts if part.stands.failed]
        return tuple(said("failed part", name=part.settings.name, verdict=part.verdict) for part in failed)

    @property
    def lines(self) -> list[str]:
        """What was found, a line a cell, and where B begins to lose; in English."""
        return [*map(_line, self.found), *map(ENGLISH, self.failed), f"{self.mark}{ENGLISH(self.verdict)}"]

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
    """Write the documents and the plot."""
    publish(document(found), found.root / "sweep.md", found.root / "sweep.html")


def document(found: Swept) -> Document:
    """Return what a sweep's evidence says."""
    first = found.parts[0]
    a, b = first.settings.names
    missing = [f"{part.settings.name}/{path}" for part in found.parts for path in part.missing]
    gone = (said("missing", count=len(missing), first=missing[0]),) if missing else ()
    return Document(
        mark=found.mark,
        name=found.root.name,
        summary=f"{a} (A) against {b} (B) by context",
        finished=all(part.finished for part in found.parts),
        verdict=found.verdict,
        opening=(*((first.emulated,) if first.emulated else ()), *gone, *found.failed),
        sections=tuple(_sections(found)),
        files=(Link("sweep.md", "sweep.md"), *(_part(part, "evidence.html") for part in found.parts)),
    )


def _part(part: Compared, name: str) -> Link:
    return Link(part.settings.name, f"{part.root.name}/{name}")


def _sections(found: Swept) -> Iterator[Section]:
    metric = found.parts[0].sides.space.objective.metric
    if found.found:
        rows = [_row(found, each) for each in sorted(found.found, key=lambda each: each.cell.tokens)]
        table, after = tables.frame(rows), (said("cells", metric=metric),)
        yield Section(heading=said("heading cells", metric=metric), table=table, after=after)
        yield Section(heading=said("heading plots"), plots=(_plot(found),))
    arms = {arm: [one for one in found.records if one.arm == arm] for arm in SIDES}
    if told := facts.heard(found, arms):
        yield Section(heading=said("heading effective"), before=(said("effective"),), table=tables.frame(told))
    if ignored := facts.ignored(found):
        yield Section(heading=said("heading ignored"), before=(said("ignored"),), table=tables.frame(ignored))
    yield Section(heading=said("heading provenance"), table=tables.frame(list(_provenance(found))))
    yield Section(heading=said("heading not measured"), items=tuple(_not_measured(found)))


def _row(found: Swept, each: Found) -> Row:
    cell = each.cell
    part = next(part for part in found.parts if part.root.name == f"context-{cell.context}")
    there = part.behind(found.root)
    return {
        "batch": cell.batch,
        "context": f"{cell.context:,}",
        "tokens in the batch": f"{cell.tokens:,}",
        "A": f"{each.ratio.a:.1f}",
        "B": f"{each.ratio.b:.1f}",
        "change": percent(each.ratio.change),
        "interval": _interval(each),
        "verdict": verdicts.level(each.verdict),
        RAW: Sources((_part(part, "evidence.md"), *there.links), there.missing),
    }


def _provenance(found: Swept) -> Iterator[Row]:
    for part in found.parts:
        words = tables.load(part.sides.a.workload)
        yield facts.row("load", words, Sources((_part(part, "evidence.md"),)))
    yield from facts.machines(found)


def _not_measured(found: Swept) -> Iterator[Said]:
    first = found.parts[0]
    if first.settings.emulation:
        yield said("not anything")
    yield said("not cells")
    yield said("not hardware", hardware=first.sides.space.target.hardware)
    yield said("not asked")
    yield from facts.untold(found.records)
    yield from facts.lost(found)


def _plot(found: Swept) -> Plot:
    return Plot(
        name=PLOT,
        title=f"{found.mark}B against A by context",
        says="Change of the rate by tokens of context in the batch; bars are the intervals that the verdicts rest on.",
        draw=partial(_draw, found.found, found.crossover),
    )


def _draw(cells: tuple[Found, ...], where: Crossover | None, axes: Canvas, theme: Theme) -> None:
    axes.axhline(0.0, color=theme.ink, linewidth=1.0)
    for batch, look in zip(sorted({each.cell.batch for each in cells}), cycle(looks(theme)), strict=False):
        own = sorted((each for each in cells if each.cell.batch == batch), key=lambda each: each.cell.tokens)
        changes = [100 * each.ratio.change for each in own]
        below = [change - 100 * (each.verdict.low or 0.0) for change, each in zip(changes, own, strict=True)]
        above = [100 * (each.verdict.high or 0.0) - change for change, each in zip(changes, own, strict=True)]
        tokens = [each.cell.tokens for each in own]
        form, label = f"{look.marker}{look.line}", f"batch {batch}"
        axes.errorbar(tokens, changes, yerr=[below, above], fmt=form, color=look.colour, capsize=3, label=label)
    if where is not None:
        axes.axvline(where.at, color=theme.bad, linestyle="--", label=f"B slower from {where.at:,} tokens")
    axes.set_xscale("log")
    axes.set_xlim(*_decades([each.cell.tokens for each in cells]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel("tokens of context in the batch")
    axes.set_ylabel("B against A, %")


def _decades(tokens: Sequence[int]) -> tuple[float, float]:
    """Return the ends of an axis with the whole decades around all tokens, of which only these have labels."""
    return 10 ** math.floor(math.log10(min(tokens))) / EDGE, 10 ** math.ceil(math.log10(max(tokens))) * EDGE
