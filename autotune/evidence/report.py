"""The evidence for machines: `evidence.json`, and its JSON Schema."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from autotune import regimes
from autotune.comparisons import Launched
from autotune.confirm import Standing, changes
from autotune.evidence import facts
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.explained import became, rates
from autotune.evidence.raw import Gathered, Sources
from autotune.evidence.reported import (
    Ablation,
    Beside,
    Candidate,
    Gated,
    Known,
    Launch,
    Reduction,
    Reference,
    Regime,
    Report,
    Trial,
    Winner,
)
from autotune.evidence.words import CHINESE, ENGLISH
from autotune.folder import LaunchRecord, TrialRecord
from autotune.redaction import scrubbed
from autotune.rounds import REFERENCE, name
from search_spaces import SearchSpace, resolve
from trials.outcome import Measured, Outcome

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
        reduction=_reduction(found),
        regimes=tuple(map(_regime, proof.regimes)),
        known=tuple(_known(found)),
        reference=_reference(found),
        trials=tuple(
            Trial(**ran(found, one, found.raw[one.folder]), config=one.config, fingerprint=one.fingerprint)
            for one in found.trials
        ),
        launches=tuple(
            Launch(**ran(found, one, found.raw[one.folder]), arm=one.arm, candidate=one.candidate, stage=one.stage)
            for one in found.launches
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
        comparison=found.proof.comparison if found.conclusion.result == "win" else None,
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


def _reduction(found: Evidence) -> Reduction | None:
    if (less := found.proof.reduction) is None:
        return None
    whole = resolve(found.space, found.conclusion.winner.config).config
    return Reduction(
        config=less.config,
        without=tuple(knob for knob, own in whole.items() if own != less.config[knob]),
        comparison=less.comparison,
        full=less.full,
        out=less.out,
        taken=less.stands,
    )


def _known(found: Evidence) -> Iterator[Known]:
    """Yield what became of known recipes, once that is known."""
    if found.finished and found.settings.known:
        for one in became(found.space, found.trials, found.conclusion):
            yield Known(name=one.name, trial=one.record.number if one.record else None, verdict=one.verdict)


def _reference(found: Evidence) -> Reference | None:
    if (told := found.space.reference) is None:
        return None
    launched = next((one.launches for one in found.proof.beside if one.arm == REFERENCE), ())
    return Reference(
        label=told.label,
        metric=told.metric,
        source=told.source if told.figures else None,
        launches=len(launched),
        figures=told.figures or rates(launched, told.metric),
        recipe=rates(found.proof.launches, told.metric),
    )


def _regime(found: regimes.Regime) -> Regime:
    return Regime(
        concurrency=found.proposal.concurrency,
        trial=found.proposal.trial.number,
        comparison=found.comparison,
        out=found.out,
        proved=found.proved,
    )


def ran(found: Gathered, record: TrialRecord | LaunchRecord | Launched, raw: Sources) -> dict[str, Any]:
    """Return the fields of `Ran`."""
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
