"""Where everything of a comparison is: every path, and what is read back from them."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from autotune.compare import LaunchSd
from autotune.folder import NAME, Arm, BadName
from autotune.lock import held
from search_spaces import Recipe, SearchSpace, load, load_recipe, recipe_text, source
from trials import outcome as outcomes
from trials.emulation import Emulation
from trials.files import write_whole
from trials.outcome import Outcome


class ComparisonExists(Exception):
    """A comparison of that name is already there, and going on with it was not asked for."""


class OtherComparison(ValueError):
    """A comparison of that name is there, and it is another one than the one to go on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """
    When launches end.

    Attributes:
        most: Launches an arm, at most.
        until: Over the ladder something is decided; or at every concurrency; or all launches are made.
        family: Concurrencies that share the chance of error where each gets a verdict; None: those of the ladder.
        judged: Whether the first launch of each arm is asked the full gate.
        known_sd: Between launches, where it was measured.
    """

    most: int
    until: Literal["decided", "every level decided", "most"] = "decided"
    family: int | None = None
    judged: bool = True
    known_sd: LaunchSd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    What a comparison was started with; `comparison.json`.

    Attributes:
        names: Of A and of B, as their user called them.
        space_folders: Where files that stand beside their spaces are.
        seed: Of the load's prompts, and of chance in a rehearsal.
        started: When, ISO 8601 with offset.
        version: autotune's.
        emulation: What stands in for the engines; None: nothing does.
    """

    name: str
    names: tuple[str, str]
    space_folders: tuple[Path, Path]
    data_root: Path
    seed: int
    rules: Rules
    started: str
    version: str
    emulation: Emulation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One launch: `launch.json`, and `outcome.json` once it ended."""

    number: int
    arm: Arm
    folder: Path
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Sides:
    """
    What is compared.

    Attributes:
        space: A's: its gate, deadlines and objective hold for both.
        beside: For A and for B the text of files that must lie beside an imported space, by name.
    """

    space: SearchSpace
    a: Recipe
    b: Recipe
    beside: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})

    def recipe(self, arm: Arm) -> Recipe:
        """Return an arm's recipe."""
        return self.a if arm == "A" else self.b


@dataclass(frozen=True, slots=True)
class _Asked:
    number: int
    arm: Arm


_SETTINGS = TypeAdapter(Settings)
_ASKED = TypeAdapter(_Asked)


