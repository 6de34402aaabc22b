"""The evidence pages in a real browser: on a desk and on a phone, by day and by night."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlparse

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from autotune.evidence import write
from autotune.evidence.comparison import write as write_comparison
from autotune.evidence.sweep import swept as read_sweep
from autotune.evidence.sweep import write_sweep
from tests.autotune.evidence.whole import apart, compared, swept, whole

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",  # containers often forbid the namespaces that it needs
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PLOTS = {"study": 4, "study taken apart": 5, "comparison": 0, "sweep": 1}
DESK, PHONE = 1280, 390
VIEWS = [
    ("study", DESK, "light"),
    ("study", DESK, "dark"),
    ("study", PHONE, "light"),
    ("study", 360, "dark"),
    *((name, width, scheme) for name in list(PLOTS)[1:] for width, scheme in ((DESK, "light"), (PHONE, "dark"))),
]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: `make browser` installs it")


@dataclass(frozen=True, slots=True)
class Opened:
    """A page, and what the browser complained of while it loaded."""

    name: str
    path: Path
    page: Page
    complaints: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a headless browser with a profile of its own."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Write the page of a whole study, of one that was taken apart, of a comparison and of a sweep."""
    study, ablated = whole(tmp_path_factory.mktemp("whole")), apart(tmp_path_factory.mktemp("apart"))
    comparison, sweep = compared(tmp_path_factory.mktemp("compared")), swept(tmp_path_factory.mktemp("swept"))
    write(study)
    write(ablated)
    write_comparison(comparison)
    write_sweep(read_sweep(sweep))
    paths = (study.evidence_html, ablated.evidence_html, comparison.evidence[1], sweep / "sweep.html")
    return dict(zip(PLOTS, paths, strict=True))


@pytest.fixture(scope="module", params=VIEWS, ids=str)
def opened(request: pytest.FixtureRequest, browser: Browser, pages: Mapping[str, Path]) -> Iterator[Opened]:
    """Open a page at a width and in a scheme."""
    name, width, scheme = request.param
    with browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme) as context:
        page, complaints, requests = context.new_page(), list[str](), list[str]()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(error.message))
        page.on("requestfailed", lambda failed: complaints.append(failed.url))
        page.on("request", lambda sent: requests.append(sent.url))
        page.goto(pages[name].as_uri())
        yield Opened(name, pages[name], page, complaints, requests)


def test_the_browser_has_no_complaint_and_asks_for_nothing_else(opened: Opened) -> None:
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [opened.path.as_uri()]


def test_each_plot_is_drawn_once_as_wide_as_its_figure(opened: Opened) -> None:
    plots, figures = opened.page.locator("figure svg:visible").all(), opened.page.locator("figure").all()
    assert len(plots) == len(figures) == PLOTS[opened.name]
    for plot, figure in zip(plots, figures, strict=True):
        drawn, room = plot.bounding_box(), figure.bounding_box()
        assert drawn
        assert room
        assert drawn["width"] == pytest.approx(room["width"], abs=1)
        assert drawn["height"] > drawn["width"] / 2


def test_the_plots_are_of_the_readers_scheme(opened: Opened) -> None:
    scheme: Literal["dark", "light"] = opened.page.evaluate(
        "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"
    )
    shown = opened.page.locator("figure svg:visible").all()
    assert {plot.get_attribute("class") for plot in shown} <= {scheme}


def test_text_in_a_plot_can_be_read(opened: Opened) -> None:
    heights = opened.page.locator("figure svg:visible text").evaluate_all(
        "all => all.map(text => text.getBoundingClientRect().height)"
    )
    assert min(heights, default=9) >= 9


def test_nothing_sticks_out_sideways(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_table_that_is_wider_than_the_page_can_be_scrolled_and_hides_nothing(opened: Opened) -> None:
    hidden = opened.page.locator("table").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.parentElement.scrollWidth).length"
    )
    assert hidden == 0
    assert opened.page.locator("table").count() == opened.page.locator(".scroll > table").count() >= 3


def test_every_image_is_there(opened: Opened) -> None:
    assert opened.page.evaluate("[...document.images].filter(one => !one.naturalWidth).map(one => one.src)") == []


def test_every_link_leads_to_a_file(opened: Opened) -> None:
    links: list[str] = opened.page.evaluate("[...document.links].map(link => link.href)")
    assert len(links) > 20
    assert [link for link in links if not Path(unquote(urlparse(link).path)).is_file()] == []


def test_chinese_is_marked_as_chinese_and_comes_last(opened: Opened) -> None:
    part = opened.page.locator("section[lang=zh-CN]")
    assert part.locator("h2").inner_text() == "中文说明"
    assert part.locator("table").count() == 0
    assert opened.page.locator("main > :last-child").get_attribute("lang") == "zh-CN"


def test_what_is_missing_stands_out(browser: Browser, tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "confirm/00-A/requests.parquet").unlink()
    write(folder)
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.goto(folder.evidence_html.as_uri())
        marked = page.locator(".missing")
        assert marked.count() == 6  # the comparison's three rows, the users' two, the launch's own
        assert set(marked.all_inner_texts()) == {"missing: confirm/00-A/requests.parquet"}
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
