"""`autotune study`, `resume` and `status`."""

import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from autotune import __version__
from autotune.cli.fetch import DataRoot
from autotune.cli.show import Show, summary
from autotune.dispatch import Dispatcher, in_process, on_ray
from autotune.doctor import refuse_foreign_packages
from autotune.evidence import gather
from autotune.folder import Settings, StudyFolder, all_studies, open_study, study_folder
from autotune.provenance import provenance
from autotune.search.samplers import SAMPLERS
from autotune.study import run
from search_spaces import SpaceError, load
from trials.data import data_root, locate

NO_WIN = 10

Place = Literal["ray", "local"]
DISPATCHERS: Mapping[Place, Callable[[], AbstractContextManager[Dispatcher]]] = {"ray": on_ray, "local": in_process}

Studies = Annotated[Path, typer.Option("--studies", help="Folder of all studies.")]
RequireWin = Annotated[bool, typer.Option("--require-win", help=f"Exit with {NO_WIN} when the baseline stays.")]


def study(
    space: Annotated[str, typer.Argument(help="A shipped space (see `autotune spaces`), or the path of your own.")],
    name: Annotated[str | None, typer.Option(help="Name of the study; default: the space's.")] = None,
    seed: Annotated[int, typer.Option(help="Of the sampler and of the load's prompts.")] = 0,
    trials: Annotated[int | None, typer.Option(min=0, help="Trials beside the baseline; default: the space's.")] = None,
    hours: Annotated[float | None, typer.Option(min=0.0, help="Hours of search; default: the space's.")] = None,
    sampler: Annotated[str | None, typer.Option(help=f"One of {', '.join(SAMPLERS)}; default: the space's.")] = None,
    dispatcher: Annotated[Place, typer.Option(help="Where trials run: on Ray, or in this process.")] = "ray",
    studies: Studies = Path("studies"),
    data: DataRoot = None,
    require_win: RequireWin = False,
) -> None:
    """Tune: measure the baseline, search, confirm the winner, and write its recipe with the evidence."""
    refuse_foreign_packages()
    loaded = load(space)
    root = (data or data_root()).resolve()
    folder = study_folder(studies, name or loaded.name)
    chosen = sampler or loaded.sampler
    if chosen not in SAMPLERS:
        raise SpaceError(f"no sampler {chosen!r}: known are {', '.join(SAMPLERS)}")
    locate(loaded.target.files, space_folder=loaded.folder, data_root=root)
    facts = provenance(loaded, root)
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
    )
    folder.begin(settings, loaded, facts)
    _run(folder, settings, require_win=require_win)


def resume(
    name: Annotated[str, typer.Argument(help="A study that was interrupted.")],
    studies: Studies = Path("studies"),
    require_win: RequireWin = False,
) -> None:
    """Go on with a study where it stopped; nothing that was measured is measured again."""
    refuse_foreign_packages()
    folder = open_study(studies, name)
    _run(folder, folder.settings(), require_win=require_win)


def _interruptible() -> None:
    """Let every polite way to end a program end a study as Ctrl-C does: also where a shell made it ignore SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def _run(folder: StudyFolder, settings: Settings, *, require_win: bool) -> None:
    _interruptible()
    with folder.locked(), Show(folder) as show:
        try:
            with DISPATCHERS[settings.dispatcher]() as dispatcher:
                for event in run(folder, dispatcher):
                    show.event(event)
        except KeyboardInterrupt:
            show.line(f"interrupted; nothing measured is lost: autotune resume {settings.name}")
            raise
    if require_win and gather(folder).conclusion.result != "win":
        raise typer.Exit(NO_WIN)


def status(
    name: Annotated[str | None, typer.Argument(help="A study; default: all, a line each.")] = None,
    studies: Studies = Path("studies"),
) -> None:
    """Say how a study stands, also while it runs."""
    for folder in [open_study(studies, name)] if name else all_studies(studies):
        for line in summary(folder, whole=name is not None):
            typer.echo(line)
