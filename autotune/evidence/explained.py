"""Tables of what follows a verdict: the engine's own defaults, each knob's part, single concurrencies, a reference."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from autotune.ablate import Ablation, Finding, Part
from autotune.confirm import Beside, Conclusion, passed
from autotune.evidence.raw import Sources
from autotune.evidence.tables import RAW, Row, Table, frame, interval, percent, shown, trial
from autotune.evidence.verdicts import level
from autotune.evidence.words import Said, said
from autotune.folder import TrialRecord
from autotune.pooled import Change
from autotune.reduce import Reduction
from autotune.regimes import Regime
from autotune.rounds import DEFAULTS, NAMES
from search_spaces import Config, Reference, SearchSpace, resolve
from trials.outcome import Measured

OVERALL = "all, geometric mean"
VERDICTS: Mapping[str, str] = {
    "brings": "brings more than noise: kept",
    "brings together": "not told apart: kept",
    "needed": "needed: kept",
    "needed together": "not told apart: kept",
    "tied": "tied to others: kept",
    "not tested": "not tested: kept",
    "nothing measurable": "nothing measurable",
    "costs": "costs",
    "costs together": "not told apart: they cost",
}


def change(found: Change | None) -> str:
    """Return a change with its interval, and in words what may not be claimed of it."""
    if found is None:
        return ""
    if found.low is None:
        return f"{bounded(found)}, too few launches for an interval"
    return bounded(found) + {"tie": ", tie within noise", "undecided": ", undecided"}.get(found.said, "")


def bounded(found: Change) -> str:
    """Return a change with its interval, where it has one."""
    if found.low is None or found.high is None:
        return percent(found.estimate)
    return f"{percent(found.estimate)} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"


def defaults(beside: Sequence[Beside], recipe: str) -> Table:
    """
    Return a recipe against the engine's own defaults at each concurrency, and over the ladder.

    Args:
        recipe: The recipe's name.
    """
    return frame([row for one in beside if one.arm == DEFAULTS for row in _against(one, NAMES[DEFAULTS], recipe)])


def _against(beside: Beside, other: str, recipe: str) -> Iterator[Row]:
    if beside.comparison is None:
        yield {"concurrency": OVERALL, other: beside.out or "too few launches", recipe: "", "change": "", "verdict": ""}
        return
    found = beside.comparison
    levels = {str(at): (ratio, level(found.verdicts[at])) for at, ratio in found.levels.items()}
    for name, (ratio, verdict) in {**levels, OVERALL: (found.overall, found.result)}.items():
        yield {
            "concurrency": name,
            other: f"{ratio.a:.1f}",
            recipe: f"{ratio.b:.1f}",
            "change": f"{percent(ratio.change)} ({interval(ratio)})",
            "verdict": verdict,
        }


def ablation(found: Ablation, ladder: Sequence[int]) -> Table:
    """Return a row for each setting and a column for each concurrency: how it changes the recipe it is made from."""
    return frame([_setting(finding, ladder) for finding in found.findings])


def _setting(finding: Finding, ladder: Sequence[int]) -> Row:
    levels: Row = {str(at): change(finding.levels.get(at)) for at in ladder}
    overall = f"does not run: {finding.failed}" if finding.failed else change(finding.overall)
    launches = " + ".join(map(str, finding.launches))
    return {"setting": finding.row.words, **levels, OVERALL: overall, "launches": launches}


def parts(found: Ablation) -> Table:
    """Return each knob of the winner: what it brings there, and what becomes of it."""
    return frame([_part(part) for part in found.parts])


def _part(part: Part) -> Row:
    return {
        "knob": part.knob,
        "baseline": shown(part.base),
        "winner": shown(part.own),
        "brings": _gain(part),
        "verdict": VERDICTS[part.verdict],
    }


def _gain(part: Part) -> str:
    """Return what a knob brings; of one of a group what the group brings, and that it is the group's."""
    if not part.group:
        return change(part.gain) or part.because
    one = f"as one of a group of {len(part.group)}"
    return f"{one} that together bring {change(part.gain)}" if part.gain else f"{one}: {part.because}"


def grouped(found: Ablation) -> tuple[Said, ...]:
    """Return of each group that was undone at once what it brings, and that its knobs are not told apart."""
    return tuple(_group(part) for part in found.groups)


def _group(part: Part) -> Said:
    knobs, count = ", ".join(part.group), len(part.group)
    if part.gain is None:
        return said("group without a number", knobs=knobs, count=count, why=part.because)
    return said("group", knobs=knobs, count=count, change=bounded(part.gain), said=said(f"group {part.gain.said}"))


def kept_because(less: Reduction | None) -> str:
    """Return why a winner keeps the knobs that bring nothing measurable: what became of the recipe without them."""
    if less is None:
        return "the space has no other recipe without them"
    if less.out:
        return less.out
    if less.comparison is None or less.full is None:
        return "too few of its launches came to their end"
    overall, full = less.comparison.overall, less.full.overall
    short = "not all of its launches were made: " if less.next else ""
    return (
        f"{short}{percent(overall.change)} ({interval(overall)}) against the baseline, {less.comparison.result}; "
        f"{percent(full.change)} ({interval(full)}) against the winner with them"
    )


