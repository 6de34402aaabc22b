"""Whether a study's gates would judge now as they have judged: verdicts of two protocols are never compared."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autotune.folder import StudyFolder
from autotune.gates import GateOfStudy
from autotune.provenance import gate_words
from evals import EvalProtocol, Identity
from trials.outcome import Measured

MEND = "install what it was begun with and bring its questions back, or begin a new study with another --name"


class OtherProtocol(Exception):
    """A study's gates have changed since it began: the evaluator, a task, its questions or how they are drawn."""


def refuse_other_protocol(folder: StudyFolder, gates: Sequence[GateOfStudy]) -> None:
    """
    Refuse to go on with a study whose gates are not those that judged in it, or before any verdict those it began with.

    Raises:
        OtherProtocol: They are not.
    """
    now = [gate.exam.identity for gate in gates]
    found = list(_protocols(folder))
    for where, then in found:
        if changed := _change(then, now):
            raise OtherProtocol(f"{where} was judged under another protocol than this environment's: {changed}; {MEND}")
    if not found and (begun := _begun_with(folder)) != gate_words(now):
        raise OtherProtocol(f"{folder.root} was begun with another gate: {begun}, not {gate_words(now)}; {MEND}")


def _begun_with(folder: StudyFolder) -> str:
    return str(json.loads(folder.provenance.read_text(encoding="utf-8"))["gate"])


def _protocols(folder: StudyFolder) -> Iterator[tuple[str, EvalProtocol]]:
    """Yield the protocol of every verdict, and which launch it is of."""
    ended = [(each.folder, each.outcome) for each in folder.trials()]
    ended += [(each.folder, each.outcome) for each in folder.launches()]
    for where, outcome in ended:
        if isinstance(outcome, Measured):
            yield from ((str(where), one.verdict.protocol) for one in outcome.judged)


def _change(then: EvalProtocol, now: Sequence[Identity]) -> str | None:
    """Return how an exam differs from the one of today's that is most like it; None if it is still asked."""
    changes = [then.difference(replace(then, identity=identity)) for identity in now]
    if None in changes:
        return None
    return min((change for change in changes if change), key=lambda change: change.count("; "), default="no gate")
