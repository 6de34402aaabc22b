"""`autotune schema`: what an editor needs to complete and check space files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from search_spaces import schema as schema_of_spaces
from trials.files import write_whole


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; default: standard output.")] = None,
) -> None:
    """Print the JSON Schema of space files, for an editor."""
    text = json.dumps(schema_of_spaces(), indent=2)
    if output is None:
        typer.echo(text)
    else:
        write_whole(output, f"{text}\n")
