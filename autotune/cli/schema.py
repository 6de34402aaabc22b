"""`autotune schema`: what an editor, or a program that reads evidence, needs to complete and check files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from autotune.evidence.report import schema as schema_of_evidence
from search_spaces import schema as schema_of_spaces
from trials.files import write_whole


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; default: standard output.")] = None,
    evidence: Annotated[bool, typer.Option("--evidence", help="Of evidence.json, not of space files.")] = False,
) -> None:
    """Print the JSON Schema of space files, for an editor, or of `evidence.json`."""
    text = json.dumps(schema_of_evidence() if evidence else schema_of_spaces(), indent=2)
    if output is None:
        typer.echo(text)
    else:
        write_whole(output, f"{text}\n")
