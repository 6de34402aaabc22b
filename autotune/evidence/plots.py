"""Plots: from what a study holds to SVG and PNG, the same bytes each time. The only file that imports matplotlib."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, TypeAlias

from autotune.evidence import series
from autotune.evidence.evidence import Evidence
from autotune.evidence.series import Accumulation, Curve, Efficiency, Kind, Spot, Step
from autotune.pooled import Change

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN, HEIGHT_IN, DPI = 5.0, 4.0, 200  # 360 points wide: text keeps its size on a phone
SMALL = 9.0  # points: legible still where a phone shrinks the plot by a tenth
BESIDE = 0.015  # of the width between intervals that end at the same question
Canvas: TypeAlias = "Axes"  # for plots that are drawn by other files
SETTLED = 16  # questions after which a running share says anything

METRICS = {
    "total_tok_per_s_per_gpu": "input + output tok/s/GPU",
    "output_tok_per_s_per_gpu": "output tok/s/GPU",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Colours of a plot; those of the recipes are Okabe and Ito's, which the colour-blind tell apart."""

    name: str
    paper: str
    ink: str
    faint: str
    baseline: str
    candidate: str
    bad: str


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1f2328",
    faint="#8c959f",
    baseline="#0072b2",
    candidate="#d55e00",
    bad="#a83279",
)
DARK = Theme(
    name="dark",
    paper="#0d1117",
    ink="#e6edf3",
    faint="#7d8590",
    baseline="#56b4e9",
    candidate="#e69f00",
    bad="#e58fc1",
)


@dataclass(frozen=True, slots=True)
class Look:
    """How one recipe is drawn: never told apart by colour alone."""

    colour: str
    marker: str
    line: str


