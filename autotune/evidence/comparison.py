"""The evidence of one comparison, from its folder alone: for people, and for machines."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from autotune.campaign import Progress, launch_values, progress
from autotune.compare import LaunchValues
from autotune.comparisons import ComparisonFolder, Launched, Settings, Sides
from autotune.evidence import verdicts
from autotune.evidence.cells import Cell, Row, markdown
from autotune.evidence.raw import ANSWERS, OUTCOME, REQUESTS, sources
from autotune.evidence.tables import interval, percent
from autotune.evidence.templates import render
from autotune.redaction import scrubbed
from autotune.rehearsal import MARK
from trials.files import write_whole
from trials.outcome import Infeasible, Lost, Measured
from trials.supervisor import LOG

RAW = (REQUESTS, "runs.jsonl", ANSWERS, LOG, "command.sh", OUTCOME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All that a comparison's folder holds; every text in it is redacted."""

    settings: Settings
    sides: Sides
    launches: tuple[Launched, ...]
    stands: Progress
    provenance: dict[str, Any]

    @property
    def mark(self) -> str:
        """What stands before every title: nothing, or that all of it was emulated."""
        return f"{MARK} " if self.settings.emulation else ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The raw files that were there when the numbers came to be, relative to the documents."""
        return tuple(path for one in self.launches for path in self.gone(one))

    def gone(self, one: Launched) -> tuple[str, ...]:
        """Return those of one launch; each has ended but the last."""
        return sources(one.folder.parent, one, ended=one is not self.launches[-1]).missing

    @property
    def lines(self) -> list[str]:
        """The verdict and what belongs beside it."""
        comparison = self.stands.comparison
        beside = verdicts.notes(comparison) if comparison and not self.stands.failed else ()
        return [f"{self.mark}{verdicts.sentence(self.stands)}", *beside]


def gather(folder: ComparisonFolder) -> Compared:
    """Read a comparison's folder."""
    settings, sides = folder.settings(), folder.sides()
    launches = [replace(one, outcome=scrubbed(one.outcome)) for one in folder.launches()]
    return Compared(
        settings=scrubbed(settings),
        sides=sides,
        launches=tuple(launches),
        stands=progress(launches, settings.rules, sides.space.objective),
        provenance=scrubbed(json.loads(folder.provenance.read_text(encoding="utf-8"))),
    )


def write(folder: ComparisonFolder) -> Compared:
    """Write the documents; return what they say."""
    found = gather(folder)
    md, html, machine = folder.evidence
    values = {"found": found, "levels": list(_levels(found)), "launches": list(_launches(found))}
    write_whole(md, render("comparison.md.j2", escape=False, table=markdown, **values))
    write_whole(html, render("comparison.html.j2", escape=True, **values))
    write_whole(machine, to_json(found))
    return found


def to_json(found: Compared) -> str:
    """Return the evidence for machines."""
    whole = {
        "emulated": found.settings.emulation is not None,
        "result": found.stands.comparison.result if found.stands.comparison and not found.stands.failed else None,
        "sentence": found.lines[0],
        "failed": found.stands.failed,
        "comparison": found.stands.comparison,
        "launches": [
            {
                "number": one.number,
                "arm": one.arm,
                "folder": one.folder.name,
                "values": _values(found, one),
                "missing": found.gone(one),
            }
            for one in found.launches
        ],
        "settings": found.settings,
        "provenance": found.provenance,
    }
    return TypeAdapter(Any).dump_json(whole, indent=2).decode() + "\n"


def _values(found: Compared, one: Launched) -> LaunchValues | None:
    return launch_values(one.outcome, found.sides.space.objective) if isinstance(one.outcome, Measured) else None


def _levels(found: Compared) -> Iterator[Row]:
    """Yield the rows of A beside B: a concurrency each, and the ladder; what is missing is behind each of them."""
    if (comparison := found.stands.comparison) is None:
        return
    raw = {"raw data": Cell(f"missing: {', '.join(found.missing)}")} if found.missing else {}
    for concurrency, ratio in comparison.levels.items():
        verdict = comparison.verdicts[concurrency]
        yield {
            "concurrency": Cell(str(concurrency)),
            "A": Cell(f"{ratio.a:.1f}"),
            "B": Cell(f"{ratio.b:.1f}"),
            "change": Cell(percent(ratio.change)),
            "99 % interval": Cell(interval(ratio)),
            "verdict": Cell(verdicts.level(verdict)),
            **raw,
        }
    overall = comparison.overall
    yield {
        "concurrency": Cell("all, geometric mean"),
        "A": Cell(f"{overall.a:.1f}"),
        "B": Cell(f"{overall.b:.1f}"),
        "change": Cell(percent(overall.change)),
        "99 % interval": Cell(interval(overall)),
        "verdict": Cell(comparison.result),
        **raw,
    }


def _launches(found: Compared) -> Iterator[Row]:
    """Yield the rows of the launches in their order; each number links to the outcome that has it."""
    ladder = found.sides.a.workload.concurrency
    for one in found.launches:
        values, source = _values(found, one), f"{one.folder.name}/outcome.json"
        rates = values.levels if values else {}
        yield {
            "launch": Cell(str(one.number)),
            "arm": Cell(one.arm),
            **{f"concurrency {c}": Cell(f"{rates[c]:.1f}", source) if rates else Cell("") for c in ladder},
            "objective": Cell(f"{values.objective:.1f}", source) if values else Cell(""),
            "gate": Cell(_gate(one)),
            "outcome": Cell(_outcome(one), source if one.outcome else ""),
            **{name: _file(one, name, found.gone(one)) for name in RAW},
        }


def _gate(one: Launched) -> str:
    match one.outcome:
        case Measured(verdict=verdict) if verdict:
            return verdict.result
        case _:
            return ""


def _outcome(one: Launched) -> str:
    match one.outcome:
        case Measured(ignored=ignored):
            return f"measured, not in effect: {', '.join(ignored)}" if ignored else "measured"
        case Infeasible(failure=failure, reason=reason):
            return f"infeasible ({failure}): {reason}"
        case Lost(reason=reason):
            return f"lost: {reason}"
        case None:
            return "running"


def _file(one: Launched, name: str, gone: tuple[str, ...]) -> Cell:
    """Return a link to a raw file; a file that is gone is said to be."""
    path = f"{one.folder.name}/{name}"
    if (one.folder / name).exists():
        return Cell("file", path)
    return Cell("missing" if path in gone else "")
