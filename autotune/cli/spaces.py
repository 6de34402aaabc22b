"""`autotune spaces` and `autotune command`: what is shipped, and what would run."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from autotune.cli.fetch import DataRoot
from autotune.folder import StudyFolder
from search_spaces import Recipe, SpaceError, load, load_recipe, names, parse_setting, read, resolve
from trials.data import data_root, locate, substitute
from trials.engines import engine
from trials.ports import HOST
from trials.serving import command as script

PORT = 8080


def spaces() -> None:
    """List the search spaces that are shipped."""
    width = max(len(name) for name in names())
    for name in names():
        typer.echo(f"{name:<{width}}  {load(name).summary}")


def command(
    what: Annotated[str, typer.Argument(help="A shipped space, a space file, or a recipe.yaml.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KNOB=VALUE", help="Move a knob off the baseline; repeatable.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="A point of the ladder; default: its first.")] = None,
    form: Annotated[
        Literal["shell", "json"], typer.Option("--format", help="A line for bash, or all of it.")
    ] = "shell",
    port: Annotated[int, typer.Option(help="Where the engine shall listen.")] = PORT,
    data: DataRoot = None,
) -> None:
    """Print exactly what would run, without running it; pasted into bash it runs."""
    recipe, folder = _recipe(what, settings or [])
    serve = recipe.at(concurrency or recipe.workload.concurrency[0])
    root = (data or data_root()).absolute()
    files = locate(recipe.target.files, space_folder=folder, data_root=root)
    argv = engine(recipe.target.engine).argv(
        substitute(serve.args, files), model=recipe.target.model, host=HOST, port=port, data_root=root
    )
    if form == "shell":
        typer.echo(script(argv, serve.env), nl=False)
        return
    whole = {"env": serve.env, "argv": argv, "image": recipe.target.image, "layout": serve.layout}
    typer.echo(json.dumps({**whole, "config": recipe.config, "fingerprint": recipe.fingerprint}, indent=2))


def _recipe(what: str, settings: list[str]) -> tuple[Recipe, Path]:
    """Return a recipe, and the folder in which its space's own files lie."""
    path = Path(what)
    if not (path.is_file() and _holds_a_recipe(path)):
        space = load(what)
        return resolve(space, dict(parse_setting(space, setting) for setting in settings)), space.folder
    if settings:
        raise SpaceError(f"{what}: --set moves knobs of a space; a recipe has none")
    recipe = load_recipe(path)
    return recipe, _space_folder(recipe, StudyFolder(path.parent))


def _holds_a_recipe(path: Path) -> bool:
    data = read(path)
    return isinstance(data, dict) and "config" in data


def _space_folder(recipe: Recipe, beside: StudyFolder) -> Path:
    """Where a recipe's space is: its study knows; else a shipped one of that name; else beside the recipe."""
    if beside.settings_file.is_file():
        return beside.settings().space_folder
    return load(recipe.space).folder if recipe.space in names() else beside.root.resolve()
