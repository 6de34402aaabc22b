"""`autotune fetch`: weights and engine of the demo."""

from typing import Annotated

import typer

from autotune.cli.options import DataRoot
from autotune.fetch import FETCHES
from autotune.fetch import fetch as fetch_all
from trials.data import data_root


def fetch(
    name: Annotated[str, typer.Argument(help=f"What to fetch: {', '.join(FETCHES)}.")],
    data: DataRoot = None,
) -> None:
    """Fetch a space's engine and weights, pinned and checked by sha256; what is there already is kept."""
    for line in fetch_all(name, data or data_root()):
        typer.echo(line)
