"""What a comparison's folder holds, as one value."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autotune.campaign import Progress, launch_values, progress
from autotune.compare import LaunchValues
from autotune.comparisons import ComparisonFolder, Launched, Settings, Sides
from autotune.evidence import verdicts
from autotune.evidence.evidence import effective_of, shown
from autotune.evidence.raw import REQUESTS, Sources, behind, sources
from autotune.evidence.words import ENGLISH, Said, said
from autotune.folder import Arm
from autotune.redaction import scrubbed
from autotune.rehearsal import MARK
from trials.machine import Machine, noted
from trials.outcome import Judgement, Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """
    All that a comparison's folder holds; every text in it is redacted.

    Attributes:
        root: The comparison's folder.
        raw: The raw files of each launch, by its folder.
        machines: On what each of them ran, by its folder; none where it was not noted.
        effective: What the engine said that it ran, by the folder of each launch that noted it.
    """

    root: Path
    settings: Settings
    sides: Sides
    launches: tuple[Launched, ...]
    stands: Progress
    provenance: Mapping[str, str]
    raw: Mapping[Path, Sources]
    machines: Mapping[Path, Machine]
    effective: Mapping[Path, Mapping[str, str]]

    @property
    def records(self) -> tuple[Launched, ...]:
        """All that ran."""
        return self.launches

    @property
    def finished(self) -> bool:
        """Whether nothing is left to launch."""
        return self.stands.next_arm is None

    @property
    def mark(self) -> str:
        """What stands before every title: nothing, or that all of it was emulated."""
        return f"{MARK} " if self.settings.emulation else ""

    @property
    def emulated(self) -> Said | None:
        """What a reader of a rehearsal must know first; nothing of real launches."""
        emulation = self.settings.emulation
        return said("emulated", mark=MARK, landscape=emulation.landscape) if emulation else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The raw files that were there when the numbers came to be, relative to the documents."""
        return tuple(path for one in self.launches for path in self.raw[one.folder].missing)

    @property
    def verdict(self) -> Said:
        """The verdict over the ladder."""
        return verdicts.sentence(self.stands)

    @property
    def notes(self) -> tuple[Said, ...]:
        """What belongs beside the verdict."""
        comparison = self.stands.comparison
        return tuple(verdicts.notes(comparison)) if comparison and not self.stands.failed else ()

    @property
    def lines(self) -> list[str]:
        """The verdict and what belongs beside it, in English."""
        return [f"{self.mark}{ENGLISH(self.verdict)}", *map(ENGLISH, self.notes)]

    @property
    def judged(self) -> tuple[tuple[Launched, Judgement], ...]:
        """Each judgement, with the launch that it is of."""
        return tuple(
            (one, judgement)
            for one in self.launches
            if isinstance(one.outcome, Measured)
            for judgement in one.outcome.judged
        )

    def arm(self, arm: Arm) -> tuple[Launched, ...]:
        """Return the measured launches of an arm that the comparison rests on."""
        comparison = self.stands.comparison
        count = comparison.launches["AB".index(arm)] if comparison else 0
        return tuple(one for one in self.launches if one.arm == arm and isinstance(one.outcome, Measured))[:count]

    def behind(self, root: Path) -> Sources:
        """Return where the means over launches come from, relative to a document in `root`."""
        launches, own = (*self.arm("A"), *self.arm("B")), self.root.relative_to(root)
        missing = tuple((own / path).as_posix() for one in launches for path in self.raw[one.folder].missing)
        return Sources(behind(root, launches, REQUESTS).links, missing)

    def values(self, one: Launched) -> LaunchValues | None:
        """Return what of a launch is compared; None where it was not measured."""
        return launch_values(one.outcome, self.sides.space.objective) if isinstance(one.outcome, Measured) else None


def gather(folder: ComparisonFolder) -> Compared:
    """Read a comparison's folder."""
    settings, sides = folder.settings(), folder.sides()
    launches = [replace(one, outcome=shown(one.outcome)) for one in folder.launches()]
    return Compared(
        root=folder.root,
        settings=scrubbed(settings),
        sides=sides,
        launches=tuple(launches),
        stands=progress(launches, settings.rules, sides.space.objective),
        provenance=scrubbed(json.loads(folder.provenance.read_text(encoding="utf-8"))),
        raw={one.folder: sources(folder.root, one, ended=one is not launches[-1]) for one in launches},
        machines={one.folder: machine for one in launches if (machine := noted(one.folder))},
        effective={one.folder: told for one in launches if (told := effective_of(one.folder))},
    )
