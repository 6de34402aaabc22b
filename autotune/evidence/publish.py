"""A document as files: Markdown, a page, and its plots beside them."""

from pathlib import Path

from autotune.evidence import tables
from autotune.evidence.html import page
from autotune.evidence.layout import Document
from autotune.evidence.plots import png, svg
from autotune.evidence.templates import render
from autotune.evidence.words import CHINESE, ENGLISH, said
from trials.files import write_whole

PLOTS = "plots"
"""The folder of a document's plots, beside it."""


def publish(document: Document, md: Path, html: Path) -> None:
    """Write a document as Markdown and as a page; both lie in the folder to which its links are relative."""
    for plot in (plot for section in document.sections for plot in section.plots):
        folder = md.parent / PLOTS
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{plot.name}.svg", svg(plot))
        write_whole(folder / f"{plot.name}.png", png(plot))
    write_whole(md, markdown(document))
    write_whole(html, page(document))


def markdown(document: Document) -> str:
    """Return a document as GitHub draws it, in English and in Chinese."""
    text = render(
        "evidence.md.j2", escape=False, document=document, tables=tables, english=ENGLISH, chinese=CHINESE, see=said
    )
    return f"{text.strip()}\n"
