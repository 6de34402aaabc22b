"""Every document as Markdown: what GitHub draws as a table is one, and nothing else is in it."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest

from autotune.evidence import write
from autotune.evidence.comparison import write as write_comparison
from autotune.evidence.sweep import swept as read_sweep
from autotune.evidence.sweep import write_sweep
from tests.autotune.evidence.whole import apart, compared, swept, whole


def study(root: Path) -> Path:
    """Return the document of a study with something of everything."""
    folder = whole(root)
    write(folder)
    return folder.evidence_md


def ablated(root: Path) -> Path:
    """Return the document of a study that was taken apart."""
    folder = apart(root)
    write(folder)
    return folder.evidence_md


def comparison(root: Path) -> Path:
    """Return the document of a comparison."""
    folder = compared(root)
    write_comparison(folder)
    return folder.evidence[0]


def sweep(root: Path) -> Path:
    """Return the document of a sweep."""
    folder = swept(root)
    write_sweep(read_sweep(folder))
    return folder / "sweep.md"


def cells(row: str) -> int:
    """Return how many cells GitHub makes of a line."""
    return len(re.split(r"(?<!\\)\|", row)) - 2


@pytest.mark.parametrize("document", [study, ablated, comparison, sweep])
def test_a_table_ends_with_an_empty_line_and_every_row_is_as_wide_as_its_head(
    document: Callable[[Path], Path], tmp_path: Path
) -> None:
    lines = [*document(tmp_path).read_text(encoding="utf-8").splitlines(), ""]
    tables = 0
    for before, line in pairwise(lines):
        if before.startswith("|"):
            assert line == "" or line.startswith("|"), f"{line!r} becomes a row of the table above it"
            assert not line or cells(line) == cells(before)
        elif line.startswith("|"):
            assert before == "", f"a table right after {before!r} is none"
            tables += 1
    assert tables >= 2


@pytest.mark.parametrize("document", [study, ablated, comparison, sweep])
def test_every_link_leads_to_a_file(document: Callable[[Path], Path], tmp_path: Path) -> None:
    path = document(tmp_path)
    links = re.findall(r"\]\((.+?)\)", path.read_text(encoding="utf-8"))
    assert len(links) > 5
    assert [link for link in links if not (path.parent / unquote(link)).is_file()] == []
