"""The evidence page in a real browser: on a desk and on a phone, by day and by night."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlparse

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from autotune.evidence import write
from tests.autotune.evidence.whole import whole

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

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: `make browser` installs it")


@dataclass(frozen=True, slots=True)
class Opened:
    """A page, and what the browser complained of while it loaded."""

    page: Page
    complaints: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a headless browser with a profile of its own."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as started:
        yield started


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of a whole study."""
    folder = whole(tmp_path_factory.mktemp("evidence"))
    write(folder)
    return folder.evidence_html


@pytest.fixture(scope="module", params=[(1280, "light"), (1280, "dark"), (390, "light"), (360, "dark")], ids=str)
def opened(request: pytest.FixtureRequest, browser: Browser, evidence: Path) -> Iterator[Opened]:
    """Open the page at a width and in a scheme."""
    width, scheme = request.param
    with browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme) as context:
        page, complaints, requests = context.new_page(), list[str](), list[str]()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(error.message))
        page.on("requestfailed", lambda failed: complaints.append(failed.url))
        page.on("request", lambda sent: requests.append(sent.url))
        page.goto(evidence.as_uri())
        yield Opened(page, complaints, requests)


def test_the_browser_has_no_complaint_and_asks_for_nothing_else(opened: Opened, evidence: Path) -> None:
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [evidence.as_uri()]


def test_each_plot_is_drawn_once_as_wide_as_its_figure(opened: Opened) -> None:
    plots, figures = opened.page.locator("figure svg:visible").all(), opened.page.locator("figure").all()
    assert len(plots) == len(figures) == 3
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
    assert {plot.get_attribute("class") for plot in shown} == {scheme}


def test_text_in_a_plot_can_be_read(opened: Opened) -> None:
    heights = opened.page.locator("figure svg:visible text").evaluate_all(
        "all => all.map(text => text.getBoundingClientRect().height)"
    )
    assert min(heights) >= 9


def test_nothing_sticks_out_sideways(opened: Opened) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_every_link_leads_to_a_file(opened: Opened) -> None:
    links: list[str] = opened.page.evaluate("[...document.links].map(link => link.href)")
    assert len(links) > 40
    assert [link for link in links if not Path(unquote(urlparse(link).path)).is_file()] == []
