"""`autotune noise`: how much launches of one recipe differ on this machine, before anything is tuned on it."""

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from autotune.cli.comparing import (
    DEFAULT_NOISE,
    Comparisons,
    LaunchNoise,
    Name,
    Resume,
    conduct,
    dispatching,
    refuse_unfit_machine,
    slug,
)
from autotune.cli.options import AsJson, DataRoot, Emulate, LoadSeed, WhereLaunched, WhichLandscape
from autotune.comparisons import Rules, comparison_folder
from autotune.contenders import Named, contender
from autotune.evidence.compared import Compared
from autotune.evidence.verdicts import noisy
from autotune.noise import FEWEST, MOST, Noise, keep, noise_file
from autotune.noise import noise as measured_noise
from autotune.staging import Terms, stage
from autotune.study import BaselineFailed
from trials.data import data_root

LAUNCHES = 6


def noise(
    space: Annotated[str, typer.Argument(help="What is served: a space, a recipe.yaml, a script or a command line.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A knob or a variable; repeatable.")
    ] = None,
    launches: Annotated[int, typer.Option(min=FEWEST, help="In all; an even number of them is made.")] = LAUNCHES,
    name: Name = None,
    seed: LoadSeed = 0,
    dispatcher: WhereLaunched = "ray",
    emulate: Emulate = False,
    landscape: WhichLandscape = "L0",
    launch_noise: LaunchNoise = DEFAULT_NOISE,
    comparisons: Comparisons = Path("comparisons"),
    data: DataRoot = None,
    as_json: AsJson = False,
    resume: Resume = False,
) -> None:
    """Launch one recipe again and again, and keep how much its launches and windows differ."""
    terms = Terms(
        data_root=(data or data_root()).resolve(),
        seed=seed,
        emulated=(landscape, launch_noise) if emulate else None,
        resume=resume,
    )
    folder = comparison_folder(comparisons, name or slug("noise", space))
    named = Named(what=space, settings=tuple(settings or ()))
    with TemporaryDirectory() as scratch:
        side = contender(named, like=None, emulate=emulate, scratch=Path(scratch))
        refuse_unfit_machine(side.space, terms, comparisons)
        stage(folder, side, side, Rules(most=(launches + 1) // 2, until="most", judged=False), terms)
    with folder.locked(), dispatching(dispatcher) as running:
        found = conduct(folder, running, as_json=as_json)
    kept = _noise(found, folder.root)
    path = noise_file(found.sides.space, terms.data_root, found.settings.emulation)
    keep(kept, path)
    _say(kept, path, as_json=as_json)


def _noise(found: Compared, raw: Path) -> Noise:
    if found.stands.failed:
        raise BaselineFailed(f"nothing is known of the noise: {found.stands.failed}")
    return measured_noise(
        (*found.stands.a, *found.stands.b),
        found.sides.space.objective,
        space=found.sides.space.name,
        raw=raw.resolve(),
        measured=found.settings.started,
        emulated=found.settings.emulation is not None,
    )


def _say(found: Noise, path: Path, *, as_json: bool) -> None:
    if as_json:
        record = {**asdict(found), "raw": str(found.raw)}
        typer.echo(json.dumps({"event": "noise", **record, "file": str(path)}))
        return
    mark = "EMULATED " if found.emulated else ""
    for line in noisy(found):
        typer.echo(f"{mark}{line}")
    if found.objective.sd > MOST:
        typer.echo(f"that is more than {MOST:.0%}: look at clocks, NUMA and other load before you tune on this machine")
    typer.echo(f"kept for comparisons and studies on this machine: {path}")
