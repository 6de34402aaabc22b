"""The evidence is made from the study's folder alone, the same each time, and says no more than was measured."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.evidence import NoBaseline, gather, write
from autotune.evidence.report import to_json
from autotune.evidence.words import CHINESE, said
from autotune.folder import Arm, StudyFolder, study_folder
from search_spaces import SearchSpace, load_recipe, resolve
from tests.autotune.evidence.whole import SECRET, to_markdown, whole
from tests.autotune.studies import LOST, MEMORY, SMALL, complete, settings, space, trial, unjudged
from tests.support import measured, verdict
from trials import outcome as outcomes
from trials.outcome import Infeasible, Outcome

ENDED = "2026-01-02T04:05:06+00:00"
WIN = (100.0, 120.0, 120.1, 100.1)
UNCLEAR = (100.0, 104.0, 97.0, 101.0)


@pytest.fixture
def folder(tmp_path: Path, small: SearchSpace) -> StudyFolder:
    """Return a study whose search is over: the baseline at 100, trial 1 at 110, a crash, and a lost trial."""
    made = study_folder(tmp_path / "studies", "one")
    made.begin(settings(tmp_path), small, {"engine": "an engine", "host": "a host"})
    crash = replace(MEMORY, reason="CUDA | ROCm:\nout of memory")
    search = [
        trial(small, 0, measured(100.0, 100.0)),
        trial(small, 1, measured(110.0, 110.0), cache="q8_0"),
        trial(small, 2, crash, threads=4),
        trial(small, 3, LOST, threads=3),
    ]
    for one in search:
        if one.outcome is not None:
            outcomes.write(made.new_trial(one.number, one.config, one.fingerprint) / "outcome.json", one.outcome)
    made.finish(ENDED)
    return made


def confirm(folder: StudyFolder, *rates: float, first: Outcome | None = None) -> None:
    """Launch baseline and candidate in order at these rates; the candidate's first launch may be told otherwise."""
    arms: tuple[Arm, ...] = ("A", "B", "B", "A")
    for number, (arm, rate) in enumerate(zip(arms, rates, strict=False)):
        outcome: Outcome = measured(rate, rate) if number < 2 else unjudged(rate, rate)
        outcomes.write(folder.new_launch(number, arm, 1) / "outcome.json", first if number == 1 and first else outcome)
    folder.finish(ENDED)


def documents(folder: StudyFolder) -> tuple[str, dict[str, Any]]:
    """Return the evidence as people and as machines read it."""
    found = gather(folder)
    return to_markdown(found), json.loads(to_json(found))


def derived(folder: StudyFolder) -> dict[Path, bytes]:
    """Return every file that is made from the raw data."""
    names = ("recipe.yaml", "evidence.*", "plots/*")
    return {path: path.read_bytes() for name in names for path in sorted(folder.root.glob(name))}


def test_a_win_is_said_shown_and_written_as_a_recipe(folder: StudyFolder, small: SearchSpace) -> None:
    confirm(folder, *WIN)
    write(folder)
    text, data = documents(folder)
    assert "**Win: trial 1 is faster than the baseline, and passes its gate.**" in text
    assert "| cache | f16 | q8_0 | of the KV cache |" in text
    assert (data["result"], data["winner"]["trial"]) == ("win", 1)
    assert data["winner"]["changes"] == {"cache": ["f16", "q8_0"]}
    assert load_recipe(folder.recipe).fingerprint == resolve(small, complete(small, {"cache": "q8_0"})).fingerprint


@pytest.mark.parametrize(
    ("rates", "result", "sentence"),
    [
        (UNCLEAR, "undecided", "Undecided: the baseline stays."),
        ((100.0, 100.1, 100.0, 100.1), "tie", "Tie: the baseline stays."),
        ((100.0, 80.0, 80.1, 100.1), "loss", "The baseline stays: trial 1 looked faster in the search"),
        ((), "undecided", "Undecided: the baseline stays."),
    ],
)
def test_without_a_win_the_recipe_is_the_baseline(
    folder: StudyFolder, small: SearchSpace, rates: tuple[float, ...], result: str, sentence: str
) -> None:
    confirm(folder, *rates)
    write(folder)
    text, data = documents(folder)
    assert f"**{sentence}" in text
    assert "What the winner changes" not in text
    assert (data["result"], data["winner"]["trial"], data["winner"]["changes"]) == (result, 0, {})
    assert load_recipe(folder.recipe).fingerprint == resolve(small, {}).fingerprint


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (measured(120.0, 120.0, gate=verdict(40, result="fail")), "gate fail: 40 of 64 right"),
        (Infeasible(failure="memory", reason="out of memory", seconds={}), "memory: out of memory"),
    ],
)
def test_a_dropped_candidate_is_named_with_its_reason(folder: StudyFolder, first: Outcome, said: str) -> None:
    confirm(folder, 100.0, 120.0, first=first)
    text, data = documents(folder)
    assert f"Trial 1 was dropped in its confirmation: {said}" in text
    assert data["result"] == "no candidate"
    assert data["candidates"][0]["dropped"].startswith(said)


