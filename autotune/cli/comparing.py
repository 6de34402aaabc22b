"""What `compare`, `bisect` and `noise` share: their options, and how a comparison is run and shown."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from autotune.campaign import Event, LaunchBegan, LaunchDone, campaign
from autotune.cli.options import Place
from autotune.cli.study import DISPATCHERS, interruptible
from autotune.comparisons import ComparisonFolder
from autotune.dispatch import Dispatcher
from autotune.doctor import Site, client, examine, refuse_unfit
from autotune.evidence.compared import Compared
from autotune.evidence.comparison import write
from autotune.evidence.tables import percent
from autotune.staging import Terms
from search_spaces import SearchSpace
from trials.data import workload_file
from trials.engines.emulated.chance import LAUNCH
from trials.load.selftest import selftest
from trials.outcome import Infeasible, Lost, Measured, Outcome

Comparisons = Annotated[Path, typer.Option("--comparisons", help="Folder of all comparisons.")]
Name = Annotated[str | None, typer.Option(help="Name of its folder.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what this command began.")]
LaunchNoise = Annotated[float, typer.Option("--noise", min=0.0, help="Launch sd of the emulated machine, relative.")]
MaxLaunches = Annotated[int, typer.Option(min=2, help="Launches of each side, at most.")]
HOW_TO_RESUME = "interrupted; nothing measured is lost: the same command with --resume goes on"

DEFAULT_NOISE = LAUNCH


def slug(*words: str) -> str:
    """Return words as a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words)).strip("-.")[:80].strip("-.") or "comparison"


def refuse_unfit_machine(space: SearchSpace, terms: Terms, comparisons: Path) -> None:
    """
    Refuse a machine on which launches would be measured wrongly, as a study does.

    Raises:
        autotune.doctor.Unfit: It is one.
    """
    site = Site(studies=comparisons, data_root=terms.data_root, space_folder=space.folder)
    for finding in refuse_unfit(examine(terms.runs(space), site)):
        typer.echo(f"autotune: warning: {finding.words}", err=True)
    if terms.emulated is None:
        file = workload_file(space.workload, space_folder=space.folder, data_root=terms.data_root)
        refuse_unfit([client(selftest(space.workload, file=file))])


@contextmanager
def dispatching(place: Place) -> Iterator[Dispatcher]:
    """Give a dispatcher for the length of the block, which Ctrl-C ends politely."""
    interruptible()
    try:
        with DISPATCHERS[place](1) as dispatcher:
            interruptible()  # again: Ray has put its own handlers in, which abort
            yield dispatcher
    except KeyboardInterrupt:
        typer.echo(HOW_TO_RESUME, err=True)
        raise


def conduct(folder: ComparisonFolder, dispatcher: Dispatcher, *, as_json: bool) -> Compared:
    """Run a comparison to its end, showing each launch; write its evidence, and return it."""
    for event in campaign(folder, dispatcher):
        typer.echo(json.dumps(_record(folder, event)) if as_json else _words(folder, event))
    return write(folder)


def verdict_record(folder: ComparisonFolder, found: Compared) -> dict[str, object]:
    """Return the verdict as the JSON object that ends `--json`."""
    comparison = found.stands.comparison
    said = asdict(comparison) if comparison else {}
    return {
        "event": "compared",
        "comparison": folder.root.name,
        "emulated": found.settings.emulation is not None,
        "failed": found.stands.failed,
        "sentence": found.lines[0],
        "evidence": str(folder.evidence[2]),
        **{name: said.get(name) for name in ("result", "overall", "launches", "launch_sd", "known_sd", "settled_by")},
    }


def _record(folder: ComparisonFolder, event: Event) -> dict[str, object]:
    common = {"comparison": folder.root.name, "launch": event.number, "arm": event.arm}
    match event:
        case LaunchBegan():
            return {"event": "launch_started", **common}
        case LaunchDone(outcome=outcome, value=value):
            return {"event": "launch_ended", **common, "outcome": outcome.kind, "value": value}


def _words(folder: ComparisonFolder, event: Event) -> str:
    where = f"{folder.root.name}: launch {event.number} of {event.arm}"
    match event:
        case LaunchBegan():
            return where
        case LaunchDone(outcome=outcome, value=value, comparison=comparison):
            so_far = f"; B against A {percent(comparison.overall.change)}" if comparison else ""
            return f"{where}: {_outcome(outcome, value)}{so_far}"


def _outcome(outcome: Outcome, value: float | None) -> str:
    match outcome:
        case Measured():
            return f"{value:.1f} tok/s/GPU"
        case Infeasible(failure=failure, reason=reason):
            return f"infeasible ({failure}): {reason}"
        case Lost(reason=reason):
            return f"lost: {reason}"
