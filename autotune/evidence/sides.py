"""Two recipes side by side: what their launches measured at each concurrency, as rows of tables."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from autotune.compare import Comparison, Ratio
from autotune.evidence.raw import REQUESTS, Record, behind
from autotune.evidence.tables import RAW, Row, drifted, interval, percent
from autotune.evidence.verdicts import level
from trials.load.metrics import FullRun, PointMetrics
from trials.outcome import Measured

Arm = Sequence[Record]
Metric = Callable[[PointMetrics], float | None]

FULL_RUN: Mapping[str, Callable[[FullRun], float]] = {
    "total_tok_per_s_per_gpu": lambda run: run.tput_per_gpu,
    "output_tok_per_s_per_gpu": lambda run: run.output_tput_per_gpu,
}
"""What a full run calls the rate that a study maximises."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of what a user sees: a metric, how many digits it has, and what it is multiplied with."""

    name: str
    metric: Metric
    digits: int = 1
    factor: float = 1.0


FIGURES = (
    Figure("total tok/s/GPU", lambda point: point.total_tok_per_s_per_gpu),
    Figure("output tok/s/GPU", lambda point: point.output_tok_per_s_per_gpu),
    Figure("tok/s a user", lambda point: point.intvty),
    Figure("TTFT p50, ms", lambda point: point.ttft_ms.p50),
    Figure("TPOT p50, ms", lambda point: point.tpot_ms.p50, digits=2),
    Figure("E2EL p50, s", lambda point: point.e2el_ms.p50, digits=2, factor=1e-3),
    Figure("power, W", lambda point: point.power_w, digits=0),
    Figure("tok/s/W", lambda point: point.tok_per_s_per_watt, digits=2),
)


def throughput(
    comparison: Comparison, a: Arm, b: Arm, *, metric: str, root: Path, base: str = "baseline", name: str = "candidate"
) -> list[Row]:
    """
    Return baseline against candidate at each concurrency, and over the ladder: means over launches.

    Args:
        a: The launches that the comparison rests on, all measured; B's likewise.
        base: What A is called.
        name: What is held against it.
        metric: The rate that the study maximises, by its name in `PointMetrics`.
        root: Where the document is.
    """
    raw, names = behind(root, (*a, *b), REQUESTS), (base, name)
    levels: list[Row] = [
        {
            "concurrency": str(concurrency),
            **_rates(ratio, names),
            "verdict": level(comparison.verdicts[concurrency]),
            **_full_runs(names, _whole(a, metric, concurrency), _whole(b, metric, concurrency)),
            "steady": _steady((*a, *b), concurrency),
            RAW: raw,
        }
        for concurrency, ratio in comparison.levels.items()
    ]
    overall, ladder = comparison.overall, tuple(comparison.levels)
    last: Row = {
        "concurrency": "all, geometric mean",
        **_rates(overall, names),
        "verdict": comparison.result,
        **_full_runs(names, *(_mean([_whole(arm, metric, concurrency) for concurrency in ladder]) for arm in (a, b))),
        "steady": "",
        RAW: raw,
    }
    return [*levels, last]


def users(a: Arm, b: Arm, *, root: Path) -> list[Row]:
    """Return what a user sees of both at each concurrency, and what it costs: means over launches, and the change."""
    raw = behind(root, (*a, *b), REQUESTS)
    ladder = dict.fromkeys(point.concurrency for point in _points(a))
    told = [figure for figure in FIGURES if any(figure.metric(point) is not None for point in _points((*a, *b)))]
    return [
        {
            "concurrency": str(concurrency),
            **{figure.name: _both(figure, a, b, concurrency) for figure in told},
            RAW: raw,
        }
        for concurrency in ladder
    ]


def drifting(records: Arm) -> tuple[str, ...]:
    """Return the points of launches that were not steady, each with its launch and its drift."""
    return tuple(
        f"{point.concurrency} in {record.folder.name} ({drifted(point)})"
        for record in records
        for point in _points((record,))
        if not point.steady
    )


def _steady(records: Arm, concurrency: int) -> str:
    flags = [
        f"{record.folder.name}: {drifted(point)}"
        for record in records
        for point in _points((record,), concurrency)
        if not point.steady
    ]
    return f"UNSTEADY: {', '.join(flags)}" if flags else "yes"


def _rates(ratio: Ratio, names: tuple[str, str]) -> Row:
    base, name = names
    return {
        base: f"{ratio.a:.1f}",
        name: f"{ratio.b:.1f}",
        "change": percent(ratio.change),
        "99 % interval": interval(ratio),
    }


def _full_runs(names: tuple[str, str], a: float, b: float) -> Row:
    base, name = names
    return {f"full run: {base}": f"{a:.1f}", f"full run: {name}": f"{b:.1f}", "full run: change": percent(b / a - 1)}


def _whole(arm: Arm, metric: str, concurrency: int) -> float:
    """Return the geometric mean over launches of the full run's rate."""
    return _mean([FULL_RUN[metric](point.full_run) for point in _points(arm, concurrency)])


def _mean(values: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, values)))


def _both(figure: Figure, a: Arm, b: Arm, concurrency: int) -> str:
    """Return baseline / candidate and the change; a side that a tool did not tell of is empty."""
    means = [_told(figure, arm, concurrency) for arm in (a, b)]
    shown = " / ".join("" if mean is None else f"{mean * figure.factor:.{figure.digits}f}" for mean in means)
    before, after = means
    return f"{shown} ({percent(after / before - 1)})" if before and after is not None else shown


def _told(figure: Figure, arm: Arm, concurrency: int) -> float | None:
    values = [value for point in _points(arm, concurrency) if (value := figure.metric(point)) is not None]
    return fmean(values) if values else None


def _points(records: Arm, concurrency: int | None = None) -> Iterator[PointMetrics]:
    for record in records:
        if isinstance(record.outcome, Measured):
            yield from (p for p in record.outcome.points if concurrency in (None, p.concurrency))
