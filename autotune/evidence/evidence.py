"""What a study's folder proves, as one value."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune.confirm import Conclusion, Standing, baseline, conclude, value
from autotune.folder import LaunchRecord, Settings, StudyFolder, TrialRecord
from autotune.rehearsal import MARK, mark
from search_spaces import SearchSpace, load
from trials.outcome import Infeasible, Judgement, Lost, Measured

RESULTS = {
    "win": "Win: trial {number} is faster than the baseline, and passes its gate.",
    "loss": "The baseline stays: trial {number} looked faster in the search, fresh launches say that it is slower.",
    "tie": "Tie: the baseline stays. Trial {number} is within 2 % of it.",
    "undecided": "Undecided: the baseline stays. The launches made can't tell whether trial {number} is faster.",
    "no candidate": "The baseline stays: no config that passed the gate looked faster and could be confirmed.",
}


class NoBaseline(ValueError):
    """Nothing can be said of a study whose baseline was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    All that a study's folder proves.

    Attributes:
        root: The study's folder.
        finished: When the study ended, ISO 8601 with offset; None while it may go on.
        score: The baseline's objective in the search.
    """

    root: Path
    settings: Settings
    finished: str | None
    space: SearchSpace
    score: float
    trials: tuple[TrialRecord, ...]
    launches: tuple[LaunchRecord, ...]
    conclusion: Conclusion
    provenance: dict[str, Any]

    @property
    def baseline(self) -> TrialRecord:
        """The baseline's trial, measured."""
        return baseline(self.trials)

    @property
    def standing(self) -> Standing | None:
        """The last candidate's, which decided; None where nothing was to be confirmed."""
        return self.conclusion.standings[-1] if self.conclusion.standings else None

    @property
    def mark(self) -> str:
        """What stands before every title: nothing, or that all of it was emulated."""
        return mark(self.settings)

    @property
    def emulated(self) -> str:
        """What a reader of a rehearsal must know first; nothing of a real study."""
        if (emulation := self.settings.emulation) is None:
            return ""
        return (
            f"{MARK}: no GPU and no model had a part in this. It rehearses the study on landscape "
            f"{emulation.landscape} of an emulated MI355X, whose hours are virtual; no number here is a measurement."
        )

    @property
    def sentence(self) -> str:
        """The verdict in a sentence; of a study that is not finished, how far it is."""
        if self.finished is None:
            trials, launches = (sum(one.outcome is not None for one in some) for some in (self.trials, self.launches))
            return self.mark + (
                f"Not finished, no verdict yet. Trials that ended: {trials}; launches of the confirmation: {launches}."
            )
        number = self.standing.candidate.number if self.standing else 0
        return self.mark + RESULTS[self.conclusion.result].format(number=number)


def gather(folder: StudyFolder) -> Evidence:
    """
    Read a study's folder.

    Raises:
        NoBaseline: If its baseline was not measured, or not yet.
    """
    space, trials, launches = load(folder.space), folder.trials(), folder.launches()
    return Evidence(
        root=folder.root,
        settings=folder.settings(),
        finished=folder.finished(),
        space=space,
        score=_score(folder.root.name, trials, space),
        trials=tuple(trials),
        launches=tuple(launches),
        conclusion=conclude(trials, launches, space),
        provenance=json.loads(folder.provenance.read_text(encoding="utf-8")),
    )


def _score(name: str, trials: Sequence[TrialRecord], space: SearchSpace) -> float:
    match baseline(trials).outcome if trials else None:
        case Measured() as measured:
            return value(measured, space.objective)
        case Infeasible(reason=reason) | Lost(reason=reason):
            why = f"it failed: {reason}"
        case _:
            why = "it has not ended"
    raise NoBaseline(f"study {name!r} has no measured baseline, so no evidence: {why}; see `autotune status {name}`")


def judged(found: Evidence) -> list[tuple[str, Judgement]]:
    """Return the judgements of the confirmation, each with the name of its recipe."""
    return [
        ("baseline" if launch.arm == "A" else f"trial {launch.candidate}", judgement)
        for launch in found.launches
        if isinstance(launch.outcome, Measured)
        for judgement in launch.outcome.judged
    ]