def test_the_files_hold_the_documents(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    found = gather(folder)
    assert folder.evidence_md.read_text(encoding="utf-8") == to_markdown(found)
    assert folder.evidence_json.read_text(encoding="utf-8") == to_json(found)


def test_written_twice_the_documents_are_the_same_bytes(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    before = derived(folder)
    write(folder)
    assert derived(folder) == before


def test_deleted_the_documents_are_made_anew_the_same_bytes(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    before = derived(folder)
    for path in before:
        path.unlink()
    (folder.root / "plots").rmdir()
    write(folder)
    assert derived(folder) == before


def test_what_is_derived_is_a_recipe_three_documents_and_each_plot_twice(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    assert {str(path.relative_to(folder.root)) for path in derived(folder)} == {
        "recipe.yaml",
        "evidence.md",
        "evidence.html",
        "evidence.json",
        *(f"plots/{name}.{form}" for name in ("interactivity", "search", "gate") for form in ("svg", "png")),
    }


def test_of_a_study_that_is_not_finished_no_verdict_is_said(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    folder.end.unlink()
    write(folder)
    text, data = documents(folder)
    assert text.splitlines()[0].endswith("(not finished)")
    assert "**Not finished, no verdict yet. Trials that ended: 4; launches of the confirmation: 4.**" in text
    assert "What the winner changes" not in text
    assert "Run it" not in text
    assert f"**{CHINESE(said('not finished', trials=4, launches=4))}**" in text
    assert (data["finished"], data["result"], data["winner"]) == (None, None, None)
    assert not folder.recipe.exists()


def test_markdown_shows_the_plots_that_lie_beside_it(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    write(folder)
    shown = re.findall(r"!\[.+\]\((.+)\)", folder.evidence_md.read_text(encoding="utf-8"))
    assert shown == ["plots/interactivity.svg", "plots/search.svg", "plots/gate.svg"]
    assert all((folder.root / path).is_file() for path in shown)


@pytest.mark.parametrize(
    ("outcome", "why"),
    [(None, "it has not ended"), (MEMORY, "it failed: out of memory"), (LOST, "it failed: node gone")],
)
def test_without_a_measured_baseline_there_is_no_evidence(
    tmp_path: Path, small: SearchSpace, outcome: Outcome | None, why: str
) -> None:
    begun = study_folder(tmp_path / "studies", "two")
    begun.begin(settings(tmp_path), small, {})
    first = begun.new_trial(0, small.baseline, "f")
    if outcome:
        outcomes.write(first / "outcome.json", outcome)
    with pytest.raises(NoBaseline, match=f"study 'two' has no measured baseline, so no evidence: {why}"):
        write(begun)
    assert derived(begun) == {}


def test_every_trial_has_a_line_and_what_was_not_measured_no_number(folder: StudyFolder) -> None:
    text, data = documents(folder)
    lines = [line for line in text.splitlines() if line.startswith(("| 0 |", "| 1 |", "| 2 |", "| 3 |"))]
    assert [line.rpartition("| [")[0] for line in lines] == [
        "| 0 | measured | 100.0 | +0.0 % | pass: 1.000 [0.900, 1.000] of 64 | baseline ",
        "| 1 | measured | 110.0 | +10.0 % | pass: 1.000 [0.900, 1.000] of 64 | cache=q8_0 ",
        r"| 2 | infeasible (memory): CUDA \| ROCm: out of memory |  |  |  | threads=4 ",
        "| 3 | lost: node gone |  |  |  | threads=3 ",
    ]
    assert [one["outcome"]["kind"] for one in data["trials"]] == ["measured", "measured", "infeasible", "lost"]
    assert "points" not in data["trials"][2]["outcome"]


def test_the_confirmations_numbers_and_gates_are_in_both_documents(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    text, data = documents(folder)
    assert "over the whole ladder: +20.0 %, 99 % interval +19.2 % to +20.8 %, from 2 + 2 fresh launches" in text
    interval = "+19.2 % to +20.8 %"
    assert CHINESE(said("overall", number=1, change="+20.0 %", interval=interval, a=2, b=2)) in text
    overall = data["candidates"][0]["comparison"]["overall"]
    assert overall["change"] == pytest.approx(0.2, abs=1e-3)
    assert overall["low"] < overall["change"] < overall["high"]
    assert [(one["recipe"], one["verdict"]["result"]) for one in data["gates"]] == [
        ("baseline", "pass"),
        ("trial 1", "pass"),
    ]
    assert [one["arm"] for one in data["launches"]] == ["A", "B", "B", "A"]


def test_a_launch_that_is_under_way_is_shown_as_running(folder: StudyFolder) -> None:
    folder.new_launch(0, "A", 1)
    text, data = documents(folder)
    assert "| 0 | A: baseline |  | running |" in text
    assert data["launches"][0]["outcome"] is None


def test_the_evidence_says_where_and_with_what_it_was_made(folder: StudyFolder) -> None:
    text, data = documents(folder)
    assert "| engine | an engine | [provenance.json](provenance.json) |" in text
    assert "| search | random, at most 4 trials beside the baseline, 0.5 h | [study.json](study.json)" in text
    assert "| seeds | 7 of the sampler and of the search's prompts; of fresh launches 7000 plus" in text
    assert data["provenance"] == {"engine": "an engine", "host": "a host"}
    assert data["settings"]["seed"] == 7


def test_a_raw_file_that_is_gone_is_said_first_and_in_every_row_that_rests_on_it(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    assert "missing" not in documents(folder)[0]
    (folder.root / "confirm/01-B/requests.parquet").unlink()
    (folder.root / "trials/0004/answers.jsonl").unlink()
    text, data = documents(folder)
    assert "2 raw files are missing, each marked in its row" in text
    marked = [
        line.split("|")[1].strip() for line in text.splitlines() if "**missing: confirm/01-B/requests.parquet" in line
    ]
    assert marked == ["1", "2", "all, geometric mean", "1", "2", "1"]  # the comparison, the users' table, the launches
    (trial,) = (line for line in text.splitlines() if "**missing: trials/0004/answers.jsonl**" in line)
    assert trial.startswith("| 4 | measured, gate not passed |")
    assert [one["missing"] for one in data["launches"] if one["missing"]] == [["confirm/01-B/requests.parquet"]]


def test_an_outcome_that_is_gone_takes_its_numbers_with_it(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "trials/0005/outcome.json").unlink()
    text, _ = documents(folder)
    (row,) = (line for line in text.splitlines() if "**missing: trials/0005/outcome.json**" in line)
    assert row.startswith("| 5 | running |  |  |  | unified=true |")


def test_without_its_baselines_outcome_a_finished_study_proves_nothing(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "trials/0000/outcome.json").unlink()
    with pytest.raises(NoBaseline, match=r"no evidence: its outcome\.json is missing"):
        write(folder)


def test_no_secret_leaves_the_study(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    write(folder)
    for path in derived(folder):
        assert SECRET.encode() not in path.read_bytes(), path
    assert "HF_TOKEN=[redacted]" in folder.evidence_md.read_text(encoding="utf-8")
    assert SECRET in folder.provenance.read_text(encoding="utf-8")  # the raw data stay as they are


def test_a_recipe_keeps_everything_but_the_values_of_secrets(tmp_path: Path) -> None:
    text = f"{SMALL}serve: {{env: {{HF_TOKEN: {SECRET}, OMP_NUM_THREADS: '1'}}}}\n"
    secret = space(tmp_path, text)
    made = study_folder(tmp_path / "studies", "one")
    made.begin(settings(tmp_path), secret, {})
    outcomes.write(made.new_trial(0, secret.baseline, "f") / "outcome.json", measured(100.0, 100.0))
    made.finish(ENDED)
    write(made)
    assert load_recipe(made.recipe).serve.env == {"HF_TOKEN": "[redacted]", "OMP_NUM_THREADS": "1"}


def test_every_section_is_told_in_chinese_too_and_its_tables_once(tmp_path: Path) -> None:
    english, _, chinese = documents(whole(tmp_path))[0].partition("## 中文说明")
    headings = re.findall(r"^## (.+)$", english, re.MULTILINE)
    assert len(headings) == len(re.findall(r"^### (.+)$", chinese, re.MULTILINE)) + 1  # the plots are there once
    assert f"**{CHINESE(said('win', number=1))}**" in chinese
    assert "\n| " in english
    assert "\n| " not in chinese


def test_what_is_gathered_is_what_the_folder_holds(folder: StudyFolder) -> None:
    confirm(folder, *WIN)
    found = gather(folder)
    assert (list(found.trials), list(found.launches)) == (folder.trials(), folder.launches())
    assert found.sentence == "Win: trial 1 is faster than the baseline, and passes its gate."
