"""The evidence of a comparison: every number with its file, the same bytes each time."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from autotune.campaign import campaign
from autotune.comparisons import ComparisonFolder, Rules
from autotune.evidence.compared import gather
from autotune.evidence.comparison import write
from autotune.evidence.comparison_report import schema
from autotune.evidence.words import CHINESE
from search_spaces import SearchSpace
from tests.autotune.comparing import Told, begun, leave_raw_files, rates
from tests.autotune.evidence.whole import MACHINE
from tests.autotune.studies import LOST, MEMORY
from tests.conftest import ROOT, Autotune
from tests.support import measured
from trials import outcome as outcomes
from trials.outcome import Infeasible

PUBLISHED = ROOT / "docs/comparison.schema.json"


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
    assert (record["result"], record["sentence"]["en"], record["emulated"]) == ("win", found.lines[0], False)
    assert record["comparison"]["verdicts"]["1"]["result"] == "win"


def test_written_twice_the_documents_are_the_same(folder: ComparisonFolder) -> None:
    write(folder)
    before = [path.read_bytes() for path in folder.evidence]
    write(folder)
    assert [path.read_bytes() for path in folder.evidence] == before


@pytest.mark.parametrize("name", ["requests.parquet", "engine.log", "runs.jsonl", "command.sh"])
def test_a_raw_file_that_is_gone_is_said_in_every_row_that_rests_on_it(name: str, folder: ComparisonFolder) -> None:
    assert rows(folder, "**missing") == []
    (folder.root / "03-B" / name).unlink()
    means = ["1", "2", "all, geometric mean", "1", "2"]  # of the rates, and of what a user sees
    assert rows(folder, "**missing") == [*means, "3"]
    assert f"First: 03-B/{name}." in folder.evidence[0].read_text()
    assert f"First: 03-B/{name}." in folder.evidence[1].read_text()
    record = json.loads(folder.evidence[2].read_text())
    assert [one["missing"] for one in record["launches"] if one["missing"]] == [[f"03-B/{name}"]]


def test_an_outcome_that_is_gone_takes_its_numbers_with_it(folder: ComparisonFolder) -> None:
    (folder.root / "03-B" / "outcome.json").unlink()
    assert rows(folder, "**missing") == ["3"]
    assert "110.1" not in folder.evidence[0].read_text()
    assert "Not finished" in folder.evidence[0].read_text()


def test_what_a_lost_launch_never_had_is_not_missing(folder: ComparisonFolder) -> None:
    (folder.root / "01-B" / "requests.parquet").unlink(missing_ok=True)
    assert rows(folder, "**missing") == []


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
    assert found.lines == ["Nothing is compared: B failed: memory: out of memory."]
    assert json.loads(made.evidence[2].read_text())["result"] is None


def test_before_anything_was_launched_there_is_a_document_too(tmp_path: Path, small: SearchSpace) -> None:
    made = begun(tmp_path, small, Rules(most=6, judged=False))
    write(made)
    assert "Not finished" in made.evidence[0].read_text()
    assert gather(made).launches == ()


def section(folder: ComparisonFolder, heading: str) -> str:
    """Return a section of the Markdown, once it is written."""
    write(folder)
    return folder.evidence[0].read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]


def test_the_means_link_to_the_requests_of_the_launches_that_they_rest_on(folder: ComparisonFolder) -> None:
    told = section(folder, "A against B: total_tok_per_s_per_gpu")
    launches = ("00-A", "04-A", "02-B", "03-B")
    links = " ".join(f"[{name}]({name}/requests.parquet)" for name in launches)
    assert [line.endswith(f"| {links} |") for line in told.splitlines() if line.startswith("| ")][2:] == [True] * 3
    assert "01-B" not in told


def test_it_is_told_in_chinese_after_english(folder: ComparisonFolder) -> None:
    found = write(folder)
    for path in folder.evidence[:2]:
        english, chinese = path.read_text(encoding="utf-8").split("中文说明")
        assert CHINESE(found.verdict) in chinese
        assert found.lines[0] in english
        assert "| --- |" not in chinese
    record = json.loads(folder.evidence[2].read_text())
    assert record["sentence"]["zh"] == CHINESE(found.verdict)


def test_where_it_ran_what_the_engine_said_and_what_differs_is_shown(folder: ComparisonFolder) -> None:
    for one in folder.launches():
        (one.folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
        told = {"version": "0.25.1", "attention": one.arm}
        (one.folder / "effective.json").write_text(json.dumps(told), encoding="utf-8")
    provenance = section(folder, "Provenance")
    assert "8 x AMD Instinct MI355X, 294896 MiB, driver 6.14.14" in provenance
    assert "[00-A](00-A/machine.json)" in provenance
    assert "| host | a host | [provenance.json](provenance.json) |" in provenance
    assert "| seeds | of the prompts 7000 plus" in provenance
    assert "| attention | A | B | [00-A](00-A/effective.json)" in section(folder, "What the engine says that it runs")
    assert "| option | --threads | 2 | 3 | every one |" in section(folder, "Resolved command: A against B")


def test_what_was_not_measured_is_said(folder: ComparisonFolder) -> None:
    told = section(folder, "Not measured")
    assert "- accuracy: the gate was not asked" in told
    assert "- other hardware than cpu" in told
    assert "- the GPUs' power: no tool told it" in told
    assert "- 1 of the trials and launches, which were lost" in told
    assert json.loads(folder.evidence[2].read_text())["not_measured"] == [
        line.removeprefix("- ") for line in told.splitlines() if line.startswith("- ")
    ]


def test_a_gate_that_was_asked_is_shown_for_both(tmp_path: Path, small: SearchSpace) -> None:
    made = begun(tmp_path, small, Rules(most=6, judged=True))
    first, second, *others = rates(100.0, 110.0, 110.1, 100.1)
    passed = [replace(one, judged=measured(1.0).judged) for one in (first, second)]
    for number, (arm, outcome) in enumerate(zip("ABBA", (*passed, *others), strict=True)):
        outcomes.write(made.new_launch(number, "A" if arm == "A" else "B") / "outcome.json", outcome)
    told = section(made, "Gate")
    assert [line.split(" | ")[0] for line in told.splitlines() if " of 64 " in line] == ["| A", "| B"]


@pytest.mark.parametrize("launches", [0, 2, 5])
def test_the_file_for_machines_keeps_to_its_published_schema(folder: ComparisonFolder, launches: int) -> None:
    for one in folder.launches()[launches:]:
        for path in one.folder.iterdir():
            path.unlink()
    write(folder)
    written = json.loads(folder.evidence[2].read_text())
    assert list(jsonschema.Draft202012Validator(schema()).iter_errors(written)) == []
    assert (written["version"], len(written["launches"])) == (1, launches)


def test_the_published_schema_is_one_and_is_up_to_date() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    why = "write it anew: autotune schema --comparison -o docs/comparison.schema.json"
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == schema(), why


def test_the_command_prints_the_schema_of_one_kind_of_file(autotune: Autotune, tmp_path: Path) -> None:
    printed = autotune("schema", "--comparison", cwd=tmp_path)
    assert (printed.returncode, json.loads(printed.stdout)) == (0, schema())
    refused = autotune("schema", "--comparison", "--evidence", cwd=tmp_path)
    assert (refused.returncode, "not both" in refused.stderr) == (2, True)
