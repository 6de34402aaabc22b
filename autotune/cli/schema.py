"""`autotune schema`: what an editor, or a program that reads evidence, needs to complete and check files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from autotune.evidence.comparison_report import schema as schema_of_comparisons
from autotune.evidence.report import schema as schema_of_studies
from search_spaces import schema as schema_of_spaces
from trials.files import write_whole


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; default: standard output.")] = None,
    evidence: Annotated[bool, typer.Option("--evidence", help="Of a study's evidence.json.")] = False,
    comparison: Annotated[bool, typer.Option("--comparison", help="Of a comparison's evidence.json.")] = False,
) -> None:
    """Print the JSON Schema of space files, for an editor, or of the `evidence.json` of a study or a comparison."""
    if evidence and comparison:
        raise typer.BadParameter("--evidence or --comparison, not both")
    of = schema_of_comparisons if comparison else schema_of_studies if evidence else schema_of_spaces
    text = json.dumps(of(), indent=2)
    if output is None:
        typer.echo(text)
    else:
        write_whole(output, f"{text}\n")