def regimes(found: Sequence[Regime], config: Config, space: SearchSpace) -> Table:
    """
    Return the recipes that were tried at single concurrencies, and what their own launches there say.

    Args:
        config: Of the recipe over the whole ladder.
    """
    return frame([_regime(each, config, space) for each in found])


def _regime(regime: Regime, config: Config, space: SearchSpace) -> Row:
    own = resolve(space, regime.proposal.trial.config).config
    moved = {knob: value for knob, value in own.items() if value != config[knob]}
    measured = regime.comparison
    return {
        "concurrency": str(regime.proposal.concurrency),
        "in its place": f"trial {regime.proposal.trial.number}",
        "differs in": ", ".join(f"{knob}={shown(value)}" for knob, value in moved.items()),
        "change there": f"{percent(measured.overall.change)} ({interval(measured.overall)})" if measured else "",
        "launches": " + ".join(map(str, measured.launches)) if measured else "",
        "verdict": _said(regime),
    }


def _said(regime: Regime) -> str:
    if regime.proved:
        return "faster there: overrides the recipe"
    if regime.out:
        return f"not taken: {regime.out}"
    return f"{regime.comparison.result}: not taken" if regime.comparison else "not launched"


def known(
    space: SearchSpace,
    trials: Sequence[TrialRecord],
    conclusion: Conclusion,
    base: float,
    raw: Mapping[Path, Sources],
) -> Table:
    """
    Return what became of the recipes that a space knows, which were tried first.

    Args:
        base: The baseline's objective in the search.
        raw: The files of each trial, by its folder.
    """
    rows: list[Row] = []
    for one in became(space, trials, conclusion):
        found = trial(one.record, space, base) if one.record else {}
        row: Row = {"recipe": one.name, "trial": str(one.record.number) if one.record else ""}
        row |= {column: found.get(column, "") for column in ("outcome", "objective", "change", "gate")}
        rows.append(row | {"verdict": one.verdict, RAW: raw[one.record.folder] if one.record else ""})
    return frame(rows)


@dataclass(frozen=True, slots=True)
class Became:
    """
    A recipe that a space knows, and what became of it.

    Attributes:
        record: Its trial; None where it was not tried.
        verdict: In words, by confirmed numbers only.
    """

    name: str
    record: TrialRecord | None
    verdict: str


def became(space: SearchSpace, trials: Sequence[TrialRecord], conclusion: Conclusion) -> tuple[Became, ...]:
    """Return what became of the recipes that a space knows."""
    last = {resolve(space, record.config).fingerprint: record for record in trials}
    start = last.get(resolve(space, space.baseline).fingerprint)
    tried = [(one.name, last.get(resolve(space, {**space.baseline, **one.set}).fingerprint)) for one in space.known]
    return tuple(
        Became(name, record, "the baseline" if record and record is start else _stands(record, conclusion))
        for name, record in tried
    )


def _stands(record: TrialRecord | None, conclusion: Conclusion) -> str:
    """Return what a trial came to, by confirmed numbers only."""
    if record is None:
        return "not tried"
    if conclusion.result == "win" and record.number == conclusion.winner.number:
        return "the winner"
    for standing in conclusion.standings:
        if standing.candidate.number == record.number:
            why = standing.dropped or standing.stopped
            return f"out: {why}" if why else f"confirmed: {standing.comparison.result}" if standing.comparison else ""
    if not isinstance(record.outcome, Measured):
        return "out: not measured"
    return f"not confirmed: {'another one looked faster in the search' if passed(record) else 'its gate is not passed'}"


def reference(told: Reference, recipe: Sequence[Measured], launched: Sequence[Measured]) -> Table:
    """
    Return a recipe beside another engine or a published figure, at each concurrency that both have.

    Args:
        recipe: Its fresh launches.
        launched: The reference's, in the same rounds; none where its figures are quoted.
    """
    own = rates(recipe, told.metric)
    other = told.figures or rates(launched, told.metric)
    where = f"quoted: {told.source}" if told.figures else f"measured here, {len(launched)} launches"
    return frame(
        [
            {
                "concurrency": str(at),
                f"recipe, {told.metric}": f"{own[at]:.2f}",
                f"{told.label}, {told.metric}": f"{other[at]:.2f}",
                f"recipe / {told.label}": f"{own[at] / other[at]:.2%}",
                "reference": where,
            }
            for at in own
            if at in other
        ]
    )


def rates(launches: Sequence[Measured], metric: str) -> dict[int, float]:
    """Return the geometric mean over launches at each concurrency."""
    ladder = [point.concurrency for point in launches[0].points] if launches else []
    return {
        at: math.exp(fmean(math.log(getattr(p, metric)) for one in launches for p in one.points if p.concurrency == at))
        for at in ladder
    }
