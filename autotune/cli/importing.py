"""`autotune import`: an existing script or command line becomes a baseline."""

from pathlib import Path
from typing import Annotated

import typer

from autotune.importing.baseline import Imported, Source, imported
from autotune.sides import CONCURRENCY, launch, script, values
from search_spaces import SpaceError, load

LADDER = "4,16,64"


def import_(
    what: Annotated[str, typer.Argument(metavar="SCRIPT|COMMAND", help="A bash script, or a command line in quotes.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A variable that the script is given; repeatable."),
    ] = None,
    concurrency: Annotated[
        str | None, typer.Option(help=f"The ladder, as 4,16,64; the script gets each as {CONCURRENCY}.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="The container image that it runs in.")] = None,
    hardware: Annotated[str, typer.Option(help="What it runs on, as hardware.yaml calls it.")] = "mi355x",
    trust_space: Annotated[
        bool, typer.Option("--trust-space", help="Keep variables that can run other code in the engine.")
    ] = False,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write it; default: printed.")] = None,
) -> None:
    """Read a launch script or a command line, of which nothing is run, and write it as a search space."""
    name, text = script(what)
    given = values(settings or [])
    ladder = points(concurrency or given.get(CONCURRENCY) or LADDER)
    found = imported(
        {point: launch(text, given, point, name=name) for point in ladder},
        Source(name, given, image=image, hardware=hardware, trusted=trust_space),
    )
    if out is None:
        typer.echo(found.text, nl=False)
    else:
        _write(found, out, trusted=trust_space)
    for doubt in found.doubts:
        typer.echo(f"{name}: {doubt}", err=True)
    if found.files and out is None:
        typer.echo(f"{name}: writes {', '.join(found.files)}, to lie beside the space: -o writes them too", err=True)


def points(ladder: str) -> list[int]:
    """
    Return the concurrencies of `4,16,64`.

    Raises:
        SpaceError: One of them is no whole number above 0.
    """
    words = ladder.split(",")
    if wrong := next((word for word in words if not word.strip().isdigit() or int(word) == 0), None):
        raise SpaceError(f"--concurrency {ladder}: {wrong!r} is no concurrency; write whole numbers, as 4,16,64")
    return list(dict.fromkeys(int(word) for word in words))


def _write(found: Imported, out: Path, *, trusted: bool) -> None:
    targets = {out: found.text, **{out.parent / name: text for name, text in found.files.items()}}
    if there := next((path for path in targets if path.exists()), None):
        raise SpaceError(f"{there} is there already: remove it, or choose another name with -o")
    for path, text in targets.items():
        path.write_text(text, encoding="utf-8")
    load(out.absolute(), trusted=trusted)
