"""`autotune dashboard`: Optuna's own dashboard on a study."""

import signal
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from autotune import dashboard as serving
from autotune.cli.options import Studies
from autotune.folder import open_study
from autotune.rehearsal import mark

PORT = 8080


def dashboard(
    name: Annotated[str, typer.Argument(help="A study; it may still be running.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen on 127.0.0.1; 0: any free one.")] = PORT,
    studies: Studies = Path("studies"),
) -> None:
    """Open Optuna's dashboard on a copy of a study's index, until Ctrl-C; needs autotune-serve[dashboard]."""
    folder = open_study(studies, name)
    said = mark(folder.settings())
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs ignore Ctrl-C
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt), serving.dashboard(folder.database, name=f"{said}{name}", port=port) as server:
        at = datetime.now().astimezone().strftime("%H:%M:%S")
        typer.echo(
            f"{said}{server.url}: study {name} as it was at {at}, figures of its search and no evidence; Ctrl-C ends it"
        )
        server.serve_forever()
