"""Tables of the evidence: each a function from what a study holds to a DataFrame. The only file that imports pandas."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias, assert_never
from urllib.parse import quote

import pandas as pd

from autotune import rounds
from autotune.compare import Ratio
from autotune.confirm import changes, passed, value
from autotune.evidence.raw import Sources
from autotune.folder import LaunchRecord, TrialRecord
from evals import Verdict, paired
from search_spaces import Scalar, SearchSpace, Workload
from trials.load.metrics import PointMetrics
from trials.outcome import Infeasible, Judgement, Lost, Measured, Outcome

Table: TypeAlias = pd.DataFrame
Row: TypeAlias = dict[str, str | int | Sources]
RAW = "raw data"
"""The column of where a row's numbers come from."""
PAIRED = "lost / won against baseline"
MOST = "lost at most (95 %)"


def percent(share: float | None) -> str:
    """Return a relative change as signed percent."""
    return "" if share is None else f"{share * 100:+.1f} %"


def interval(ratio: Ratio) -> str:
    """Return the ends of a ratio's interval."""
    return "" if ratio.low is None else f"{percent(ratio.low)} to {percent(ratio.high)}"


def shown(value: Scalar) -> str:
    """Return a knob's value as a user writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def changed(record: TrialRecord, space: SearchSpace) -> str:
    """Return what a trial does differently from the baseline, in one line."""
    return ", ".join(f"{knob}={shown(own)}" for knob, (_, own) in changes(record, space).items())


def differing_knobs(winner: TrialRecord, space: SearchSpace) -> Table:
    """Return the knobs in which the winner differs from the baseline."""
    rows = [
        {"knob": knob, "baseline": shown(base), "winner": shown(own), "note": space.knobs[knob].note or ""}
        for knob, (base, own) in changes(winner, space).items()
    ]
    return pd.DataFrame(rows, columns=["knob", "baseline", "winner", "note"])


def gate(judged: Sequence[tuple[str, Judgement]], raw: Sequence[Sources] = ()) -> Table:
    """
    Return every filter of named judgements: counts, how far it was asked, accuracy, its interval, the paired test.

    Args:
        raw: Where each judgement's answers are; none: there is no such column.
    """
    found = zip_longest(judged, raw)
    return frame([row for (name, judgement), own in found for row in _gate(name, judgement, own)])


def _gate(name: str, judgement: Judgement, raw: Sources | None) -> Iterator[Row]:
    verdict = judgement.verdict
    last: Row = {"verdict": verdict.result} if raw is None else {"verdict": verdict.result, RAW: raw}
    recipe: Row = {"recipe": name, "task": verdict.protocol.identity.task, "at once": str(judgement.concurrency)}
    recipe["asked"] = how(verdict)
    nothing: Row = {"filter": "none", "right": "nothing answered", "accuracy": "", "95 % interval": ""}
    if not verdict.filters:
        yield {**recipe, **nothing, PAIRED: "", MOST: "", **last}
    for each in verdict.filters:
        yield {
            **recipe,
            "filter": each.name,
            "right": f"{each.correct} of {each.answered}",
            "accuracy": f"{each.accuracy:.4f}",
            "95 % interval": f"{each.low:.4f} to {each.high:.4f}",
            PAIRED: f"{each.losses} / {each.wins}" if each.pairs else "",
            MOST: f"{each.most_lost:.2%}" if each.most_lost is not None else "",
            **last,
        }


def how(verdict: Verdict) -> str:
    """Return how many questions a verdict took, and why not more."""
    asked = f"{verdict.asked} of {verdict.total}"
    match verdict.reached:
        case "all":
            return asked
        case "certain":
            return f"{asked}: the rest can't change it"
        case "sequential":
            needed = "" if verdict.alpha is None else f", needs {1 / verdict.alpha:.3g}"
            return f"{asked}: e-value {verdict.e_value:.3g}{needed}"
        case _:
            assert_never(verdict.reached)


def power(judged: Sequence[tuple[str, Judgement]], margin: float | None) -> str:
    """Return what the paired test of the candidate can and can't show on so many questions; nothing without one."""
    held = [each for _, judgement in judged for each in judgement.verdict.filters if each.pairs]
    if not held or margin is None:
        return ""
    worst = max(held, key=lambda each: each.most_lost or 0.0)
    return f"{worst.name}: {paired.words(worst.losses, worst.wins, worst.pairs, margin)}."


def load(workload: Workload) -> str:
    """Return what is sent, in a sentence."""
    ladder = ", ".join(map(str, workload.concurrency))
    rate = workload.request_rate
    how = f"{rate:g} requests a second, at most" if rate else "closed loop at concurrency"
    return (
        f"{workload.shape.words}, range ratio {workload.range_ratio:g}; {how} {ladder}; warm-up in runs of "
        f"{workload.warmup_waves} requests a slot until two are alike, then {workload.waves} a slot, tail included; "
        f"the rates are medians of {workload.windows} windows of its steady stretch"
    )


