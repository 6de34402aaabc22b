"""`autotune study`, `resume` and `status`."""

import json
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from autotune import __version__
from autotune.cli.options import AsJson, DataRoot, Landscape, Place, Studies
from autotune.cli.show import showing, summary
from autotune.dispatch import Dispatcher, in_process, on_ray
from autotune.doctor import Site, Unfit, client, examine, refuse_unfit
from autotune.evidence import gather
from autotune.folder import Settings, StudyFolder, all_studies, open_study, study_folder
from autotune.gates import gates
from autotune.leftovers import outwait
from autotune.noise import known_noise, window_sd
from autotune.protocols import refuse_other_protocol
from autotune.provenance import provenance
from autotune.reference import reference_space
from autotune.rehearsal import at_start, refuse_other, rehearsed
from autotune.search.beliefs import NOISE
from autotune.search.samplers import names as sampler_names
from autotune.status import status as status_of
from autotune.study import run
from search_spaces import SearchSpace, SpaceError, Workload, load
from trials.data import data_root, workload_file
from trials.emulation import Emulation
from trials.engines.emulated.chance import FLAKY, LAUNCH
from trials.load.selftest import selftest
from trials.serving import MARGIN_S

NO_WIN = 10

NODES = 4
MANY = 16  # users, from which on the client is tried before a study: fewer take it 1 % of a core (decisions/0009)
DISPATCHERS: Mapping[Place, Callable[[int], AbstractContextManager[Dispatcher]]] = {
    "ray": on_ray,
    "local": in_process,
}

RequireWin = Annotated[bool, typer.Option("--require-win", help=f"Exit with {NO_WIN} when the baseline stays.")]


def study(
    space: Annotated[str, typer.Argument(help="A shipped space (see `autotune spaces`), or the path of your own.")],
    name: Annotated[str | None, typer.Option(help="Name of the study; default: the space's.")] = None,
    seed: Annotated[int, typer.Option(help="Of the sampler and of the load's prompts.")] = 0,
    trials: Annotated[int | None, typer.Option(min=0, help="Trials beside the baseline; default: the space's.")] = None,
    hours: Annotated[float | None, typer.Option(min=0.0, help="Hours of search; default: the space's.")] = None,
    sampler: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(sampler_names())}; default: the space's.")
    ] = None,
    known: Annotated[bool, typer.Option("--known/--no-known", help="Try the space's known recipes first.")] = True,
    dispatcher: Annotated[Place, typer.Option(help="Where trials run: on Ray, or in this process.")] = "ray",
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Rehearse vLLM with Kimi-K2.5 on an emulated MI355X: never evidence.")
    ] = False,
    landscape: Annotated[
        Landscape, typer.Option(help="Which emulated machine: L0 is fitted to published figures, the others are not.")
    ] = "L0",
    nodes: Annotated[int, typer.Option(min=1, help="Emulated machines at once; a real one is always alone.")] = NODES,
    studies: Studies = Path("studies"),
    data: DataRoot = None,
    as_json: AsJson = False,
    require_win: RequireWin = False,
) -> None:
    """Tune: measure the baseline, search, confirm the winner, and write its recipe with the evidence."""
    loaded = _at_start(load(space)) if emulate else load(space)
    root = (data or data_root()).resolve()
    folder = study_folder(studies, name or loaded.name)
    answers = folder.answers.resolve()
    stand_in = Emulation(landscape=landscape, seed=seed, noise=LAUNCH, flaky=FLAKY, answers=answers)
    emulation = stand_in if emulate else None
    runs = _rehearsed(loaded) if emulate else loaded
    chosen = sampler or loaded.sampler
    if chosen not in sampler_names():
        raise SpaceError(f"no sampler {chosen!r}: known are {', '.join(sampler_names())}")
    _refuse_unfit(runs, Site(studies=studies, data_root=root, space_folder=loaded.folder))
    file = workload_file(loaded.workload, space_folder=loaded.folder, data_root=root)
    if not emulate:
        _refuse_unfit_client(loaded.workload, file)
    facts = provenance(runs, root)
    settings = Settings(
        name=folder.root.name,
        space=space,
        space_folder=loaded.folder,
        data_root=root,
        seed=seed,
        sampler=chosen,
        dispatcher=dispatcher,
        trials=loaded.budget.trials if trials is None else trials,
        hours=loaded.budget.hours if hours is None else hours,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        known=known,
        nodes=nodes if emulate else 1,
        emulation=emulation,
        window_sd=_noise(loaded, root, emulation),
    )
    folder.begin(settings, loaded, facts)
    _run(folder, settings, as_json=as_json, require_win=require_win)


