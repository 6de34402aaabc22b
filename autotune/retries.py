"""Which outcomes count, and which configs are run again: pure functions over a study's trials."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from autotune.folder import TrialRecord
from trials.outcome import Infeasible, Lost, Outcome

Fault = Literal["lost", "stuck"]

RETRIES: Mapping[Fault, int] = {"lost": 2, "stuck": 1}
LOST_IN_A_ROW = 5  # so many say nothing of their configs any more: the machine is at fault


def fault(outcome: Outcome | None) -> Fault | None:
    """Return why an outcome may be another one next time; None where it is the config's own."""
    match outcome:
        case Lost():
            return "lost"
        case Infeasible(failure="stuck"):
            return "stuck"
        case _:
            return None


def again(record: TrialRecord, trials: Sequence[TrialRecord]) -> bool:
    """Say whether a trial's outcome is not yet its config's: it is to be run again before it counts."""
    why = fault(record.outcome)
    if why is None:
        return False
    failures = sum(t.fingerprint == record.fingerprint and fault(t.outcome) == why for t in _one_by_one(trials))
    return failures <= RETRIES[why]


def known(trials: Sequence[TrialRecord]) -> dict[str, Outcome]:
    """Return outcomes by fingerprint: of a config that is to be run again nothing is known, of a retry its outcome."""
    return {t.fingerprint: t.outcome for t in trials if t.outcome and not again(t, trials)}


def counting(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Return the trials whose outcome counts: the last one of each config, unless that is to be run again."""
    last = {t.fingerprint: t for t in trials if t.outcome}
    return [t for t in last.values() if not again(t, trials)]


def _one_by_one(trials: Sequence[TrialRecord]) -> Iterator[TrialRecord]:
    """Yield the trials without the runs of losses that are not their configs' own."""
    for lost, run in groupby(trials, key=lambda trial: isinstance(trial.outcome, Lost)):
        alike = list(run)
        if not (lost and len(alike) >= LOST_IN_A_ROW):
            yield from alike
