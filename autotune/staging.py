"""From two contenders to the folder of a comparison that can be run."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autotune import __version__
from autotune.comparisons import ComparisonFolder, Rules, Settings, Sides
from autotune.contenders import Contender
from autotune.folder import Arm
from autotune.provenance import provenance
from autotune.rehearsal import rehearsed
from search_spaces import SearchSpace
from trials.emulation import Emulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    What is the same for every comparison of one command.

    Attributes:
        seed: Of the load's prompts, and of chance in a rehearsal.
        emulated: Landscape and launch noise of what stands in for the engines; None: nothing does.
        resume: Whether to go on with what is there.
    """

    data_root: Path
    seed: int
    emulated: tuple[str, float] | None
    resume: bool

    def emulation(self, answers: Path | None) -> Emulation | None:
        """Return what stands in for the engines: nothing of it dies by chance, for that would compare nothing."""
        if self.emulated is None:
            return None
        landscape, noise = self.emulated
        return Emulation(landscape=landscape, seed=self.seed, noise=noise, flaky=0.0, answers=answers)

    def runs(self, space: SearchSpace) -> SearchSpace:
        """Return a space as it is run on these terms."""
        return space if self.emulated is None else rehearsed(space)


def stage(folder: ComparisonFolder, a: Contender, b: Contender, rules: Rules, terms: Terms) -> None:
    """
    Begin a comparison, or find it begun.

    Raises:
        autotune.comparisons.ComparisonExists: It is there and is not to be gone on with.
        autotune.comparisons.OtherComparison: What is there is another comparison.
    """
    settings = Settings(
        name=folder.root.name,
        names=(a.name, b.name),
        space_folders=(_space_folder(folder, a, "A"), _space_folder(folder, b, "B")),
        data_root=terms.data_root,
        seed=terms.seed,
        rules=rules,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        emulation=terms.emulation(folder.answers.resolve() if rules.judged else None),
    )
    sides = Sides(a.space, a.recipe, b.recipe, beside=(a.beside, b.beside))
    folder.begin_or_resume(settings, sides, _facts(a, b, rules, terms), resume=terms.resume)


def _space_folder(folder: ComparisonFolder, side: Contender, arm: Arm) -> Path:
    return folder.imported(arm).absolute() if side.imported else side.space.folder


def _facts(a: Contender, b: Contender, rules: Rules, terms: Terms) -> dict[str, str]:
    """Return A's provenance, and of B's what differs; a gate that is not asked need not be here."""
    spaces = [terms.runs(side.space.model_copy(update={"target": side.recipe.target})) for side in (a, b)]
    spaces = [space if rules.judged else space.model_copy(update={"gates": ()}) for space in spaces]
    facts, others = (provenance(space, terms.data_root) for space in spaces)
    return {**facts, **{f"{name}, B": fact for name, fact in others.items() if facts.get(name) != fact}}
