"""`autotune stop`: end a running study from another terminal."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from autotune.cli.options import Studies
from autotune.folder import open_study
from autotune.stop import MARGIN_S
from autotune.stop import stop as stop_driver
from search_spaces import load


def stop(
    name: Annotated[str, typer.Argument(help="A running study.")],
    timeout: Annotated[
        float | None,
        typer.Option(min=0.0, help=f"Seconds to wait; default: the space's grace for engines + {MARGIN_S:g}."),
    ] = None,
    studies: Studies = Path("studies"),
) -> None:
    """End a running study as Ctrl-C does, and wait until it and its engine have ended."""
    folder = open_study(studies, name)
    timeout_s = load(folder.space).deadlines.stop_s + MARGIN_S if timeout is None else timeout
    before = "is not running"
    with Console(stderr=True).status("") as moving:
        for waited_s in stop_driver(folder, timeout_s=timeout_s):
            before = "was stopped"
            moving.update(f"study {name}: its engine is being stopped, {waited_s:.0f} s of at most {timeout_s:.0f}")
    after = "it is done" if folder.finished() else f"go on with `autotune resume {name}`"
    typer.echo(f"study {name!r} {before}; {after}")
