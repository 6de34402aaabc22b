"""Options that several verbs have."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Place = Literal["ray", "local"]
Landscape = Literal["L0", "L1", "L2"]

DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Where weights and engines are; default: $AUTOTUNE_DATA or the user's data."),
]
Studies = Annotated[Path, typer.Option("--studies", help="Folder of all studies.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON objects, one a line, and nothing else.")]
Emulate = Annotated[bool, typer.Option("--emulate", help="vLLM with Kimi-K2.5 on an emulated MI355X: never evidence.")]
WhichLandscape = Annotated[Landscape, typer.Option("--landscape", help="Which emulated machine.")]
LoadSeed = Annotated[int, typer.Option("--seed", help="Of the load's prompts.")]
WhereLaunched = Annotated[Place, typer.Option("--dispatcher", help="Where launches run: on Ray, or in this process.")]