@dataclass(frozen=True, slots=True)
class ComparisonFolder:
    """The folder of one comparison."""

    root: Path

    @property
    def settings_file(self) -> Path:
        """What the comparison was started with."""
        return self.root / "comparison.json"

    @property
    def answers(self) -> Path:
        """Right answers to the gate's questions, for an emulated engine."""
        return self.root / "answers.jsonl"

    @property
    def provenance(self) -> Path:
        """Where and with what it was run."""
        return self.root / "provenance.json"

    @property
    def evidence(self) -> tuple[Path, Path, Path]:
        """The verdict for people, as Markdown and as a page, and for machines."""
        return self.root / "evidence.md", self.root / "evidence.html", self.root / "evidence.json"

    def settings(self) -> Settings:
        """Return what the comparison was started with."""
        return _SETTINGS.validate_json(self.settings_file.read_bytes())

    def sides(self) -> Sides:
        """Return what is compared, as it was when the comparison began."""
        space = load(next((self.root / "space").glob("*.yaml")), trusted=True)
        a, b = (load_recipe(self.root / f"{arm}.yaml", trusted=True) for arm in "ab")
        return Sides(space, a, b)

    def imported(self, arm: Arm) -> Path:
        """Return the folder of the files that an imported side needs."""
        return self.root / f"imported-{arm.lower()}"

    def begin(self, settings: Settings, sides: Sides, provenance: Mapping[str, str]) -> None:
        """Make the folder of a new comparison, whole or not at all."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        new = ComparisonFolder(Path(tempfile.mkdtemp(prefix=f".{settings.name}-", dir=self.root.parent)))
        (new.root / "space").mkdir()
        write_whole(new.root / "space" / f"{sides.space.name}.yaml", source(sides.space))
        arms: tuple[Arm, Arm] = ("A", "B")
        for arm, beside in zip(arms, sides.beside, strict=True):
            write_whole(new.root / f"{arm.lower()}.yaml", recipe_text(sides.recipe(arm)))
            for name, text in beside.items():
                new.imported(arm).mkdir(exist_ok=True)
                write_whole(new.imported(arm) / name, text)
        write_whole(new.provenance, json.dumps(provenance, indent=2) + "\n")
        write_whole(new.settings_file, _SETTINGS.dump_json(settings, indent=2).decode() + "\n")
        new.root.chmod(0o755)  # mkdtemp's is the owner's alone
        new.root.rename(self.root)

    def begin_or_resume(self, settings: Settings, sides: Sides, provenance: Mapping[str, str], *, resume: bool) -> None:
        """
        Make the folder, or with `resume` find in it what would have been made.

        Raises:
            ComparisonExists: Something is there and is not to be gone on with.
            OtherComparison: What is there is another comparison.
        """
        if not self.root.exists():
            self.begin(settings, sides, provenance)
        elif not self.settings_file.exists():
            raise ComparisonExists(f"{self.root} exists and is no comparison: choose another --name")
        elif not resume:
            raise ComparisonExists(
                f"{self.root} exists: go on with it by the same command and --resume, or choose another --name"
            )
        elif (changed := _changed(self.settings(), settings)) or _fingerprints(self.sides()) != _fingerprints(sides):
            what = f"{', '.join(changed) or 'a recipe'} differ" + ("s" if len(changed) < 2 else "")  # noqa: PLR2004 one
            raise OtherComparison(f"{self.root} is another comparison: {what}; choose another --name")

    def locked(self) -> AbstractContextManager[None]:
        """
        Keep other drivers out for the length of the block.

        Raises:
            autotune.lock.StudyLocked: If another driver has it.
        """
        return held(self.root / "lock", self.root.name)

    def new_launch(self, number: int, arm: Arm) -> Path:
        """Make and return a launch's folder; one that a crash left without its `launch.json` is taken over."""
        folder = self.root / f"{number:02d}-{arm}"
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "launch.json", _ASKED.dump_json(_Asked(number, arm), indent=2).decode() + "\n")
        return folder

    def launches(self) -> list[Launched]:
        """Return the launches so far, in order."""
        return sorted(self._launches(), key=lambda each: each.number)

    def _launches(self) -> Iterator[Launched]:
        for path in self.root.glob("*/launch.json"):
            outcome = path.with_name("outcome.json")
            yield Launched(
                **asdict(_ASKED.validate_json(path.read_bytes())),
                folder=path.parent,
                outcome=outcomes.read(outcome) if outcome.exists() else None,
            )


def comparison_folder(comparisons: Path, name: str) -> ComparisonFolder:
    """
    Return the folder of a comparison by name.

    Raises:
        BadName: If the name could be a path, or is empty or too long.
    """
    if not NAME.fullmatch(name):
        raise BadName(f"comparison name {name!r}: use letters, digits, '.', '_' and '-', at most 100, no folder")
    return ComparisonFolder(comparisons / name)


def _changed(old: Settings, new: Settings) -> list[str]:
    """Return the settings that differ, but for when and by which version; nor does it matter what is known by now."""
    return [
        name
        for name in ("names", "seed", "rules", "emulation")
        if getattr(_lasting(old), name) != getattr(_lasting(new), name)
    ]


def _lasting(settings: Settings) -> Settings:
    return replace(settings, rules=replace(settings.rules, known_sd=None))


def _fingerprints(sides: Sides) -> tuple[str, str]:
    return sides.a.fingerprint, sides.b.fingerprint
