"""`autotune doctor`: is this machine fit for a study?"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from autotune.cli.options import AsJson, DataRoot, Studies
from autotune.doctor import Finding, Site, Unfit, examine, intact_files, unsourced
from search_spaces import SearchSpace, load
from trials.data import data_root

COLOURS = {"ok": typer.colors.GREEN, "warn": typer.colors.YELLOW, "unfit": typer.colors.RED}


def doctor(
    space: Annotated[str | None, typer.Argument(help="A space to check for too: its engine, files and needs.")] = None,
    studies: Studies = Path("studies"),
    data: DataRoot = None,
    facts: Annotated[
        bool, typer.Option("--facts", help="Say instead which log lines of the engines have no source.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether this machine is fit for a study, and how to mend what is not; exit code 3 if it is unfit."""
    loaded = load(space) if space else None
    site = Site(
        studies=studies,
        data_root=(data or data_root()).resolve(),
        space_folder=loaded.folder if loaded else Path(),
    )
    unfit = []
    for finding in unsourced() if facts else _findings(loaded, site):
        typer.echo(json.dumps(asdict(finding)) if as_json else _row(finding))
        if finding.level == "unfit":
            unfit.append(finding.check)
    if unfit:
        raise Unfit(f"this machine is unfit: {', '.join(unfit)}; the lines above say how to mend it")


def _findings(space: SearchSpace | None, site: Site) -> Iterator[Finding]:
    yield from examine(space, site)
    if space:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:

            def opened(path: Path) -> AbstractContextManager[IO[bytes]]:
                return progress.open(path, "rb", description=f"reading {path.name}")

            yield from intact_files(space, site, opened)


def _row(finding: Finding) -> str:
    return f"{typer.style(f'{finding.level:<6}', fg=COLOURS[finding.level])}{finding.check:<11} {finding.words}"
