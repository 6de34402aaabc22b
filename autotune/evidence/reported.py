"""The types of `evidence.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from autotune.ablate import Finding, Part
from autotune.compare import Comparison
from autotune.folder import Settings, Stage
from evals import Verdict
from search_spaces import Config, Scalar
from trials.machine import Machine
from trials.outcome import Outcome

VERSION: Final = 1
"""Of the format: counted up when a field is taken away or comes to mean something else."""

Changes = dict[str, tuple[Scalar, Scalar]]
"""By knob: the baseline's value, and its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """
    What a finished study recommends; the baseline where nothing won.

    Attributes:
        trial: That it comes from; it may have less in it.
        fingerprint: Of the recipe.
        overrides: Concurrencies at which another recipe was proved better: see `recipe.yaml`.
        comparison: Of the recipe against the baseline over the ladder, without its overrides, by launches of its own;
            None where it is the baseline.
    """

    trial: int
    fingerprint: str
    config: Config
    changes: Changes
    overrides: tuple[int, ...]
    comparison: Comparison | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """
    What was confirmed or tried to be.

    Attributes:
        comparison: None before the first look.
        dropped: Why it is out; None if it is in.
        stopped: Why nothing can be decided; None if it can.
    """

    trial: int
    changes: Changes
    comparison: Comparison | None
    dropped: str | None
    stopped: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """A gate of a fresh launch, of the recipe of this name."""

    recipe: str
    concurrency: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """
    The last candidate, as it is in the recipe, against one that was launched in the same rounds.

    It has no part in the verdict.
    """

    recipe: str
    comparison: Comparison | None
    out: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """What each setting changes, and what becomes of each knob of the winner."""

    launch_sd: float | None
    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """
    The winner without what brings nothing measurable, launched afresh.

    Attributes:
        without: Knobs of the winner that are back at the baseline's value.
        comparison: Of it against the baseline; None before the first look.
        full: Of it against the whole winner.
        out: Why it can't take the winner's place whatever its speed.
        taken: Whether it took the winner's place.
    """

    config: Config
    without: tuple[str, ...]
    comparison: Comparison | None
    full: Comparison | None
    out: str | None
    taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """
    A recipe that the space knows, which was tried first.

    Attributes:
        trial: None where it was not tried.
        verdict: What became of it, in words, by confirmed numbers only.
    """

    name: str
    trial: int | None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """
    Another engine or a published figure beside the recipe; each figure by concurrency.

    Attributes:
        source: Where its figures were published; None where it was launched here.
        launches: Of it here; 0 where its figures are quoted.
        recipe: Figures of what the study recommends, by its fresh launches.
    """

    label: str
    metric: str
    source: str | None
    launches: int
    figures: dict[int, float]
    recipe: dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Another trial's config at one concurrency, against the recipe there."""

    concurrency: int
    trial: int
    comparison: Comparison | None
    out: str | None
    proved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """
    What is common to a trial and a launch.

    Attributes:
        folder: Relative to this file, as all paths.
        outcome: None while it runs; without the answers to single questions, which are in its own `outcome.json`.
        files: Its raw files.
        missing: Raw files that should be there and are not: its numbers can't be checked.
        effective: What its engine said that it ran.
    """

    number: int
    folder: str
    outcome: Outcome | None
    files: tuple[str, ...]
    missing: tuple[str, ...]
    machine: Machine | None
    effective: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(Ran):
    """A trial of the search: its score is no evidence."""

    config: Config
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(Ran):
    """A fresh launch after the search; `candidate` is the trial that it helps to judge."""

    arm: str
    candidate: int
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    All that a study proved.

    Attributes:
        emulated: Then no number here is a measurement.
        finished: ISO 8601 with offset; None while the study may go on, and nothing is proved.
        sentence: The verdict in words, by language.
        not_measured: What a reader might think was measured and was not.
    """

    version: Literal[1] = VERSION
    emulated: bool
    finished: str | None
    result: Literal["win", "loss", "tie", "undecided", "no candidate"] | None
    sentence: dict[Literal["en", "zh"], str]
    winner: Winner | None
    candidates: tuple[Candidate, ...]
    gates: tuple[Gated, ...]
    beside: tuple[Beside, ...]
    ablation: Ablation | None
    reduction: Reduction | None
    regimes: tuple[Regime, ...]
    known: tuple[Known, ...]
    reference: Reference | None
    trials: tuple[Trial, ...]
    launches: tuple[Launch, ...]
    settings: Settings
    provenance: Mapping[str, str]
    not_measured: tuple[str, ...]
