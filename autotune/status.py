"""How a study stands, from its folder alone: also while it runs."""

from dataclasses import dataclass
from typing import Literal

from autotune.confirm import baseline, passed, value
from autotune.folder import StudyFolder, TrialRecord
from autotune.lock import driver
from autotune.proof import Proof, prove
from search_spaces import SearchSpace, load
from trials.outcome import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """
    One study.

    Attributes:
        trials: All of them, also one that runs.
        launches: Of the confirmation, begun.
        baseline: The baseline's objective in the search; None if it did not pass its gate, or not yet.
        best: Number and objective of the best trial that passed its gate, the baseline too.
        proof: None until the study is done.
    """

    study: str
    emulated: bool
    state: Literal["running", "not finished", "done"]
    space: SearchSpace
    trials: tuple[TrialRecord, ...]
    launches: int
    baseline: float | None
    best: tuple[int, float] | None
    proof: Proof | None

    @property
    def ended(self) -> int:
        """How many trials have an outcome."""
        return sum(trial.outcome is not None for trial in self.trials)

    def record(self) -> dict[str, object]:
        """Return the JSON object that `autotune status --json` prints."""
        done = self.proof and self.proof.conclusion
        return {
            "study": self.study,
            "emulated": self.emulated,
            "state": self.state,
            "trials": self.ended,
            "launches": self.launches,
            "baseline": self.baseline,
            "best": self.best and {"trial": self.best[0], "value": self.best[1]},
            "result": done and done.result,
            "winner": done and done.winner.number,
        }


def status(folder: StudyFolder) -> Status:
    """Read a study's folder."""
    space, trials, launches = load(folder.space), folder.trials(), folder.launches()
    done = folder.finished() is not None
    good = {
        t.number: value(t.outcome, space.objective) for t in trials if isinstance(t.outcome, Measured) and passed(t)
    }
    return Status(
        study=folder.root.name,
        emulated=folder.settings().emulation is not None,
        state="done" if done else "running" if driver(folder.lock) else "not finished",
        space=space,
        trials=tuple(trials),
        launches=len(launches),
        baseline=good.get(baseline(trials).number) if trials else None,
        best=max(good.items(), key=lambda item: item[1], default=None),
        proof=prove(trials, launches, space) if done and trials else None,
    )
