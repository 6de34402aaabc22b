"""`autotune compare`: any two ways to serve, launched in turn until the numbers decide."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from autotune.cli.comparing import (
    DEFAULT_NOISE,
    Comparisons,
    LaunchNoise,
    MaxLaunches,
    Name,
    Resume,
    conduct,
    dispatching,
    refuse_unfit_machine,
    slug,
    verdict_record,
)
from autotune.cli.options import AsJson, DataRoot, Emulate, LoadSeed, Place, WhereLaunched, WhichLandscape
from autotune.comparisons import ComparisonFolder, Rules, comparison_folder
from autotune.contenders import Contender, Named, contender
from autotune.evidence.compared import Compared
from autotune.evidence.sweep import swept, write_sweep
from autotune.noise import known_noise
from autotune.staging import Terms, stage
from autotune.study import BaselineFailed
from autotune.sweep import Cell, at_context, by_context, cells, stretched
from trials.data import data_root

WHAT = "A space, a recipe.yaml, a launch script, or a command line in quotes."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=WHAT)],
    b: Annotated[str, typer.Argument(metavar="B", help=f"{WHAT} It gets A's workload and gate.")],
    settings_a: Annotated[
        list[str] | None, typer.Option("--set-a", metavar="NAME=VALUE", help="A knob or a variable of A; repeatable.")
    ] = None,
    settings_b: Annotated[list[str] | None, typer.Option("--set-b", metavar="NAME=VALUE", help="One of B.")] = None,
    image_a: Annotated[str | None, typer.Option(help="Run A in this image.")] = None,
    image_b: Annotated[str | None, typer.Option(help="Run B in this one.")] = None,
    max_launches: MaxLaunches = 6,
    context_sweep: Annotated[
        str | None, typer.Option(metavar="CELLS", help="Compare at each BATCHxCONTEXT, as 16x1000,16x50000.")
    ] = None,
    name: Name = None,
    seed: LoadSeed = 0,
    dispatcher: WhereLaunched = "ray",
    emulate: Emulate = False,
    landscape: WhichLandscape = "L0",
    noise: LaunchNoise = DEFAULT_NOISE,
    comparisons: Comparisons = Path("comparisons"),
    data: DataRoot = None,
    as_json: AsJson = False,
    resume: Resume = False,
) -> None:
    """Compare two recipes on fresh launches, A B B A, until a win, a loss or a tie is proved, or launches run out."""
    sides = (
        Named(what=a, settings=tuple(settings_a or ()), image=image_a),
        Named(what=b, settings=tuple(settings_b or ()), image=image_b),
    )
    terms = Terms(
        data_root=(data or data_root()).resolve(),
        seed=seed,
        emulated=(landscape, noise) if emulate else None,
        resume=resume,
    )
    folder = comparison_folder(comparisons, name or slug(*(side.words for side in sides)))
    if context_sweep:
        _sweep(folder, sides, cells(context_sweep), max_launches, terms, dispatcher, as_json=as_json)
        return
    with TemporaryDirectory() as scratch:
        left, right = _contenders(sides, terms, Path(scratch))
        refuse_unfit_machine(left.space, terms, comparisons)
        known = known_noise(left.space, terms.data_root, terms.emulation(None))
        stage(folder, left, right, Rules(most=max_launches, known_sd=known.launch_sd if known else None), terms)
    with folder.locked(), dispatching(dispatcher) as running:
        found = conduct(folder, running, as_json=as_json)
    _show(folder, found, as_json=as_json)
    if found.stands.baseless:
        raise BaselineFailed(found.lines[0])


def _show(folder: ComparisonFolder, found: Compared, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(verdict_record(folder, found)))
        return
    for side, named in zip("AB", found.settings.names, strict=True):
        typer.echo(f"{side}: {named}")
    for line in (*found.lines, f"evidence: {folder.evidence[1]}"):
        typer.echo(line)


def _contenders(sides: tuple[Named, Named], terms: Terms, scratch: Path) -> tuple[Contender, Contender]:
    emulate = terms.emulated is not None
    left = contender(sides[0], like=None, emulate=emulate, scratch=scratch)
    return left, contender(sides[1], like=left.space, emulate=emulate, scratch=scratch)


def _sweep(
    folder: ComparisonFolder,
    sides: tuple[Named, Named],
    grid: tuple[Cell, ...],
    most: int,
    terms: Terms,
    place: Place,
    *,
    as_json: bool,
) -> None:
    """Compare at each context of a grid, and say where B begins to lose."""
    parts = [ComparisonFolder(folder.root / f"context-{context}") for context in by_context(grid)]
    rules = Rules(most=most, until="every level decided", family=len(grid), judged=False)
    with TemporaryDirectory() as scratch:
        base, _ = _contenders(sides, terms, Path(scratch))
        refuse_unfit_machine(base.space, terms, folder.root.parent)
        for part, (context, batches) in zip(parts, by_context(grid).items(), strict=True):
            stage(part, *_at(sides, base, context, batches, terms, Path(scratch)), rules, terms)
    with folder.locked(), dispatching(place) as running:
        for part in parts:
            conduct(part, running, as_json=as_json)
    found = swept(folder.root)
    write_sweep(found)
    lines = (json.dumps(found.record()),) if as_json else (*found.lines, f"evidence: {folder.root / 'sweep.md'}")
    for line in lines:
        typer.echo(line)
    for cell in found.parts:
        if cell.stands.baseless:
            raise BaselineFailed(f"{cell.settings.name}: {cell.lines[0]}")


def _at(
    sides: tuple[Named, Named], base: Contender, context: int, batches: tuple[int, ...], terms: Terms, scratch: Path
) -> tuple[Contender, Contender]:
    """Return both sides under the load of one context, with room for it."""
    workload = at_context(base.space.workload, context, batches)
    like = base.space.model_copy(update={"workload": workload})
    left, right = (contender(side, like=like, emulate=terms.emulated is not None, scratch=scratch) for side in sides)
    return left.serving(stretched(left.recipe)), right.serving(stretched(right.recipe))
