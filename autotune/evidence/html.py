"""The evidence as one page that needs nothing else: inline style, inline plots, no script."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from autotune.evidence import tables
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.plots import DARK, LIGHT, Plot, Theme, plots, svg
from autotune.evidence.templates import render
from autotune.folder import LaunchRecord, TrialRecord

RAW = ("command.sh", "engine.log", "requests.parquet", "answers.jsonl", "outcome.json")


@dataclass(frozen=True, slots=True)
class Link:
    """A file of the study, by a path relative to the page."""

    name: str
    href: str


def to_html(found: Evidence) -> str:
    """Return the evidence as one HTML document; its links lead to the study's files beside it."""
    return render(
        "evidence.html.j2",
        escape=True,
        found=found,
        last=found.standing,
        tables=tables,
        confirmed=judged(found),
        plots=[(plot, [_inline(plot, theme) for theme in (LIGHT, DARK)]) for plot in plots(found)],
        trial_files=_raw(found.root, found.trials),
        launch_files=_raw(found.root, found.launches),
        study_files=_beside(found),
    )


def _inline(plot: Plot, theme: Theme) -> Markup:
    """Return a plot's `<svg>` element, without the head of a document; it is named by its title and needs no other."""
    drawn = svg(plot, theme)
    element = drawn[drawn.index("<svg") :]
    label = Markup('<svg class="{}" role="img" aria-label="{}"').format(theme.name, f"{plot.title}. {plot.says}")
    return Markup(re.sub("^<svg", lambda _: label, element))  # noqa: S704 matplotlib escapes the words in it


def _raw(root: Path, records: Sequence[TrialRecord | LaunchRecord]) -> list[list[Link]]:
    """Return what each record's folder holds of the raw data."""
    return [
        [
            Link(Path(name).stem, (record.folder / name).relative_to(root).as_posix())
            for name in RAW
            if (record.folder / name).exists()
        ]
        for record in records
    ]


def _beside(found: Evidence) -> list[Link]:
    """Return the study's own files; there is a recipe only once it is finished."""
    names = ["evidence.md", "evidence.json", "study.json", "provenance.json", f"space/{found.space.name}.yaml"]
    return [Link(name, name) for name in (["recipe.yaml", *names] if found.finished else names)]
