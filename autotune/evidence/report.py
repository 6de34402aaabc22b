"""The evidence for machines: `evidence.json`, its types, and the JSON Schema that they come to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from autotune import regimes
from autotune.ablate import Finding, Part
from autotune.compare import Comparison
from autotune.confirm import Standing, changes
from autotune.evidence import facts
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.words import CHINESE, ENGLISH
from autotune.folder import LaunchRecord, Settings, Stage, TrialRecord
from autotune.redaction import scrubbed
from autotune.rounds import name
from evals import Verdict
from search_spaces import Config, Scalar, SearchSpace
from trials.machine import Machine
from trials.outcome import Measured, Outcome

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
    """

    trial: int
    fingerprint: str
    config: Config
    changes: Changes
    overrides: tuple[int, ...]


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
    """The recommended recipe against one that was launched in the same rounds, without a part in the verdict."""

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
    regimes: tuple[Regime, ...]
    trials: tuple[Trial, ...]
    launches: tuple[Launch, ...]
    settings: Settings
    provenance: Mapping[str, str]
    not_measured: tuple[str, ...]


_JSON = TypeAdapter(Report)


def report(found: Evidence) -> Report:
    """Return the evidence as a value; every text in it is redacted."""
    proof, finished = found.proof, found.finished is not None
    whole = Report(
        emulated=found.settings.emulation is not None,
        finished=found.finished,
        result=proof.conclusion.result if finished else None,
        sentence={words.language: found.mark + words(found.verdict) for words in (ENGLISH, CHINESE)},
        winner=_winner(found) if finished else None,
        candidates=tuple(_candidate(standing, found.space) for standing in proof.conclusion.standings),
        gates=tuple(Gated(recipe=of, concurrency=one.concurrency, verdict=one.verdict) for of, one in judged(found)),
        beside=tuple(Beside(recipe=name(one.arm, 0), comparison=one.comparison, out=one.out) for one in proof.beside),
        ablation=_ablation(found),
        regimes=tuple(map(_regime, proof.regimes)),
        trials=tuple(Trial(**_ran(found, one), config=one.config, fingerprint=one.fingerprint) for one in found.trials),
        launches=tuple(
            Launch(**_ran(found, one), arm=one.arm, candidate=one.candidate, stage=one.stage) for one in found.launches
        ),
        settings=found.settings,
        provenance=found.provenance,
        not_measured=tuple(map(ENGLISH, facts.not_measured(found))),
    )
    return scrubbed(whole)


def to_json(found: Evidence) -> str:
    """Return the evidence for machines; the schema says what is in it."""
    return _JSON.dump_json(report(found), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `evidence.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_JSON.json_schema(mode="serialization"),
        "title": "evidence.json of autotune",
    }


def _winner(found: Evidence) -> Winner:
    return Winner(
        trial=found.recommended.number,
        fingerprint=found.proof.recipe.fingerprint,
        config=found.proof.config,
        changes=changes(found.recommended, found.space),
        overrides=tuple(each.proposal.concurrency for each in found.proof.regimes if each.proved),
    )


def _candidate(standing: Standing, space: SearchSpace) -> Candidate:
    return Candidate(
        trial=standing.candidate.number,
        changes=changes(standing.candidate, space),
        comparison=standing.comparison,
        dropped=standing.dropped,
        stopped=standing.stopped,
    )


def _ablation(found: Evidence) -> Ablation | None:
    apart = found.proof.ablation
    return Ablation(launch_sd=apart.launch_sd, findings=apart.findings, parts=apart.parts) if apart else None


def _regime(found: regimes.Regime) -> Regime:
    return Regime(
        concurrency=found.proposal.concurrency,
        trial=found.proposal.trial.number,
        comparison=found.comparison,
        out=found.out,
        proved=found.proved,
    )


def _ran(found: Evidence, record: TrialRecord | LaunchRecord) -> dict[str, Any]:
    raw = found.raw[record.folder]
    return {
        "number": record.number,
        "folder": record.folder.relative_to(found.root).as_posix(),
        "outcome": _figures(record.outcome),
        "files": tuple(link.href for link in raw.links),
        "missing": raw.missing,
        "machine": found.machines.get(record.folder),
        "effective": found.effective.get(record.folder, {}),
    }


def _figures(outcome: Outcome | None) -> Outcome | None:
    """Return an outcome without the answers to single questions."""
    if not isinstance(outcome, Measured):
        return outcome
    return replace(outcome, judged=tuple(replace(each, correct={}) for each in outcome.judged))
