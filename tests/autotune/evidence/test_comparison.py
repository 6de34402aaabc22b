"""The evidence of a comparison: every number with its file, the same bytes each time."""

import json
from pathlib import Path

import pytest

from autotune.campaign import campaign
from autotune.comparisons import ComparisonFolder, Rules
from autotune.evidence.cells import Cell, markdown
from autotune.evidence.comparison import gather, write
from search_spaces import SearchSpace
from tests.autotune.comparing import Told, begun, leave_raw_files, rates
from tests.autotune.studies import LOST, MEMORY
from trials.outcome import Infeasible


@pytest.fixture
def folder(tmp_path: Path, small: SearchSpace) -> ComparisonFolder:
    """Return a comparison of five launches, one of them lost, that ended with a win."""
    made = begun(tmp_path, small, Rules(most=6, judged=False))
    list(campaign(made, Told([rates(100.0)[0], LOST, *rates(110.0, 110.1, 100.1)])))
    leave_raw_files(made)
    return made


def rows(folder: ComparisonFolder, word: str) -> list[str]:
    """Return the first cell of each row of the Markdown that has a word."""
    write(folder)
    lines = [line for line in folder.evidence[0].read_text().splitlines() if line.startswith("|") and word in line]
    return [line.split("|")[1].strip() for line in lines]


def test_every_number_of_a_launch_links_to_its_outcome(folder: ComparisonFolder) -> None:
    write(folder)
    page, text = folder.evidence[1].read_text(), folder.evidence[0].read_text()
    for link in ("00-A/outcome.json", "02-B/outcome.json", "03-B/outcome.json", "04-A/outcome.json"):
        assert f"]({link})" in text
        assert f'href="{link}"' in page
        assert (folder.root / link).exists()
    assert "[110.1](03-B/outcome.json)" in text
    assert "lost: node gone" in text


def test_the_verdict_stands_first(folder: ComparisonFolder) -> None:
    found = write(folder)
    assert found.lines[0].startswith("B is faster than A: +10.0 %")
    assert f"**{found.lines[0]}**" in folder.evidence[0].read_text()
    assert f"<h1>{found.lines[0]}</h1>" in folder.evidence[1].read_text()
    record = json.loads(folder.evidence[2].read_text())
    assert (record["result"], record["sentence"], record["emulated"]) == ("win", found.lines[0], False)
    assert record["comparison"]["verdicts"]["1"]["result"] == "win"


def test_written_twice_the_documents_are_the_same(folder: ComparisonFolder) -> None:
    write(folder)
    before = [path.read_bytes() for path in folder.evidence]
    write(folder)
    assert [path.read_bytes() for path in folder.evidence] == before


@pytest.mark.parametrize("name", ["requests.parquet", "engine.log", "runs.jsonl", "command.sh"])
def test_a_raw_file_that_is_gone_is_said_in_every_row_that_rests_on_it(name: str, folder: ComparisonFolder) -> None:
    assert rows(folder, "missing") == []
    (folder.root / "03-B" / name).unlink()
    assert rows(folder, "missing") == ["1", "2", "all, geometric mean", "3"]
    assert f"Raw files that are missing: 03-B/{name}." in folder.evidence[0].read_text()
    assert f"Raw files that are missing: 03-B/{name}." in folder.evidence[1].read_text()
    record = json.loads(folder.evidence[2].read_text())
    assert [one["missing"] for one in record["launches"] if one["missing"]] == [[f"03-B/{name}"]]


def test_an_outcome_that_is_gone_takes_its_numbers_with_it(folder: ComparisonFolder) -> None:
    (folder.root / "03-B" / "outcome.json").unlink()
    assert rows(folder, "missing") == ["3"]
    assert "110.1" not in folder.evidence[0].read_text()
    assert "Not finished" in folder.evidence[0].read_text()


def test_what_a_lost_launch_never_had_is_not_missing(folder: ComparisonFolder) -> None:
    (folder.root / "01-B" / "requests.parquet").unlink(missing_ok=True)
    assert rows(folder, "missing") == []


def test_secrets_are_not_shown(tmp_path: Path, small: SearchSpace) -> None:
    made = begun(tmp_path, small, Rules(most=6, judged=False))
    crashed = Infeasible(failure="refused", reason="no access with HF_TOKEN=hf_abcdefghijklmnopqrst", seconds={})
    list(campaign(made, Told([*rates(100.0), crashed])))
    write(made)
    for path in made.evidence:
        assert "hf_abc" not in path.read_text()
        assert "[redacted]" in path.read_text()


def test_what_crashed_has_no_verdict_and_its_words_are_safe(tmp_path: Path, small: SearchSpace) -> None:
    made = begun(tmp_path, small, Rules(most=6, judged=False))
    list(campaign(made, Told([*rates(100.0), MEMORY])))
    found = write(made)
    assert found.lines == ["Nothing is compared: B failed (memory): out of memory."]
    assert json.loads(made.evidence[2].read_text())["result"] is None


def test_before_anything_was_launched_there_is_a_document_too(tmp_path: Path, small: SearchSpace) -> None:
    made = begun(tmp_path, small, Rules(most=6, judged=False))
    write(made)
    assert "Not finished" in made.evidence[0].read_text()
    assert gather(made).launches == ()


def test_a_cell_keeps_its_row_in_one_line() -> None:
    row = {"a": Cell("1 | 2\n3"), "b": Cell("x", "y/z")}
    assert markdown([row]) == "| a | b |\n| --- | --- |\n| 1 \\| 2 3 | [x](y/z) |"
