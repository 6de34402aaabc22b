"""Tables of the evidence: each a function from what a study holds to a DataFrame. The only file that imports pandas."""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from autotune.compare import Comparison, Ratio
from autotune.confirm import Standing, changes, passed, value
from autotune.folder import LaunchRecord, TrialRecord
from evals import Verdict, paired
from search_spaces import Scalar, SearchSpace, Workload
from trials.load.metrics import PointMetrics
from trials.outcome import Infeasible, Judgement, Lost, Measured

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


def differing_knobs(winner: TrialRecord, space: SearchSpace) -> pd.DataFrame:
    """Return the knobs in which the winner differs from the baseline."""
    rows = [
        {"knob": knob, "baseline": shown(base), "winner": shown(own), "note": space.knobs[knob].note or ""}
        for knob, (base, own) in changes(winner, space).items()
    ]
    return pd.DataFrame(rows, columns=["knob", "baseline", "winner", "note"])


def side_by_side(standing: Standing, comparison: Comparison) -> pd.DataFrame:
    """Return baseline against candidate at each concurrency, and over the ladder: means over launches."""
    rows = [
        {
            "concurrency": str(concurrency),
            "baseline": f"{ratio.a:.1f}",
            "candidate": f"{ratio.b:.1f}",
            "change": percent(ratio.change),
            "99 % interval": interval(ratio),
            "TTFT p50, ms": _pair(standing, concurrency, lambda point: point.ttft_ms.p50),
            "TPOT p50, ms": _pair(standing, concurrency, lambda point: point.tpot_ms.p50),
        }
        for concurrency, ratio in comparison.levels.items()
    ]
    overall = comparison.overall
    rows.append(
        {
            "concurrency": "all, geometric mean",
            "baseline": f"{overall.a:.1f}",
            "candidate": f"{overall.b:.1f}",
            "change": percent(overall.change),
            "99 % interval": interval(overall),
            "TTFT p50, ms": "",
            "TPOT p50, ms": "",
        }
    )
    return pd.DataFrame(rows)


def _pair(standing: Standing, concurrency: int, metric: Callable[[PointMetrics], float]) -> str:
    def mean(arm: Sequence[Measured]) -> float:
        return float(pd.Series([metric(p) for one in arm for p in one.points if p.concurrency == concurrency]).mean())

    launches = min(len(standing.a), len(standing.b))  # as many of each, as in the comparison
    return f"{mean(standing.a[:launches]):.1f} / {mean(standing.b[:launches]):.1f}"


def gate(judged: Sequence[tuple[str, Judgement]]) -> pd.DataFrame:
    """Return every filter of named judgements: counts, accuracy, its interval, and the paired test."""
    return pd.DataFrame([row for name, judgement in judged for row in _gate(name, judgement)])


def _gate(name: str, judgement: Judgement) -> Iterator[dict[str, str]]:
    verdict = judgement.verdict
    asked = {"recipe": name, "task": verdict.protocol.identity.task, "at once": str(judgement.concurrency)}
    nothing = {"filter": "none", "right": "nothing answered", "accuracy": "", "95 % interval": "", PAIRED: "", MOST: ""}
    if not verdict.filters:
        yield {**asked, **nothing, "verdict": verdict.result}
    for each in verdict.filters:
        yield {
            **asked,
            "filter": each.name,
            "right": f"{each.correct} of {each.answered}",
            "accuracy": f"{each.accuracy:.3f}",
            "95 % interval": f"{each.low:.3f} to {each.high:.3f}",
            PAIRED: f"{each.losses} / {each.wins}" if each.pairs else "",
            MOST: f"{each.most_lost:.2%}" if each.most_lost is not None else "",
            "verdict": verdict.result,
        }


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


def trials(records: Sequence[TrialRecord], space: SearchSpace, base: float) -> pd.DataFrame:
    """Return every trial of the search; what is not a measurement has no number."""
    return pd.DataFrame([{"trial": record.number, **_trial(record, space, base)} for record in records])


def _trial(record: TrialRecord, space: SearchSpace, base: float) -> dict[str, str]:
    row = {"outcome": "", "objective": "", "change": "", "gate": "", "differs in": changed(record, space) or "baseline"}
    match record.outcome:
        case Measured() as measured:
            score = value(measured, space.objective)
            row |= {
                "outcome": "measured" if passed(record) else "measured, gate not passed",
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


def gate_line(verdict: Verdict | None) -> str:
    """Return a verdict in one line: the result, and the lowest filter with its interval."""
    if verdict is None:
        return ""
    if not verdict.filters:
        return verdict.result
    lowest = min(verdict.filters, key=lambda each: each.accuracy)
    figures = f"{lowest.accuracy:.3f} [{lowest.low:.3f}, {lowest.high:.3f}] of {lowest.answered}"
    return f"{verdict.result}: {figures}{', early' if verdict.reached == 'sequential' else ''}"


def launches(records: Sequence[LaunchRecord], space: SearchSpace) -> pd.DataFrame:
    """Return the confirmation's launches in the order they ran."""
    return pd.DataFrame(
        [
            {
                "launch": record.number,
                "arm": f"{record.arm}: " + ("baseline" if record.arm == "A" else f"trial {record.candidate}"),
                "objective": f"{value(record.outcome, space.objective):.1f}"
                if isinstance(record.outcome, Measured)
                else "",
                "outcome": record.outcome.kind if record.outcome else "running",
                "raw data": f"confirm/{record.folder.name}/",
            }
            for record in records
        ]
    )


def rows(frame: pd.DataFrame) -> list[list[str]]:
    """Return a table's rows as text."""
    return [[str(cell) for cell in row] for row in frame.to_numpy().tolist()]


def markdown(frame: pd.DataFrame) -> str:
    """Return a table as GitHub draws it."""
    lines = [list(frame.columns), ["---"] * len(frame.columns), *rows(frame)]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def plain(frame: pd.DataFrame) -> str:
    """Return a table for a terminal."""
    return frame.to_string(index=False, justify="left")


def _cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").splitlines())
