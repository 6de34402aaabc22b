"""The page: the verdict first, everything in it, nothing from elsewhere, and no word of an engine becomes a tag."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autotune.evidence import gather, write
from autotune.folder import StudyFolder
from tests.autotune.evidence.whole import ENDED, RAW, WORDS, to_html, whole

VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Page(HTMLParser):
    """A page as a browser reads it: its elements in order, and the text in each kind of them."""

    text: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read it."""
        super().__init__()
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Leave an element; they are closed in the order in which they were opened."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text."""
        if self.open and data.strip():
            self.words.setdefault(self.open[-1], []).append(" ".join(data.split()))

    def attributes(self, tag: str, name: str) -> list[str]:
        """Return an attribute of every element of a kind that has it."""
        return [value for kind, own in self.elements if kind == tag and (value := own.get(name)) is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """Return a whole study with its evidence."""
    made = whole(tmp_path_factory.mktemp("whole"))
    write(made)
    return made


@pytest.fixture(scope="module")
def page(folder: StudyFolder) -> Page:
    """Return its page."""
    return Page(folder.evidence_html.read_text(encoding="utf-8"))


def test_the_verdict_comes_first(page: Page) -> None:
    body = page.text[page.text.index("<body>") :]
    first = re.sub(r"<[^>]+>", "", body).strip().splitlines()[0]
    assert first == "Win: trial 1 is faster than the baseline, and passes its gate."
    assert page.words["h1"] == [first]


def test_it_has_the_sections_of_the_markdown_in_its_order(folder: StudyFolder, page: Page) -> None:
    headings = re.findall(r"^## (.+)$", folder.evidence_md.read_text(encoding="utf-8"), re.MULTILINE)
    assert page.words["h2"] == headings
    assert len(headings) == 13
    assert headings[-1] == "中文说明"


def test_it_has_the_tables_of_the_markdown(folder: StudyFolder, page: Page) -> None:
    lines = folder.evidence_md.read_text(encoding="utf-8").splitlines()
    heads = [lines[n - 1] for n, line in enumerate(lines) if line.startswith("| ---")]
    columns = [name.strip() for head in heads for name in head.strip("|").split("|")]
    assert page.words["th"] == columns
    assert {"141.7", "+12.0 %", "cache=q8_0", "A: baseline", "B: trial 1"} <= set(page.words["td"])


def test_it_has_a_title_a_language_and_knows_both_schemes(page: Page) -> None:
    assert page.words["title"] == ["one: evidence"]
    assert page.attributes("html", "lang") == ["en"]
    assert {"width=device-width, initial-scale=1", "light dark"} <= set(page.attributes("meta", "content"))
    assert "@media (prefers-color-scheme: dark)" in page.text


def test_every_plot_is_there_light_and_dark_and_named_for_those_who_cannot_see_it(page: Page) -> None:
    assert page.attributes("svg", "class") == ["light", "dark"] * 4
    assert page.attributes("svg", "role") == ["img"] * 8
    assert [label.split(".")[0] for label in page.attributes("svg", "aria-label")[::2]] == [
        "Throughput per GPU against interactivity",
        "Search progress",
        "Gate: sums",
        "Throughput a watt",
    ]


def test_it_fetches_nothing_and_runs_nothing(page: Page) -> None:
    assert {tag for tag, _ in page.elements} & {"script", "img", "iframe", "object", "embed"} == set()
    assert page.attributes("link", "href") == ["data:,"]  # else a browser asks for an icon
    assert [tag for tag, own in page.elements if "src" in own] == []
    assert re.findall(r"url\((?!#)|@import|\bon\w+=", page.text) == []


def test_an_engines_words_are_words(page: Page) -> None:
    assert "<script" not in page.text
    assert f"infeasible (memory): {WORDS} [redacted]" in page.words["div"]


def test_every_link_leads_to_a_file_of_the_study(folder: StudyFolder, page: Page) -> None:
    links = page.attributes("a", "href")
    assert [link for link in links if not (folder.root / link).resolve().is_relative_to(folder.root.resolve())] == []
    assert [link for link in links if not (folder.root / link).is_file()] == []


def test_the_raw_files_of_every_trial_and_launch_are_linked(page: Page) -> None:
    links = set(page.attributes("a", "href"))
    for made in ("trials/0000", "trials/0001", "trials/0004", "trials/0005", "confirm/00-A", "confirm/05-A"):
        assert {f"{made}/{name}" for name in (*RAW, "outcome.json")} <= links
    assert {link for link in links if link.startswith("trials/0002")} == {
        f"trials/0002/{name}" for name in (*RAW[:2], "effective.json", "machine.json", "outcome.json")
    }
    assert {"recipe.yaml", "evidence.json", "study.json", "space/small.yaml"} <= links


def test_it_is_the_same_bytes_each_time(folder: StudyFolder) -> None:
    assert to_html(gather(folder)) == to_html(gather(folder)) == folder.evidence_html.read_text(encoding="utf-8")


def test_it_says_when_the_study_was_finished(page: Page) -> None:
    assert any(f"finished {ENDED}" in said for said in page.words["div"])


def test_the_chinese_part_says_so_to_a_screen_reader(page: Page) -> None:
    assert page.attributes("section", "lang") == ["zh-CN"]


def test_a_point_that_was_not_steady_is_flagged_with_its_launch_and_drift(page: Page) -> None:
    assert "UNSTEADY: 05-A: drift +3.1 %" in page.words["td"] + page.words["div"]


def test_a_raw_file_that_is_gone_is_marked_in_its_rows(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "confirm/00-A/engine.log").unlink()
    page = Page(to_html(gather(folder)))
    assert page.attributes("span", "class") == ["missing"]
    assert page.words["span"] == ["missing: confirm/00-A/engine.log"]


def test_a_study_that_is_not_finished_is_marked_first_and_promises_nothing(tmp_path: Path) -> None:
    folder = whole(tmp_path, finished=False)
    page = Page(to_html(gather(folder)))
    assert page.words["h1"] == ["Not finished, no verdict yet. Trials that ended: 6; launches of the confirmation: 6."]
    assert page.words["title"] == ["one: evidence, not finished"]
    assert {"What the winner changes", "Run it"} & set(page.words["h2"]) == set()
    assert "recipe.yaml" not in page.attributes("a", "href")


def test_after_the_baseline_alone_there_is_a_page(tmp_path: Path) -> None:
    folder = whole(tmp_path, finished=False)
    for path in [
        *(folder.root / "confirm").glob("*/launch.json"),
        *(folder.root / "trials").glob("000[1-5]/trial.json"),
    ]:
        path.unlink()
    page = Page(to_html(gather(folder)))
    assert page.words["h1"] == ["Not finished, no verdict yet. Trials that ended: 1; launches of the confirmation: 0."]
    headings = ["Plots", "All trials of the search", "What the engine says that it runs", "Provenance", "Not measured"]
    assert page.words["h2"] == [*headings, "中文说明"]
