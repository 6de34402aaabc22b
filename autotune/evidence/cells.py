"""Tables whose numbers say where they come from: rows of cells, and the same as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's text, and the file beside the document that it comes from; empty where it comes from several or none."""

    text: str
    href: str = ""

    @property
    def markdown(self) -> str:
        """The cell as GitHub draws it."""
        text = " ".join(self.text.replace("\\", "\\\\").replace("|", "\\|").split())
        return f"[{text}]({self.href})" if self.href else text


Row: TypeAlias = dict[str, Cell]


def markdown(rows: Sequence[Row]) -> str:
    """Return a table as GitHub draws it; all its rows have the columns of the first."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([cell.markdown for cell in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
