"""A document as one page that needs nothing else: inline style, inline plots, no script."""

import re

from markupsafe import Markup

from autotune.evidence import tables
from autotune.evidence.layout import Document
from autotune.evidence.plots import DARK, LIGHT, Plot, Theme, svg
from autotune.evidence.raw import Sources
from autotune.evidence.templates import render
from autotune.evidence.words import CHINESE, ENGLISH, said


def page(document: Document) -> str:
    """Return a document as HTML; its links lead to the files beside it."""
    return render(
        "evidence.html.j2",
        escape=True,
        document=document,
        tables=tables,
        english=ENGLISH,
        chinese=CHINESE,
        see=said,
        drawn=lambda plot: [_inline(plot, theme) for theme in (LIGHT, DARK)],
        is_sources=lambda cell: isinstance(cell, Sources),
    )


def _inline(plot: Plot, theme: Theme) -> Markup:
    """Return a plot's `<svg>` element, without the head of a document; it is named by its title and needs no other."""
    drawn = svg(plot, theme)
    element = drawn[drawn.index("<svg") :]
    label = Markup('<svg class="{}" role="img" aria-label="{}"').format(theme.name, f"{plot.title}. {plot.says}")
    return Markup(re.sub("^<svg", lambda _: label, element))  # noqa: S704 matplotlib escapes the words in it