def trials(records: Sequence[TrialRecord], space: SearchSpace, base: float, raw: Sequence[Sources] = ()) -> Table:
    """Return every trial of the search; what is not a measurement has no number."""
    rows: list[Row] = [{"trial": record.number, **trial(record, space, base)} for record in records]
    return frame(_with(rows, raw))


def sourced(table: Table, raw: Sequence[Sources]) -> Table:
    """Return a table with where the numbers of each row come from."""
    return table.assign(**{RAW: pd.Series(list(raw), dtype=object)})


def _with(rows: Sequence[Row], raw: Sequence[Sources]) -> list[Row]:
    return [{**row, RAW: own} for row, own in zip(rows, raw, strict=True)] if raw else list(rows)


def trial(record: TrialRecord, space: SearchSpace, base: float) -> Row:
    """Return what is said of one trial: what is not a measurement has no number."""
    row: Row = {
        "outcome": "",
        "objective": "",
        "change": "",
        "gate": "",
        "differs in": changed(record, space) or "baseline",
    }
    match record.outcome:
        case Measured() as measured:
            score = value(measured, space.objective)
            row |= {
                "outcome": ", ".join(_words(measured, passed=passed(record))),
                "objective": f"{score:.1f}",
                "change": percent(score / base - 1),
                "gate": gate_line(measured.verdict),
            }
        case Infeasible(failure=failure, reason=reason):
            row |= {"outcome": f"infeasible ({failure}): {reason}"}
        case Lost(reason=reason):
            row |= {"outcome": f"lost: {reason}"}
        case None:
            row |= {"outcome": "running"}
    return row


def _words(measured: Measured, *, passed: bool) -> Iterator[str]:
    yield "measured"
    if not passed:
        yield "gate not passed"
    if points := [f"{p.concurrency} ({drifted(p)})" for p in measured.points if not p.steady]:
        yield f"unsteady at {', '.join(points)}"
    if measured.ignored:
        yield f"not in effect: {', '.join(measured.ignored)}"


def drifted(point: PointMetrics) -> str:
    """Return by how much the last warm-up run of an unsteady point differed from the one before."""
    return "one warm-up run" if point.drift is None else f"drift {percent(point.drift)}"


def gate_line(verdict: Verdict | None) -> str:
    """Return a verdict in one line: the result, and the lowest filter with its interval."""
    if verdict is None:
        return ""
    if not verdict.filters:
        return verdict.result
    lowest = min(verdict.filters, key=lambda each: each.accuracy)
    figures = f"{lowest.accuracy:.3f} [{lowest.low:.3f}, {lowest.high:.3f}] of {lowest.answered}"
    return f"{verdict.result}: {figures}{', early' if verdict.reached == 'sequential' else ''}"


def launches(records: Sequence[LaunchRecord], space: SearchSpace, raw: Sequence[Sources] = ()) -> Table:
    """Return the confirmation's launches in the order they ran."""
    rows: list[Row] = [
        {
            "launch": record.number,
            "arm": f"{record.arm}: {rounds.name(record.arm, record.candidate)}",
            "objective": _objective(record, space),
            "outcome": ended(record.outcome),
        }
        for record in records
    ]
    return frame(_with(rows, raw))


def _objective(record: LaunchRecord, space: SearchSpace) -> str:
    return f"{value(record.outcome, space.objective):.1f}" if isinstance(record.outcome, Measured) else ""


def ended(outcome: Outcome | None) -> str:
    """Return what became of a launch; its gate is told apart."""
    match outcome:
        case Measured() as measured:
            return ", ".join(_words(measured, passed=True))
        case Infeasible(failure=failure, reason=reason):
            return f"infeasible ({failure}): {reason}"
        case Lost(reason=reason):
            return f"lost: {reason}"
        case None:
            return "running"
        case _:
            assert_never(outcome)


def frame(rows: Sequence[Row]) -> Table:
    """Return rows as a table: a cell is text, a number, or where its row's numbers come from."""
    return pd.DataFrame(rows)


def cells(table: Table) -> list[list[str | Sources]]:
    """Return a table's rows: text, and sources as they are."""
    return [[cell if isinstance(cell, Sources) else str(cell) for cell in row] for row in table.to_numpy().tolist()]


def markdown(table: Table) -> str:
    """Return a table as GitHub draws it."""
    lines: list[list[str | Sources]] = [list(table.columns), ["---"] * len(table.columns), *cells(table)]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def links(raw: Sources) -> str:
    """Return where numbers come from as Markdown."""
    there = [f"[{link.name}]({quote(link.href)})" for link in raw.links]
    return " ".join([*there, *(f"**missing: {path}**" for path in raw.missing)])


def plain(table: Table) -> str:
    """Return a table for a terminal."""
    return table.to_string(index=False, justify="left")


def _cell(cell: str | Sources) -> str:
    if isinstance(cell, Sources):
        return links(cell)
    return " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").splitlines())