def resume(
    name: Annotated[str, typer.Argument(help="A study that was interrupted.")],
    studies: Studies = Path("studies"),
    as_json: AsJson = False,
    require_win: RequireWin = False,
) -> None:
    """Go on with a study where it stopped; nothing that was measured is measured again."""
    folder = open_study(studies, name)
    settings = folder.settings()
    site = Site(studies=studies, data_root=settings.data_root, space_folder=settings.space_folder)
    space = load(folder.space)
    _refuse_unfit(rehearsed(space) if settings.emulation else space, site)
    _refuse_company(folder, space.deadlines.stop_s)
    if not settings.emulation:
        file = workload_file(space.workload, space_folder=settings.space_folder, data_root=settings.data_root)
        _refuse_unfit_client(space.workload, file)
    refuse_other_protocol(folder, gates(space, space_folder=settings.space_folder, data_root=settings.data_root))
    _run(folder, settings, as_json=as_json, require_win=require_win)


def _at_start(space: SearchSpace) -> SearchSpace:
    """Return the space as its rehearsals start; say it where that is not at its baseline."""
    if space.rehearsal:
        typer.echo(f"autotune: this rehearsal does not start at the baseline: {space.rehearsal.because}", err=True)
    return at_start(space)


def _rehearsed(space: SearchSpace) -> SearchSpace:
    """Return the space as it is rehearsed; the space of its reference is launched beside it, so it must be fit too."""
    if reference := reference_space(space, space.folder):
        refuse_other(reference.target, reference.serve.args, name=f"{space.name}: reference.space {reference.name}")
    return rehearsed(space)


def _noise(space: SearchSpace, root: Path, emulation: Emulation | None) -> dict[int, float]:
    """Return how much windows differ: as measured of the space here, or as emulated; say it where it is not known."""
    found = known_noise(space, root, emulation)
    if found is None and emulation is not None:
        return emulation.window_sd(space.workload)
    if found is None:
        assumed = f"the search takes {NOISE:.1%} for it, confirmation goes by its own launches"
        typer.echo(
            f"autotune: how launches differ here is not known: {assumed}; `autotune noise` measures it", err=True
        )
    return window_sd(found)


def _refuse_unfit(space: SearchSpace, site: Site) -> None:
    for finding in refuse_unfit(examine(space, site)):
        typer.echo(f"autotune: warning: {finding.words}", err=True)


def _refuse_unfit_client(workload: Workload, file: Path | None) -> None:
    """Refuse a machine whose load generator can't measure what many users get, at the rate that is assumed of each."""
    if max(workload.concurrency) >= MANY:
        refuse_unfit([client(selftest(workload, file=file))])


def _refuse_company(folder: StudyFolder, stop_s: float) -> None:
    """Let an engine of a killed driver end first: what is measured beside it is worth nothing."""
    for left in outwait(folder, within_s=stop_s + MARGIN_S):
        raise Unfit(f"engine {left.pid} of {left.folder} does not end: look at it, kill {left.pid}, then resume")


def interruptible() -> None:
    """Let every polite way to end a program end a study as Ctrl-C does: also where a shell made it ignore SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def _run(folder: StudyFolder, settings: Settings, *, as_json: bool, require_win: bool) -> None:
    interruptible()
    with folder.locked(), showing(folder, as_json=as_json) as show:
        try:
            with DISPATCHERS[settings.dispatcher](settings.nodes) as dispatcher:
                interruptible()  # again: Ray has put its own handlers in, which abort
                for event in run(folder, dispatcher):
                    show.event(event)
        except KeyboardInterrupt:
            show.interrupted()
            raise
    if require_win and gather(folder).conclusion.result != "win":
        raise typer.Exit(NO_WIN)


def status(
    name: Annotated[str | None, typer.Argument(help="A study; default: all, a line each.")] = None,
    studies: Studies = Path("studies"),
    as_json: AsJson = False,
) -> None:
    """Say how a study stands, also while it runs."""
    for folder in [open_study(studies, name)] if name else all_studies(studies):
        if as_json:
            typer.echo(json.dumps(status_of(folder).record()))
            continue
        for line in summary(folder, whole=name is not None):
            typer.echo(line)
