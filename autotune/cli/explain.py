"""`autotune explain`: what the search of a study says of its knobs, with Optuna's own importance beside it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from autotune import explain as explaining
from autotune.cli.options import AsJson, Studies
from autotune.evidence.tables import percent, shown
from autotune.explain import Explanation, KnobSummary, Level, Suspect
from autotune.folder import StudyFolder, open_study
from autotune.rehearsal import mark
from autotune.search.index import EVALUATOR, FEWEST, Importance, NoIndex, importance
from search_spaces import load

WIDTH = 160
"""Columns where the output is no terminal."""

EFFECTS = ("rank", "knob", "value (baseline)", "change", "from", "to", "tried", "crashed", "Optuna")
SUSPECTS = ("what goes wrong", "suspect", "probability", "seen", "went wrong")
UNTRIED = ("knob", "never tried", "")
MAY_FOLD = frozenset({"knob", "value (baseline)", "suspect", "never tried"})


def explain(
    name: Annotated[str, typer.Argument(help="A study; it may still be running.")],
    studies: Studies = Path("studies"),
    as_json: AsJson = False,
) -> None:
    """Say which knobs matter and by how much, what is suspected of crashing, and what was never tried."""
    folder = open_study(studies, name)
    found = explaining.explain(folder.trials(), load(folder.space))
    optuna, silent = _optuna(folder)
    if as_json:
        emulated = folder.settings().emulation is not None
        for record in _records(found, optuna, silent):
            typer.echo(json.dumps({"study": name, "emulated": emulated, **record}))
        return
    terminal = Console(highlight=False, markup=False, emoji=False)
    console = terminal if terminal.is_terminal else Console(highlight=False, markup=False, emoji=False, width=WIDTH)
    for part in _parts(found, optuna, silent, folder):
        console.print(part, soft_wrap=isinstance(part, str))


def _optuna(folder: StudyFolder) -> tuple[Importance, str]:
    """Return what Optuna says of the knobs; and why nothing, if it says nothing."""
    try:
        found = importance(folder.database)
    except NoIndex as error:
        return Importance({}, 0), str(error)
    if found.shares:
        return found, ""
    return found, f"Optuna's {EVALUATOR} needs {FEWEST} measured trials that differ, and there are {found.measured}"


# --- for people -----------------------------------------------------------------------------------------------------


def _parts(found: Explanation, optuna: Importance, silent: str, folder: StudyFolder) -> Iterator[str | Table]:
    said = mark(folder.settings())
    yield (
        f"{said}study {folder.root.name}: {found.measured} configs measured, {found.crashed} crashed, "
        f"{found.missed} missed the gate"
    )
    yield f"{said}figures of the search, one launch a config: they say what to try, and are no evidence"
    if found.compared:
        yield f"{said}which knobs matter: the change over the baseline, and its 95 % interval; * it excludes 0"
        yield _table(EFFECTS, _effects(found.knobs, optuna))
    else:
        yield f"{said}nothing is measured beside the baseline yet: of no knob is anything known"
    if silent:
        yield f"{said}no importance: {silent}"
    else:
        yield f"{said}Optuna: its own importance, {EVALUATOR} over {optuna.measured} measured trials, without a sign"
    if found.suspects:
        yield f"{said}what is suspected"
        yield _table(SUSPECTS, map(_suspect, found.suspects))
    else:
        yield f"{said}no value and no pair of values is suspected of crashing or of missing the gate"
    if untried := [knob for knob in found.knobs if knob.untried]:
        yield f"{said}what was never tried"
        yield _table(UNTRIED, map(_untried, untried))
    else:
        yield f"{said}every value of every knob was tried"


def _table(columns: Sequence[str], rows: Iterator[Sequence[str]]) -> Table:
    folded = (Column(name, overflow="fold", no_wrap=name not in MAY_FOLD) for name in columns)
    table = Table(*folded, box=SIMPLE_HEAD, collapse_padding=True)
    for row in rows:
        table.add_row(*row)
    return table


def _effects(knobs: Sequence[KnobSummary], optuna: Importance) -> Iterator[Sequence[str]]:
    """Yield a row for each value that was tried and is not the baseline's; what is of the knob stands in its first."""
    for knob in knobs:
        share = optuna.shares.get(knob.name)
        base = next(shown(level.value) for level in knob.levels if level.is_baseline)
        tried = [level for level in knob.levels if level.tried and not level.is_baseline]
        for number, level in enumerate(tried):
            first = number == 0
            head = (str(knob.rank or ""), knob.name) if first else ("", "")
            tail = f"{share:.0%}" if first and share is not None else ""
            yield *head, f"{shown(level.value)} ({base})", *_figures(level), tail


def _figures(level: Level) -> Sequence[str]:
    effect, counts = level.effect, (str(level.tried), str(level.tried - level.measured))
    if effect is None:
        return "", "", "", *counts
    star = " *" if effect.at_least else ""
    return f"{percent(effect.share)}{star}", percent(effect.low), percent(effect.high), *counts


def _suspect(suspect: Suspect) -> Sequence[str]:
    settings = " with ".join(f"{knob}={shown(own)}" for knob, own in suspect.settings)
    what = {"crash": "crashes", "gate": "misses the gate"}[suspect.what]
    return what, settings, f"{suspect.probability:.0%}", str(suspect.seen), str(suspect.wrong)


def _untried(knob: KnobSummary) -> Sequence[str]:
    values = ", ".join(shown(own) for own in knob.untried)
    return knob.name, values, "always at its baseline" if knob.never_moved else ""


# --- for programs ---------------------------------------------------------------------------------------------------


def _records(found: Explanation, optuna: Importance, silent: str) -> Iterator[dict[str, object]]:
    counts = {"measured": found.measured, "crashed": found.crashed, "missed_gate": found.missed}
    told = {"evaluator": EVALUATOR, "measured": optuna.measured, "missing": silent or None}
    yield {"kind": "explanation", "evidence": False, **counts, "optuna": told}
    for knob in found.knobs:
        known = {"matters": knob.matters, "importance": optuna.shares.get(knob.name), "never_moved": knob.never_moved}
        yield {"kind": "knob", **asdict(knob), **known}
    for suspect in found.suspects:
        yield {"kind": "suspect", **asdict(suspect), "settings": dict(suspect.settings)}
