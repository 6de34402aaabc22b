"""Where everything of a study is: every path, and what is read back from them."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from autotune.lock import held
from search_spaces import Config, SearchSpace, source
from trials import outcome as outcomes
from trials.emulation import Emulation
from trials.files import write_whole
from trials.outcome import Outcome

Arm = Literal["A", "B"]  # A is the baseline, B the candidate
Stage = Literal["confirm", "ablate", "reduce", "regimes"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BadName(ValueError):
    """A study's name is no name."""


class UnknownStudy(ValueError):
    """There is no study of that name."""


class StudyExists(Exception):
    """A study of that name is already there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    What a study was started with; `study.json`.

    Attributes:
        name: The study's.
        space: The name or path that the user gave; a copy of the file is in the folder.
        space_folder: Where files that stand beside the space file are.
        trials: Trials beside the baseline that may be submitted.
        hours: Wall-clock hours that the search may take, or None.
        started: When, ISO 8601 with offset.
        version: autotune's.
        known: Whether the space's known recipes are tried first.
        nodes: Trials at once on this machine; more than one only in a rehearsal.
        emulation: What stands in for the engine; None: nothing does, and what is measured is evidence.
        window_sd: How much windows of one launch differ, by concurrency, as it was measured before the study.
    """

    name: str
    space: str
    space_folder: Path
    data_root: Path
    seed: int
    sampler: str
    dispatcher: Literal["ray", "local"]
    trials: int
    hours: float | None
    started: str
    version: str
    known: bool = True
    nodes: int = 1
    emulation: Emulation | None = None
    window_sd: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One trial as its folder tells it: `trial.json`, and `outcome.json` once it ended."""

    number: int
    config: Config
    fingerprint: str
    folder: Path
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRecord:
    """
    One fresh launch after the search: `launch.json` and `outcome.json`.

    Attributes:
        arm: What was launched: A is the baseline, B the candidate; the others are named by `autotune.rounds`.
        candidate: Number of the trial that this launch helps to judge.
        stage: What the launch is there for.
    """

    number: int
    arm: str
    candidate: int
    folder: Path
    outcome: Outcome | None
    stage: Stage = "confirm"


@dataclass(frozen=True, slots=True)
class _Asked:
    number: int
    config: Config
    fingerprint: str


@dataclass(frozen=True, slots=True)
class _Launched:
    number: int
    arm: str
    candidate: int
    stage: Stage


_SETTINGS = TypeAdapter(Settings)
_ASKED = TypeAdapter(_Asked)
_LAUNCHED = TypeAdapter(_Launched)


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The folder of one study."""

    root: Path

    @property
    def space(self) -> Path:
        """Copy of the space file, as it was when the study began; its name is the space's."""
        return next((self.root / "space").glob("*.yaml"))

    @property
    def settings_file(self) -> Path:
        """What the study was started with."""
        return self.root / "study.json"

    @property
    def database(self) -> Path:
        """Optuna's index; it can be rebuilt from the trials."""
        return self.root / "study.db"

    @property
    def recipe(self) -> Path:
        """The winner."""
        return self.root / "recipe.yaml"

    @property
    def evidence_md(self) -> Path:
        """Tables for people."""
        return self.root / "evidence.md"

    @property
    def evidence_html(self) -> Path:
        """The same with plots, as one page."""
        return self.root / "evidence.html"

    @property
    def answers(self) -> Path:
        """Right answers to the gate's questions, for an emulated engine."""
        return self.root / "answers.jsonl"

    @property
    def evidence_json(self) -> Path:
        """The same for machines."""
        return self.root / "evidence.json"

    def settings(self) -> Settings:
        """Return what the study was started with."""
        return _SETTINGS.validate_json(self.settings_file.read_bytes())

    @property
    def provenance(self) -> Path:
        """Where and with what the study was run."""
        return self.root / "provenance.json"

    @property
    def end(self) -> Path:
        """There once the study came to its end; says when."""
        return self.root / "end.json"

    def finished(self) -> str | None:
        """Return when the study came to its end, ISO 8601 with offset, or None while it may go on."""
        return str(json.loads(self.end.read_text(encoding="utf-8"))["finished"]) if self.end.exists() else None

    def finish(self, when: str) -> None:
        """Say that the study came to its end, unless it had and nothing was begun since."""
        if not self.end.exists():
            write_whole(self.end, json.dumps({"finished": when}) + "\n")

    def begin(self, settings: Settings, space: SearchSpace, provenance: Mapping[str, str]) -> None:
        """
        Make the folder of a new study, whole or not at all.

        Raises:
            StudyExists: If there is one of that name.
        """
        if self.root.exists():
            raise StudyExists(
                f"study {settings.name!r} exists in {self.root.parent}: go on with `autotune resume {settings.name}`, "
                "or choose another --name"
            )
        self.root.parent.mkdir(parents=True, exist_ok=True)
        new = StudyFolder(Path(tempfile.mkdtemp(prefix=f".{settings.name}-", dir=self.root.parent)))
        (new.root / "space").mkdir()
        write_whole(new.root / "space" / f"{space.name}.yaml", source(space))
        write_whole(new.provenance, json.dumps(provenance, indent=2) + "\n")
        write_whole(new.settings_file, _SETTINGS.dump_json(settings, indent=2).decode() + "\n")
        new.root.chmod(0o755)  # mkdtemp's is the owner's alone
        new.root.rename(self.root)

    @property
    def lock(self) -> Path:
        """Held by the driver while it runs; names it."""
        return self.root / "lock"

    def locked(self) -> AbstractContextManager[None]:
        """
        Keep other drivers out for the length of the block; the lock ends with this process, however it ends.

        Raises:
            StudyLocked: If another driver has it.
        """
        return held(self.lock, self.root.name)

    def new_trial(self, number: int, config: Config, fingerprint: str) -> Path:
        """Make and return a trial's folder; one that a crash left without its `trial.json` is taken over."""
        self.end.unlink(missing_ok=True)
        folder = self.root / "trials" / f"{number:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        asked = _Asked(number, config, fingerprint)
        write_whole(folder / "trial.json", _ASKED.dump_json(asked, indent=2).decode() + "\n")
        return folder

    def new_launch(self, number: int, arm: str, candidate: int, *, stage: Stage = "confirm") -> Path:
        """Make and return the folder of a fresh launch; one without its `launch.json` is taken over."""
        self.end.unlink(missing_ok=True)
        folder = self.root / "confirm" / f"{number:02d}-{arm}"
        folder.mkdir(parents=True, exist_ok=True)
        launched = _Launched(number, arm, candidate, stage)
        write_whole(folder / "launch.json", _LAUNCHED.dump_json(launched, indent=2).decode() + "\n")
        return folder

    def trials(self) -> list[TrialRecord]:
        """Return the trials so far, in order."""
        return [
            TrialRecord(**asdict(_ASKED.validate_json(path.read_bytes())), folder=path.parent, outcome=_outcome(path))
            for path in sorted(self.root.glob("trials/*/trial.json"))
        ]

    def launches(self) -> list[LaunchRecord]:
        """Return the fresh launches so far, in order."""
        found = [
            LaunchRecord(
                **asdict(_LAUNCHED.validate_json(path.read_bytes())), folder=path.parent, outcome=_outcome(path)
            )
            for path in self.root.glob("confirm/*/launch.json")
        ]
        return sorted(found, key=lambda launch: launch.number)


def _outcome(beside: Path) -> Outcome | None:
    path = beside.with_name("outcome.json")
    return outcomes.read(path) if path.exists() else None


def study_folder(studies: Path, name: str) -> StudyFolder:
    """
    Return the folder of a study by name.

    Raises:
        BadName: If the name could be a path, or is empty or too long.
    """
    if not NAME.fullmatch(name):
        raise BadName(f"study name {name!r}: use letters, digits, '.', '_' and '-', at most 100, no folder")
    return StudyFolder(studies / name)


def open_study(studies: Path, name: str) -> StudyFolder:
    """
    Return the folder of a study that is there.

    Raises:
        UnknownStudy: If it is not.
    """
    folder = study_folder(studies, name)
    if not folder.settings_file.exists():
        there = ", ".join(one.root.name for one in all_studies(studies)) or "none"
        raise UnknownStudy(f"no study {name!r} in {studies}: there is {there}")
    return folder


def all_studies(studies: Path) -> Iterator[StudyFolder]:
    """Yield the studies of a folder, by name."""
    for path in sorted(studies.glob("*/study.json")):
        yield StudyFolder(path.parent)
