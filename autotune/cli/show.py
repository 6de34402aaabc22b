"""What a study looks like while it runs: to a person at a terminal, in a log, and to a program."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Protocol, assert_never

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from autotune import rounds, status
from autotune.compare import Comparison
from autotune.confirm import baseline, value
from autotune.events import (
    Event,
    LaunchEnded,
    LaunchStarted,
    SearchEnded,
    Standings,
    StudyEnded,
    TrialEnded,
    TrialStarted,
    record,
)
from autotune.evidence import tables
from autotune.evidence.evidence import verdict as said_of
from autotune.evidence.words import ENGLISH
from autotune.folder import StudyFolder
from autotune.proof import Proof
from autotune.rehearsal import mark
from search_spaces import Scalar
from trials.outcome import Infeasible, Lost, Measured, Outcome

MINUTE_S, HOUR_S = 60, 3600


class Show(Protocol):
    """Shows a study while it runs."""

    def event(self, event: Event) -> None:
        """Show what happened."""
        ...

    def interrupted(self) -> None:
        """Show that the study was interrupted."""
        ...


class OnTerminal:
    """For people: lines that stay, and under them one that moves."""

    def __init__(self, folder: StudyFolder, console: Console, moving: Status) -> None:
        """Say which study it is."""
        self._folder, self._console, self._moving = folder, console, moving
        self._line(_which(folder))

    def event(self, event: Event) -> None:
        """Print what ended; move the last line on to what began."""
        match event:
            case TrialStarted() | LaunchStarted():
                self._moving.update(Text(sentence(event)))
            case TrialEnded(standings=standings):
                self._line(f"{sentence(event)}\n  {_standing(standings)}")
            case SearchEnded() | LaunchEnded():
                self._line(sentence(event))
            case StudyEnded():
                self._line("\n".join([*summary(self._folder, whole=False), _left(self._folder)]))
            case _:
                assert_never(event)

    def interrupted(self) -> None:
        """Print how to go on."""
        self._line(_go_on(self._folder))

    def _line(self, text: str) -> None:
        self._console.print(Text(text))


class InLog:
    """For logs: each event a line with its time."""

    def __init__(self, folder: StudyFolder) -> None:
        """Say which study it is."""
        self._folder = folder
        self._line(_which(folder))

    def event(self, event: Event) -> None:
        """Print a line."""
        match event:
            case TrialStarted(standings=standings) | TrialEnded(standings=standings):
                self._line(f"{sentence(event)}; {_standing(standings)}")
            case SearchEnded() | LaunchStarted() | LaunchEnded():
                self._line(sentence(event))
            case StudyEnded():
                self._line("; ".join([*summary(self._folder, whole=False), _left(self._folder)]))
            case _:
                assert_never(event)

    def interrupted(self) -> None:
        """Print how to go on."""
        self._line(_go_on(self._folder))

    def _line(self, text: str) -> None:
        typer.echo(f"{datetime.now(UTC).isoformat(timespec='seconds')} {' '.join(text.split())}")


class ForProgram:
    """For programs: each event a JSON object on a line of its own."""

    def __init__(self, folder: StudyFolder) -> None:
        """Print nothing yet."""
        self._study = folder.root.name

    def event(self, event: Event) -> None:
        """Print the event's record."""
        typer.echo(json.dumps(record(event, study=self._study, at=datetime.now(UTC))))

    def interrupted(self) -> None:
        """Print nothing: the exit code says it."""


@contextmanager
def showing(folder: StudyFolder, *, as_json: bool) -> Iterator[Show]:
    """Show a study on standard output for the length of the block, as fits what that is."""
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        yield ForProgram(folder)
    elif console.is_terminal:
        with console.status("") as moving:
            yield OnTerminal(folder, console, moving)
    else:
        yield InLog(folder)


