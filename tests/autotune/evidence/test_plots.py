"""Plots: the same bytes each time, of the stated size, with what they show in words and in marks, not colour alone."""

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import rc_context

from autotune.evidence import gather, series
from autotune.evidence.plots import DARK, DPI, HEIGHT_IN, LIGHT, WIDTH_IN, Plot, Theme, looks, plots, png, svg
from tests.autotune.evidence.whole import whole
from tests.autotune.studies import LOST
from trials import outcome as outcomes

NAMES = ["interactivity", "search", "gate", "power"]


@pytest.fixture
def drawn(tmp_path: Path) -> dict[str, Plot]:
    """Return the plots of a whole study by name."""
    return {plot.name: plot for plot in plots(gather(whole(tmp_path)))}


def words(plot: Plot, theme: Theme = LIGHT) -> str:
    """Return the text in a plot."""
    return "\n".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg(plot, theme)))


def test_a_whole_study_has_every_plot(drawn: dict[str, Plot]) -> None:
    assert list(drawn) == NAMES


def test_without_launches_and_a_judged_gate_there_are_two(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for path in (folder.root / "confirm").glob("*/launch.json"):
        path.unlink()
    outcomes.write(folder.root / "trials/0004/outcome.json", LOST)
    assert [plot.name for plot in plots(gather(folder))] == NAMES[:2]


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_is_the_same_bytes_each_time(drawn: dict[str, Plot], name: str) -> None:
    plot = drawn[name]
    assert (svg(plot), svg(plot, DARK), png(plot)) == (svg(plot), svg(plot, DARK), png(plot))


@pytest.mark.parametrize("name", NAMES)
def test_a_png_is_one_of_the_stated_size(drawn: dict[str, Plot], name: str) -> None:
    image = png(drawn[name])
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", image[16:24]) == (WIDTH_IN * DPI, HEIGHT_IN * DPI)


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_says_neither_when_nor_with_what_it_was_drawn(drawn: dict[str, Plot], name: str) -> None:
    assert "<metadata>" not in svg(drawn[name])
    assert b"matplotlib" not in png(drawn[name]).lower()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("interactivity", ["interactivity, tok/s a user", "throughput, input + output tok/s/GPU", "search"]),
        ("interactivity", ["baseline, 3 fresh launches", "trial 1, 3 fresh launches"]),
        ("search", ["trial, in the order proposed", "objective, input + output tok/s/GPU"]),
        ("search", ["baseline", "best so far", "passed", "gate not passed", "infeasible", "lost"]),
        ("gate", ["questions asked", "share of right answers", "threshold 0.97"]),
        ("gate", ["baseline", "trial 1", "search, gate not passed"]),
    ],
)
def test_axes_have_units_and_every_mark_a_name(drawn: dict[str, Plot], name: str, said: list[str]) -> None:
    shown = words(drawn[name]).splitlines()
    assert [word for word in said if word not in shown] == []


def test_points_are_named_by_their_concurrency(drawn: dict[str, Plot]) -> None:
    drawings = svg(drawn["interactivity"])
    for colour in (LIGHT.baseline, LIGHT.candidate):
        assert re.findall(rf"<text[^>]*fill: {colour}[^>]*>(\d+)</text>", drawings) == ["1", "2"]


def test_recipes_are_told_apart_by_mark_and_line_too() -> None:
    drawn_as = looks(LIGHT)
    assert len({look.marker for look in drawn_as}) == len({look.line for look in drawn_as}) == len(drawn_as)


@pytest.mark.parametrize("name", NAMES)
def test_a_dark_plot_says_the_same_on_other_paper(drawn: dict[str, Plot], name: str) -> None:
    assert words(drawn[name], DARK) == words(drawn[name])
    assert (LIGHT.paper in svg(drawn[name], DARK), DARK.paper in svg(drawn[name], DARK)) == (False, True)


def test_ids_differ_between_the_plots_of_a_page(drawn: dict[str, Plot]) -> None:
    every = [one for plot in drawn.values() for theme in (LIGHT, DARK) for one in ids(svg(plot, theme))]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_in_a_plot_finds_its_mark(drawn: dict[str, Plot], name: str) -> None:
    document = svg(drawn[name])
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', document)) <= set(ids(document))


def ids(document: str) -> list[str]:
    """Return the ids in a document."""
    return re.findall(r'\bid="([^"]+)"', document)


def test_words_in_a_plot_are_words(drawn: dict[str, Plot]) -> None:
    document = svg(replace(drawn["search"], title="<script>alert(1)</script> $x$"))
    assert "<script" not in document
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $x$" in document


def test_a_users_own_settings_of_matplotlib_change_nothing(drawn: dict[str, Plot]) -> None:
    before = svg(drawn["search"])
    with rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert svg(drawn["search"]) == before


def test_power_is_told_by_recipe_and_concurrency_and_not_by_colour_alone(drawn: dict[str, Plot]) -> None:
    assert {"baseline", "trial 1", "710 W", "720 W"} <= set(words(drawn["power"]).splitlines())
    assert "<pattern" in svg(drawn["power"])  # hatched


def test_without_power_there_is_no_plot_of_it(tmp_path: Path) -> None:
    found = gather(whole(tmp_path))
    assert found.standing
    dark = [replace(one, points=tuple(replace(p, power_w=None) for p in one.points)) for one in found.standing.a]
    assert series._efficiency("baseline", dark).watts == {}
