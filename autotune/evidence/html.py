"""The evidence as one page that needs nothing else: inline style, inline plots, no script."""

import re

from markupsafe import Markup

from autotune.evidence import tables
from autotune.evidence.evidence import Evidence
from autotune.evidence.plots import DARK, LIGHT, Plot, Theme, svg
from autotune.evidence.raw import Link, Sources
from autotune.evidence.sections import document
from autotune.evidence.templates import render
from autotune.evidence.words import CHINESE, ENGLISH, said


def to_html(found: Evidence) -> str:
    """Return the evidence as one HTML document; its links lead to the study's files beside it."""
    return render(
        "evidence.html.j2",
        escape=True,
        found=found,
        document=document(found),
        tables=tables,
        english=ENGLISH,
        chinese=CHINESE,
        see=said,
        drawn=lambda plot: [_inline(plot, theme) for theme in (LIGHT, DARK)],
        is_sources=lambda cell: isinstance(cell, Sources),
        study_files=_beside(found),
    )


def _inline(plot: Plot, theme: Theme) -> Markup:
    """Return a plot's `<svg>` element, without the head of a document; it is named by its title and needs no other."""
    drawn = svg(plot, theme)
    element = drawn[drawn.index("<svg") :]
    label = Markup('<svg class="{}" role="img" aria-label="{}"').format(theme.name, f"{plot.title}. {plot.says}")
    return Markup(re.sub("^<svg", lambda _: label, element))  # noqa: S704 matplotlib escapes the words in it


def _beside(found: Evidence) -> list[Link]:
    """Return the study's own files; there is a recipe only once it is finished."""
    names = ["evidence.md", "evidence.json", "study.json", "provenance.json", f"space/{found.space.name}.yaml"]
    return [Link(name, name) for name in (["recipe.yaml", *names] if found.finished else names)]