def sentence(event: TrialStarted | TrialEnded | SearchEnded | LaunchStarted | LaunchEnded) -> str:
    """Return an event in words, on one line."""
    match event:
        case TrialStarted(number=number, changes=changes):
            return f"{_trial(number)}: {_changes(changes)}"
        case TrialEnded(number=number, changes=changes, outcome=outcome, value=score, standings=standings):
            return f"{_trial(number)}: {_outcome(outcome, score, standings.baseline)}  {_changes(changes)}"
        case SearchEnded(why=why):
            return f"search ended: {why}; confirming on fresh launches"
        case LaunchStarted(number=number, arm=arm, candidate=candidate):
            return f"launch {number} {_arm(arm, candidate)}"
        case LaunchEnded(number=number, arm=arm, candidate=candidate, outcome=outcome, value=score):
            return f"launch {number} {_arm(arm, candidate)}: {_outcome(outcome, score, None)}"
        case _:
            assert_never(event)


def _which(folder: StudyFolder) -> str:
    return f"{mark(folder.settings())}study {folder.root.name} in {folder.root}"


def _left(folder: StudyFolder) -> str:
    return f"{mark(folder.settings())}winner: {folder.recipe}; evidence: {folder.evidence_html}"


def _go_on(folder: StudyFolder) -> str:
    return f"interrupted; nothing measured is lost: autotune resume {folder.root.name}"


def _trial(number: int) -> str:
    return "baseline" if number == 0 else f"trial {number}"


def _arm(arm: str, candidate: int) -> str:
    return f"{arm} ({rounds.name(arm, candidate)})"


def _changes(changes: dict[str, tuple[Scalar, Scalar]]) -> str:
    return " ".join(f"{knob}={tables.shown(own)}" for knob, (_, own) in changes.items()) or "the baseline"


def _standing(standings: Standings) -> str:
    parts = []
    if standings.baseline is not None and standings.best is not None:
        number, best = standings.best
        parts.append(f"best so far {_trial(number)} {best:.1f} ({tables.percent(best / standings.baseline - 1)})")
    parts.append(f"{standings.trials_left} trials left")
    if standings.left_s is not None:
        parts.append(f"about {duration(standings.left_s)} to the end")
    return ", ".join(parts)


def _outcome(outcome: Outcome, score: float | None, base: float | None) -> str:
    match outcome:
        case Measured(verdict=verdict, ignored=ignored):
            change = "" if base is None or score is None else f" ({tables.percent(score / base - 1)})"
            gate = f", gate {tables.gate_line(verdict)}" if verdict else ""
            vain = f", not in effect: {', '.join(ignored)}" if ignored else ""
            return f"{score:.1f} tok/s/GPU{change}{gate}{vain}"
        case Infeasible(failure=failure, reason=reason):
            return f"infeasible ({failure}): {reason}"
        case Lost(reason=reason):
            return f"lost: {reason}"


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h"


def summary(folder: StudyFolder, *, whole: bool) -> Iterator[str]:
    """Yield how a study stands, from its folder alone; all its trials too if `whole`."""
    found = status.status(folder)
    said = mark(folder.settings())
    yield f"{said}{found.study}: {found.state}, {found.ended} trials ended, {found.launches} launches of confirmation"
    if not found.ended:
        return
    base = baseline(found.trials).outcome
    if whole and isinstance(base, Measured):
        yield tables.plain(tables.trials(found.trials, found.space, value(base, found.space.objective)))
    if found.baseline is not None and found.best is not None:
        number, best = found.best
        gain = tables.percent(best / found.baseline - 1)
        yield f"{said}best in the search: {_trial(number)}, {gain} against the baseline"
    if found.proof:
        yield from (f"{said}{line}" for line in _verdict(found.proof))


def _verdict(proof: Proof) -> Iterator[str]:
    yield ENGLISH(said_of(proof.conclusion))
    if proof.reduction and proof.reduction.stands and proof.ablation:
        yield f"the recipe does without {', '.join(proof.ablation.dropped)}, which bring nothing measurable"
    if comparison := proof.comparison:
        yield f"confirmed: {_interval(comparison)}"
    for other in proof.beside:
        told = _interval(other.comparison) if other.comparison else other.out or "too few launches"
        yield f"against {rounds.NAMES[other.arm]}: {told}"
    for regime in proof.regimes:
        if regime.proved and regime.comparison:
            yield f"overridden at concurrency {regime.proposal.concurrency}: {_interval(regime.comparison)} there"


def _interval(comparison: Comparison) -> str:
    overall = comparison.overall
    return f"{tables.percent(overall.change)}, 99 % interval {tables.interval(overall)}"
