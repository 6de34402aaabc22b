"""Whole files: a reader sees the old one or the new one, never half."""

from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content`, text as UTF-8, through a file beside it and a rename."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk does not say where
        raise