def looks(theme: Theme) -> tuple[Look, ...]:
    """Return the looks of the baseline and of up to three candidates, in their order."""
    return (
        Look(theme.baseline, "o", "-"),
        Look(theme.candidate, "s", "--"),
        Look(theme.candidate, "D", ":"),
        Look(theme.candidate, "P", "-."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """
    A plot that can be drawn in any theme.

    Attributes:
        name: Of its files.
        says: What is to be seen, for those who can't see it and as its caption.
    """

    name: str
    title: str
    says: str
    draw: Callable[["Axes", Theme], None]


def plots(found: Evidence) -> tuple[Plot, ...]:
    """Return the plots for which the study holds something."""
    metric = METRICS[found.space.objective.metric]
    return tuple(
        replace(plot, title=f"{found.mark}{plot.title}")
        for plot in (
            _interactivity_of(found, metric),
            _search_of(found, metric),
            _gate_of(found),
            _ablation_of(found),
            _power_of(found),
        )
        if plot
    )


def svg(plot: Plot, theme: Theme = LIGHT) -> str:
    """Return a plot as an SVG document whose ids are its own, so that several can stand in one page."""
    drawn = _saved(plot, theme, "svg").decode()
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{plot.name}-{theme.name}-", drawn)


def png(plot: Plot, theme: Theme = LIGHT) -> bytes:
    """Return a plot as a PNG of `WIDTH_IN` by `HEIGHT_IN` at `DPI`."""
    return _saved(plot, theme, "png")


def _saved(plot: Plot, theme: Theme, form: str) -> bytes:
    """Draw and save with nothing of the user's own settings, and without the date and the program's version."""
    from matplotlib import style  # noqa: PLC0415 it takes a third of a second to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    nobody: Mapping[str, None] = dict.fromkeys(["Creator", "Date", "Format", "Type"] if form == "svg" else ["Software"])
    buffer = io.BytesIO()
    with style.context(_settings(theme), after_reset=True):
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes = figure.add_subplot()
        figure.suptitle(plot.title, x=0.01, ha="left", fontsize="medium", fontweight="bold")
        plot.draw(axes, theme)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower left", ncols=2)
        figure.savefig(buffer, format=form, dpi=DPI, metadata=nobody)
    return buffer.getvalue()


def _settings(theme: Theme) -> dict[str, object]:
    return {
        "axes.edgecolor": theme.faint,
        "axes.facecolor": theme.paper,
        "axes.grid": True,
        "axes.labelcolor": theme.ink,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.facecolor": theme.paper,
        "font.size": 9.5,
        "grid.alpha": 0.3,
        "grid.color": theme.faint,
        "grid.linewidth": 0.5,
        "legend.frameon": False,
        "legend.fontsize": SMALL,
        "lines.linewidth": 1.5,
        "lines.markersize": 6.0,
        "savefig.facecolor": theme.paper,
        "svg.fonttype": "none",
        "svg.hashsalt": "autotune",
        "text.color": theme.ink,
        "text.parse_math": False,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
    }


# --- throughput against interactivity -------------------------------------------------------------------------------


def _interactivity_of(found: Evidence, metric: str) -> Plot:
    return Plot(
        name="interactivity",
        title="Throughput per GPU against interactivity",
        says="Up and to the right is better; the numbers are concurrencies. Small marks are single launches, lines "
        "their geometric means; grey are the trials of the search that passed their gate.",
        draw=partial(_interactivity, series.curves(found), series.searched(found), metric),
    )


def _interactivity(
    curves: Sequence[Curve], searched: Sequence[Sequence[Spot]], metric: str, axes: "Axes", theme: Theme
) -> None:
    for number, spots in enumerate(searched):
        label = "search" if number == 0 else None
        axes.plot(*_places(spots), color=theme.faint, marker=".", linewidth=0.7, alpha=0.4, label=label, zorder=1)
    for curve, look, side in zip(curves, looks(theme), (-1, 1), strict=False):
        for run in curve.runs:
            axes.plot(*_places(run), color=look.colour, marker=look.marker, linestyle="", markersize=3.5, alpha=0.5)
        axes.plot(
            *_places(curve.means),
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            label=curve.name,
            zorder=3,
        )
        for spot in curve.means:
            axes.annotate(
                str(spot.concurrency),
                (spot.interactivity, spot.throughput),
                xytext=(8 * side, 8 * side),
                textcoords="offset points",
                ha="center",
                va="center",
                color=look.colour,
                fontsize=SMALL,
            )
    axes.margins(0.1)
    axes.set_xlabel("interactivity, tok/s a user")
    axes.set_ylabel(f"throughput, {metric}")


def _places(spots: Sequence[Spot]) -> tuple[list[float], list[float]]:
    return [spot.interactivity for spot in spots], [spot.throughput for spot in spots]


# --- search progress ------------------------------------------------------------------------------------------------


def _search_of(found: Evidence, metric: str) -> Plot:
    return Plot(
        name="search",
        title="Search progress",
        says="The objective of each trial in order, and the best until then of those that passed their gate. "
        "Trials without a measurement stand at the foot.",
        draw=partial(_search, series.steps(found), found.score, metric),
    )


def _search(steps: Sequence[Step], baseline: float, metric: str, axes: "Axes", theme: Theme) -> None:
    marks: dict[Kind, tuple[str, str]] = {
        "passed": ("o", theme.ink),
        "gate not passed": ("X", theme.bad),
        "infeasible": ("v", theme.bad),
        "lost": ("|", theme.ink),
    }
    axes.axhline(baseline, color=theme.baseline, linestyle="--", label="baseline", zorder=2)
    best = series.best_so_far(steps)
    if best:
        axes.step(*zip(*best, strict=True), where="post", color=theme.candidate, label="best so far", zorder=1)
    for kind, (marker, colour) in marks.items():
        own = [step for step in steps if step.kind == kind]
        if not own:
            continue
        numbers, values = [step.number for step in own], [step.value for step in own if step.value is not None]
        if values:
            axes.plot(numbers, values, marker=marker, color=colour, linestyle="", label=kind, zorder=3)
        else:  # at the foot, whatever the scale
            foot = axes.get_xaxis_transform()
            axes.plot(numbers, [0.03] * len(own), marker, color=colour, label=kind, transform=foot, zorder=3)
    axes.margins(y=0.15)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("trial, in the order proposed")
    axes.set_ylabel(f"objective, {metric}")


# --- the gate -------------------------------------------------------------------------------------------------------


def _gate_of(found: Evidence) -> Plot | None:
    if not (gates := series.accumulations(found)):
        return None
    return Plot(
        name="gate",
        title=f"Gate: {', '.join(gate.task for gate in found.space.gates)}",
        says="Share of right answers after so many questions, in the order asked, on each recipe's lowest "
        "filter; bars at the end are 95 % intervals.",
        draw=partial(_gate, gates),
    )


def _gate(gates: Sequence[Accumulation], axes: "Axes", theme: Theme) -> None:
    thresholds = sorted({gate.threshold for gate in gates})
    for threshold in thresholds:
        axes.axhline(threshold, color=theme.ink, linestyle=":", linewidth=1.2, label=f"threshold {threshold:g}")
    recipes = dict.fromkeys(gate.name for gate in gates if gate.confirmed)
    confirmed = dict(zip(recipes, cycle(looks(theme)), strict=False))
    named: set[str] = set()
    for number, gate in enumerate(gates):
        name = gate.name if gate.confirmed else "search, gate not passed"
        look = confirmed[name] if gate.confirmed else Look(theme.bad, "X", "-.")
        asked, shares = zip(*gate.shares, strict=True)
        label = None if name in named else name
        named.add(name)
        axes.plot(asked, shares, color=look.colour, linestyle=look.line, linewidth=1.2)
        axes.errorbar(
            asked[-1] * (1 + BESIDE * number if gate.confirmed else 1),
            shares[-1],
            yerr=[[max(0.0, shares[-1] - gate.low)], [max(0.0, gate.high - shares[-1])]],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            capsize=3,
            label=label,
        )
    settled = [share for gate in gates for asked, share in gate.shares if asked >= SETTLED]
    axes.set_ylim(max(0.0, min([*thresholds, *(gate.low for gate in gates), *settled]) - 0.02), 1.01)
    axes.set_xlabel("questions asked")
    axes.set_ylabel("share of right answers")


# --- power ----------------------------------------------------------------------------------------------------------


def _power_of(found: Evidence) -> Plot | None:
    if not (powers := series.efficiencies(found)):
        return None
    return Plot(
        name="power",
        title="Throughput a watt",
        says="Input + output tok/s of the whole measured run over the mean power of all the GPUs, which stands "
        "above the bars; means over fresh launches.",
        draw=partial(_power, powers),
    )


def _power(powers: Sequence[Efficiency], axes: "Axes", theme: Theme) -> None:
    ladder = list(dict.fromkeys(concurrency for each in powers for concurrency in each.watts))
    width = 0.8 / len(powers)
    for number, (each, look) in enumerate(zip(powers, looks(theme), strict=False)):
        places = [ladder.index(concurrency) + width * (number - (len(powers) - 1) / 2) for concurrency in each.watts]
        hatch = "//" if number else None  # never told apart by colour alone
        bars = axes.bar(places, list(each.per_watt.values()), width, color=look.colour, hatch=hatch, label=each.name)
        axes.bar_label(bars, [f"{watts:.0f} W" for watts in each.watts.values()], fontsize=SMALL, padding=2)
    axes.set_xticks(range(len(ladder)), list(map(str, ladder)))
    axes.margins(y=0.12)
    axes.set_xlabel("concurrency")
    axes.set_ylabel("tok/s a watt")


# --- ablation -------------------------------------------------------------------------------------------------------


def _ablation_of(found: Evidence) -> Plot | None:
    if not (settings := series.ablated(found)):
        return None
    return Plot(
        name="ablation",
        title="Ablation",
        says="How each setting changes the objective of the recipe it is made from, with its interval; hatched "
        "what is within noise or undecided.",
        draw=partial(_ablation, settings),
    )


def _ablation(settings: Sequence[tuple[str, Change]], axes: "Axes", theme: Theme) -> None:
    for place, (_, change) in enumerate(settings):
        clear = change.said in {"more", "less"}
        bar = axes.barh(place, 100 * change.estimate, color=theme.candidate if clear else theme.faint)
        bar[0].set_hatch("" if clear else "//")
        if change.low is not None and change.high is not None:
            half = [[100 * (change.estimate - change.low)], [100 * (change.high - change.estimate)]]
            axes.errorbar(100 * change.estimate, place, xerr=half, color=theme.ink, capsize=3)
    axes.axvline(0.0, color=theme.ink, linewidth=1.0)
    axes.set_yticks(range(len(settings)), [words for words, _ in settings])
    axes.invert_yaxis()
    axes.set_xlabel("change, percent")
