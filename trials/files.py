"""Whole files: a reader sees the old one or the new one, never half."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text`, through a file beside it and a rename."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
