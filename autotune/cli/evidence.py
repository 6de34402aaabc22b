"""`autotune evidence`: recipe, documents and plots made anew from the raw data."""

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.options import Studies
from autotune.evidence import gather, write
from autotune.folder import open_study


def evidence(
    name: Annotated[str, typer.Argument(help="A study; it may still be running.")],
    studies: Studies = Path("studies"),
) -> None:
    """Write a study's recipe, evidence and plots anew from its raw data, also while it runs."""
    folder = open_study(studies, name)
    write(folder)
    typer.echo(f"{gather(folder).sentence}\nevidence: {folder.evidence_html}")
