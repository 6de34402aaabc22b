"""What a study looks like while it runs: lines that stay, and under them, on a terminal, one that moves."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self, assert_never

from rich.console import Console
from rich.status import Status
from rich.text import Text

from autotune.confirm import baseline, conclude, passed, value
from autotune.events import (
    Event,
    LaunchEnded,
    LaunchStarted,
    SearchEnded,
    Standings,
    StudyEnded,
    TrialEnded,
    TrialStarted,
)
from autotune.evidence import tables
from autotune.evidence.document import RESULTS
from autotune.folder import StudyFolder
from search_spaces import Scalar, load
from trials.outcome import Infeasible, Lost, Measured, Outcome

MINUTE_S, HOUR_S = 60, 3600


class Show:
    """Prints the events of a study; use as a context."""

    def __init__(self, folder: StudyFolder) -> None:
        """Print to standard output."""
        self._folder = folder
        self._console = Console(highlight=False, soft_wrap=True)
        self._status = Status("", console=self._console)

    def __enter__(self) -> Self:
        """Say which study it is."""
        self.line(f"study {self._folder.root.name} in {self._folder.root}")
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Take the moving line away."""
        self._status.stop()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(Text(text))

    def _doing(self, text: str) -> None:
        self._status.update(Text(text))

    def event(self, event: Event) -> None:
        """Print what happened."""
        match event:
            case TrialStarted(number=number, changes=changes, standings=standings):
                self._doing(f"{_trial(number)}: {_changes(changes)}; {_standing(standings)}")
            case TrialEnded(number=number, changes=changes, outcome=outcome, value=score, standings=standings):
                self.line(f"{_trial(number)}: {_outcome(outcome, score, standings.baseline)}  {_changes(changes)}")
                self.line(f"  {_standing(standings)}")
            case SearchEnded(why):
                self.line(f"search ended: {why}; confirming on fresh launches")
            case LaunchStarted(number=number, arm=arm, candidate=candidate):
                self._doing(f"launch {number} {_arm(arm, candidate)}")
            case LaunchEnded(number=number, arm=arm, candidate=candidate, outcome=outcome, value=score):
                self.line(f"launch {number} {_arm(arm, candidate)}: {_outcome(outcome, score, None)}")
            case StudyEnded():
                for line in summary(self._folder, whole=False):
                    self.line(line)
                self.line(f"winner: {self._folder.recipe}; evidence: {self._folder.evidence_md}")
            case _:
                assert_never(event)


def _trial(number: int) -> str:
    return "baseline" if number == 0 else f"trial {number}"


def _arm(arm: str, candidate: int) -> str:
    return "A (baseline)" if arm == "A" else f"B (trial {candidate})"


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
        case Measured(verdict=verdict):
            change = "" if base is None or score is None else f" ({tables.percent(score / base - 1)})"
            gate = f", gate {tables.gate_line(verdict)}" if verdict else ""
            return f"{score:.1f} tok/s/GPU{change}{gate}"
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
    space, trials, launches = load(folder.space), folder.trials(), folder.launches()
    ended = [t for t in trials if t.outcome is not None]
    state = "done" if folder.evidence_json.exists() else "not finished"
    yield f"{folder.root.name}: {state}, {len(ended)} trials ended, {len(launches)} launches of confirmation"
    if not ended:
        return
    base = baseline(trials)
    if whole and isinstance(base.outcome, Measured):
        yield tables.plain(tables.trials(trials, space, value(base.outcome, space.objective)))
    good = {t.number: value(t.outcome, space.objective) for t in ended if isinstance(t.outcome, Measured) and passed(t)}
    if good and base.number in good:
        best = max(good, key=lambda number: good[number])
        change = tables.percent(good[best] / good[base.number] - 1)
        yield f"best in the search: {_trial(best)}, {change} against the baseline"
    if folder.evidence_json.exists():
        conclusion = conclude(trials, launches, space)
        number = conclusion.standings[-1].candidate.number if conclusion.standings else 0
        yield RESULTS[conclusion.result].format(number=number)
        if conclusion.standings and (comparison := conclusion.standings[-1].comparison):
            overall = comparison.overall
            yield f"confirmed: {tables.percent(overall.change)}, 99 % interval {tables.interval(overall)}"
