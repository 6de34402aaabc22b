"""What a study's folder proves, as one value."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from autotune.confirm import Conclusion, Standing, baseline, value
from autotune.evidence.raw import EFFECTIVE, Sources, sources
from autotune.evidence.words import ENGLISH, Said, said
from autotune.folder import LaunchRecord, Settings, Stage, StudyFolder, TrialRecord
from autotune.proof import Proof, prove
from autotune.redaction import hidden, scrubbed
from autotune.reduce import Reduction
from autotune.rehearsal import MARK, mark
from autotune.rounds import name, of
from search_spaces import SearchSpace, load, resolve
from trials.machine import Machine, noted
from trials.outcome import Infeasible, Judgement, Lost, Measured, Outcome


class NoBaseline(ValueError):
    """Nothing can be said of a study whose baseline was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    All that a study's folder proves; every text in it is redacted.

    Attributes:
        root: The study's folder.
        finished: When the study ended, ISO 8601 with offset; None while it may go on.
        score: The baseline's objective in the search.
        raw: The raw files of each trial and launch, by its folder.
        machines: On what each of them ran, by its folder; none where it was not noted.
        effective: What the engine said that it ran, by the folder of each launch that noted it.
    """

    root: Path
    settings: Settings
    finished: str | None
    space: SearchSpace
    score: float
    trials: tuple[TrialRecord, ...]
    launches: tuple[LaunchRecord, ...]
    proof: Proof
    provenance: Mapping[str, str]
    raw: Mapping[Path, Sources]
    machines: Mapping[Path, Machine]
    effective: Mapping[Path, Mapping[str, str]]

    @property
    def records(self) -> tuple[TrialRecord | LaunchRecord, ...]:
        """All that ran: the trials, then the launches."""
        return (*self.trials, *self.launches)

    @property
    def conclusion(self) -> Conclusion:
        """What the confirmation says."""
        return self.proof.conclusion

    @property
    def recommended(self) -> TrialRecord:
        """The winner's trial, with the config that is recommended over the whole ladder: perhaps with less in it."""
        return replace(self.conclusion.winner, config=self.proof.config)

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
    def emulated(self) -> Said | None:
        """What a reader of a rehearsal must know first; nothing of a real study."""
        emulation = self.settings.emulation
        return said("emulated", mark=MARK, landscape=emulation.landscape) if emulation else None

    @property
    def verdict(self) -> Said:
        """The verdict; of a study that is not finished, how far it is."""
        if self.finished is None:
            trials, launches = (sum(one.outcome is not None for one in some) for some in (self.trials, self.launches))
            return said("not finished", trials=trials, launches=launches)
        if self.reduced:
            return said("win reduced", number=self.recommended.number, knobs=", ".join(self.left_out))
        return verdict(self.conclusion)

    @property
    def reduced(self) -> Reduction | None:
        """The winner with less in it, where the study ended with that as its recipe."""
        less = self.proof.reduction
        return less if self.finished and less and less.stands else None

    @property
    def left_out(self) -> tuple[str, ...]:
        """The knobs of the winner that its recipe does without."""
        whole = resolve(self.space, self.conclusion.winner.config).config
        return tuple(knob for knob, own in whole.items() if own != self.proof.config[knob])

    @property
    def sentence(self) -> str:
        """The verdict in English."""
        return self.mark + ENGLISH(self.verdict)

    @property
    def missing(self) -> tuple[str, ...]:
        """Raw files that are not there any more, relative to the study's folder."""
        return tuple(chain.from_iterable(self.raw[one.folder].missing for one in self.records))

    def arms(self, candidate: int, stage: Stage, *names: str) -> tuple[tuple[LaunchRecord, ...], ...]:
        """Return the measured launches of each arm that a comparison rests on: as many of one as of the others."""
        own = of(self.launches, stage, candidate)
        every = [[one for one in own if one.arm == name and isinstance(one.outcome, Measured)] for name in names]
        return tuple(zip(*zip(*every, strict=False), strict=True))


def verdict(conclusion: Conclusion) -> Said:
    """Return what a study proved, in a sentence."""
    number = conclusion.standings[-1].candidate.number if conclusion.standings else 0
    return said(conclusion.result, number=number)


def gather(folder: StudyFolder) -> Evidence:
    """
    Read a study's folder.

    Raises:
        NoBaseline: If its baseline was not measured, or not yet.
    """
    space, finished = load(folder.space), folder.finished()
    trials = [replace(one, outcome=shown(one.outcome)) for one in folder.trials()]
    launches = [replace(one, outcome=shown(one.outcome)) for one in folder.launches()]
    records: list[TrialRecord | LaunchRecord] = [*trials, *launches]
    return Evidence(
        root=folder.root,
        settings=folder.settings(),
        finished=finished,
        space=space,
        score=_score(folder.root.name, trials, space, ended=finished is not None),
        trials=tuple(trials),
        launches=tuple(launches),
        proof=prove(trials, launches, space),
        provenance=scrubbed(json.loads(folder.provenance.read_text(encoding="utf-8"))),
        raw={one.folder: sources(folder.root, one, ended=finished is not None) for one in records},
        machines={one.folder: machine for one in records if (machine := noted(one.folder))},
        effective={one.folder: told for one in records if (told := effective_of(one.folder))},
    )


def shown(outcome: Outcome | None) -> Outcome | None:
    """Return an outcome as it may be shown: redacted, and of settings too what their names say is secret."""
    clean = scrubbed(outcome)
    if not isinstance(clean, Measured):
        return clean
    return replace(
        clean, mismatches=tuple(replace(each, asked=hidden(each.setting, each.asked)) for each in clean.mismatches)
    )


def effective_of(folder: Path) -> dict[str, str]:
    """Return what the engine of a trial's only, or first, launch said that it runs."""
    files = [folder / EFFECTIVE, *sorted(folder.glob(f"launch-*/{EFFECTIVE}"))]
    found = next((path for path in files if path.exists()), None)
    return scrubbed(dict(json.loads(found.read_text(encoding="utf-8")))) if found else {}


def _score(name: str, trials: Sequence[TrialRecord], space: SearchSpace, *, ended: bool) -> float:
    match baseline(trials).outcome if trials else None:
        case Measured() as measured:
            return value(measured, space.objective)
        case Infeasible(reason=reason) | Lost(reason=reason):
            why = f"it failed: {reason}"
        case _:
            why = "its outcome.json is missing" if trials and ended else "it has not ended"
    raise NoBaseline(f"study {name!r} has no measured baseline, so no evidence: {why}; see `autotune status {name}`")


def judged(found: Evidence) -> list[tuple[str, Judgement]]:
    """Return the judgements of all fresh launches, each with the name of its recipe."""
    return [
        (name(launch.arm, launch.candidate), judgement)
        for launch in found.launches
        if isinstance(launch.outcome, Measured)
        for judgement in launch.outcome.judged
    ]
