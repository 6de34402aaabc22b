"""`autotune bisect`: which of several images is the first that is slower."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from autotune.bisection import Narrowed, narrowed
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
)
from autotune.cli.options import AsJson, DataRoot, Emulate, LoadSeed, WhereLaunched, WhichLandscape
from autotune.compare import Result
from autotune.comparisons import ComparisonFolder, Rules, comparison_folder
from autotune.contenders import Named, contender
from autotune.dispatch import Dispatcher
from autotune.evidence.verdicts import culprit
from autotune.noise import known_noise
from autotune.staging import Terms, stage
from autotune.study import BaselineFailed
from search_spaces import SpaceError
from trials.data import data_root

FEWEST = 2


def bisect(
    space: Annotated[str, typer.Argument(help="What is served: a space, a recipe.yaml, a script or a command line.")],
    images: Annotated[
        list[str], typer.Option("--image", help="An image; repeat it, in order: the first is taken to be good.")
    ],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A knob or a variable; repeatable.")
    ] = None,
    max_launches: MaxLaunches = 6,
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
    """Find the first image that is slower than the first one by more than the noise, by a binary search."""
    if len(images) < FEWEST:
        raise SpaceError("bisect needs two images or more: repeat --image, the good one first")
    terms = Terms(
        data_root=(data or data_root()).resolve(),
        seed=seed,
        emulated=(landscape, noise) if emulate else None,
        resume=resume,
    )
    sides = [Named(what=space, settings=tuple(settings or ()), image=image) for image in images]
    root = comparison_folder(comparisons, name or slug("bisect", space)).root
    results: dict[int, Result] = {}
    with dispatching(dispatcher) as running:
        while (ask := narrowed(len(images), results).ask) is not None:
            folder = ComparisonFolder(root / f"0-against-{ask}")
            _stage(folder, sides[0], sides[ask], max_launches, terms)
            results[ask] = _result(folder, running, as_json=as_json)
    _say(narrowed(len(images), results), tuple(images), root, terms, as_json=as_json)


def _stage(folder: ComparisonFolder, good: Named, other: Named, most: int, terms: Terms) -> None:
    emulate = terms.emulated is not None
    with TemporaryDirectory() as scratch:
        left = contender(good, like=None, emulate=emulate, scratch=Path(scratch))
        right = contender(other, like=left.space, emulate=emulate, scratch=Path(scratch))
        refuse_unfit_machine(left.space, terms, folder.root.parent.parent)
        known = known_noise(left.space, terms.data_root, terms.emulation(None))
        rules = Rules(most=most, judged=False, known_sd=known.launch_sd if known else None)
        stage(folder, left, right, rules, terms)


def _result(folder: ComparisonFolder, running: Dispatcher, *, as_json: bool) -> Result:
    """Run one comparison; an image that does not even serve is slower than any that does."""
    with folder.locked():
        found = conduct(folder, running, as_json=as_json)
    if found.stands.baseless:
        raise BaselineFailed(f"the first image does not serve: {found.stands.failed}")
    if found.stands.failed:
        return "loss"
    if not as_json:
        typer.echo(f"{folder.root.name}: {found.lines[0]}")
    return found.stands.comparison.result if found.stands.comparison else "undecided"


def _say(found: Narrowed, images: tuple[str, ...], root: Path, terms: Terms, *, as_json: bool) -> None:
    mark = "EMULATED " if terms.emulated else ""
    if as_json:
        first = None if found.first_worse is None else images[found.first_worse]
        record = {"event": "bisected", "emulated": bool(mark), "first_worse": first, "good": images[found.good]}
        typer.echo(json.dumps(record))
        return
    typer.echo(f"{mark}{culprit(found, images)}")
    typer.echo(f"evidence: {root}/*/evidence.html; no gate was asked, so nothing is said of accuracy")
