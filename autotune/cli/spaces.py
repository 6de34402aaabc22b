"""`autotune spaces` and `autotune command`: what is shipped, and what would run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from autotune.cli.options import DataRoot, Landscape
from autotune.folder import StudyFolder
from autotune.rehearsal import refuse_other
from search_spaces import (
    Config,
    Recipe,
    SearchSpace,
    Serve,
    SpaceError,
    load,
    load_recipe,
    names,
    parse_setting,
    read,
    resolve,
)
from trials.data import data_root, locate
from trials.emulation import Emulation
from trials.engines import EngineNotFound, engine
from trials.engines.emulated.chance import FLAKY, LAUNCH
from trials.serving import Launch
from trials.serving import command as script
from trials.supervisor import Spec

PORT = 8080
STOP_S = 60.0  # of an engine in a container whose client has gone


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
    known: Annotated[str | None, typer.Option(help="Begin with a known recipe of the space, by its name.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="A point of the ladder; default: its first.")] = None,
    form: Annotated[
        Literal["shell", "json"], typer.Option("--format", help="A line for bash, or all of it.")
    ] = "shell",
    port: Annotated[int, typer.Option(help="Where the engine shall listen.")] = PORT,
    emulate: Annotated[bool, typer.Option("--emulate", help="Of an emulated MI355X: vLLM with Kimi-K2.5.")] = False,
    landscape: Annotated[Landscape, typer.Option(help="Which emulated machine.")] = "L0",
    data: DataRoot = None,
) -> None:
    """Print exactly what would run, without running it; pasted into bash it runs."""
    recipe, folder = _recipe(what, settings or [], known)
    stand_in = _stand_in(recipe, landscape) if emulate else None
    serve = recipe.at(concurrency or recipe.workload.concurrency[0])
    root = (data or data_root()).absolute()
    files = locate(recipe.target.files, space_folder=folder, data_root=root)
    launch = _launch(recipe, serve, files, root)
    if stand_in:
        launch = stand_in.instead_of(launch)
    spec = _spec(launch, port)
    if form == "shell":
        typer.echo(script(spec.argv, spec.env), nl=False)
        return
    whole = {"env": serve.env, "argv": spec.argv, "image": recipe.target.image, "layout": serve.layout}
    typer.echo(json.dumps({**whole, "config": recipe.config, "fingerprint": recipe.fingerprint}, indent=2))


def _stand_in(recipe: Recipe, landscape: Landscape) -> Emulation:
    refuse_other(recipe.target, recipe.serve.args, name=recipe.space)
    return Emulation(landscape=landscape, seed=0, noise=LAUNCH, flaky=FLAKY)


def _launch(recipe: Recipe, serve: Serve, files: Mapping[str, Path], root: Path) -> Launch:
    target = recipe.target
    return Launch(
        engine=target.engine,
        model=target.model,
        args=(*serve.args, *engine(target.engine).layout(serve.layout)),
        env=serve.env,
        files=files,
        data_root=root,
        folder=Path(),
        ready_s=0.0,
        stop_s=STOP_S,
        request_s=0.0,
        launcher=target.launcher,
        image=target.image,
    )


def _spec(launch: Launch, port: int) -> Spec:
    """Return what would run here, or with a remark what would run where the engine is."""
    try:
        return launch.spec(port)
    except EngineNotFound as error:
        typer.echo(f"autotune: not on this machine: {error}", err=True)
        return launch.spec(port, elsewhere=True)


def _known(space: SearchSpace, name: str | None) -> Config:
    if name is None:
        return {}
    found = {recipe.name: dict(recipe.set) for recipe in space.known}
    if name not in found:
        raise SpaceError(f"{space.name}: no known recipe {name!r}; it has {', '.join(map(repr, found)) or 'none'}")
    return found[name]


def _recipe(what: str, settings: list[str], known: str | None) -> tuple[Recipe, Path]:
    """Return a recipe, and the folder in which its space's own files lie."""
    path = Path(what)
    if not (path.is_file() and _holds_a_recipe(path)):
        space = load(what)
        chosen = _known(space, known) | dict(parse_setting(space, setting) for setting in settings)
        return resolve(space, chosen), space.folder
    if settings or known:
        raise SpaceError(f"{what}: --set and --known are of a space; a recipe has no knobs")
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
