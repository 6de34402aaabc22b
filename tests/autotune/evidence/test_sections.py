"""A study that was taken apart: a section for each thing that was launched, and none for what was not."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from autotune.evidence import gather, series
from autotune.evidence.evidence import Evidence
from autotune.evidence.facts import not_measured
from autotune.evidence.plots import plots
from autotune.evidence.report import report, schema, to_json
from autotune.evidence.sections import document
from autotune.evidence.tables import percent
from autotune.evidence.words import CHINESE, ENGLISH
from autotune.folder import StudyFolder
from autotune.reduce import Reduction
from tests.autotune.evidence.whole import apart, to_html, to_markdown, whole

PARTS = "What each knob brings"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Return its evidence."""
    return gather(apart(tmp_path_factory.mktemp("apart"), raw=False))


def test_what_was_launched_has_its_section(found: Evidence) -> None:
    headings = [ENGLISH(section.heading) for section in document(found).sections]
    assert headings[1:10] == [
        "Baseline (A) against recipe.yaml, trial 25 reduced (C): total_tok_per_s_per_gpu",
        "What a user sees, and what it costs",
        "Resolved command: baseline against recipe.yaml, trial 25 reduced",
        "Before it was reduced: baseline (A) against trial 25 (B): total_tok_per_s_per_gpu",
        "Against the engine's own defaults",
        "Ablation",
        "What each knob brings",
        "Single concurrencies",
        "Beside ATOM",
    ]


def told_of_the_knobs(found: Evidence, less: Reduction | None) -> list[str]:
    """Return what is said of the knobs that bring nothing, where this became of the recipe without them."""
    proof = replace(found.proof, reduction=less)
    (section,) = (one for one in document(replace(found, proof=proof)).sections if ENGLISH(one.heading) == PARTS)
    return [ENGLISH(sentence) for sentence in section.after]


def test_what_became_of_the_knobs_that_bring_nothing_is_said(found: Evidence) -> None:
    less = found.proof.reduction
    assert less is not None
    assert told_of_the_knobs(found, less) == [
        "g, h: left at the baseline's values; the recipe without them was launched afresh and took the winner's place."
    ]
    kept = "g, h: kept nevertheless, since the recipe without them was not taken: "
    failed = "the baseline beside it failed: unknown: exited with code 1"
    assert told_of_the_knobs(found, replace(less, out=failed)) == [f"{kept}{failed}."]
    assert told_of_the_knobs(found, None) == [f"{kept}the space has no other recipe without them."]
    few = replace(less, comparison=None, full=None)
    assert told_of_the_knobs(found, few) == [f"{kept}too few of its launches came to their end."]
    assert less.comparison is not None
    undecided = replace(less, comparison=replace(less.comparison, result="undecided"))
    (told,) = told_of_the_knobs(found, undecided)
    assert told.startswith(kept)
    assert re.search(r": \+\S+ % \(.* %\) against the baseline, undecided; \S+ % \(.* %\) against the winner", told)
    going_on = replace(less, next=(0, "C"))
    assert told_of_the_knobs(replace(found, finished=None), going_on) == []
    (told,) = told_of_the_knobs(found, going_on)
    assert told.startswith(f"{kept}not all of its launches were made: +")


def test_what_became_of_known_recipes_is_said_once_it_is_known(found: Evidence) -> None:
    finished, going_on = (
        {section.heading.key for section in document(one).sections} for one in (found, replace(found, finished=None))
    )
    assert "heading known" in finished - going_on


def test_what_was_not_launched_has_none(tmp_path: Path) -> None:
    headings = [section.heading.key for section in document(gather(whole(tmp_path))).sections]
    assert {"heading defaults", "heading ablation", "heading parts", "heading regimes"} & set(headings) == set()


def test_a_table_without_a_column_for_it_names_the_launches_behind_it(found: Evidence) -> None:
    for section in document(found).sections:
        rows = section.table is not None and "raw data" in section.table.columns
        told = bool(section.raw and (section.raw.links or section.raw.missing))
        assert rows or told or section.table is None, section.heading


def test_a_launch_whose_requests_are_gone_is_named_under_every_table_that_rests_on_it(found: Evidence) -> None:
    (row,) = {line for line in to_markdown(found).splitlines() if line.startswith("| 1 | trial")}
    assert "**missing: confirm/29-F@1/requests.parquet**" in row


def test_a_row_of_an_ablation_leads_to_the_launches_of_its_own_two_recipes(found: Evidence) -> None:
    sections = {section.heading.key: section for section in document(found).sections}
    for key, column in {"heading ablation": "setting", "heading parts": "knob"}.items():
        table = sections[key].table
        assert table is not None
        (files,) = table[table[column].str.endswith("b")]["raw data"]
        assert {path.split("/")[1][3:] for path in files.missing} == {"B", "B-b"}


def test_the_headline_is_the_number_of_the_recipe_that_is_written(found: Evidence) -> None:
    less = found.proof.reduction
    assert less is not None
    assert less.comparison is not None
    assert found.sentence == "Win: trial 25 without g, h is faster than the baseline, and passes its gate."
    written, before, overridden = (said for said in document(found).opening if said.key not in {"missing", "drift"})
    change = percent(less.comparison.overall.change)
    assert f"against the baseline over the whole ladder {change}, 99 % interval" in ENGLISH(written)
    assert ENGLISH(written).startswith("recipe.yaml is trial 25 without g, h, which bring nothing measurable.")
    assert "去掉 g, h" in CHINESE(written)
    assert ENGLISH(before).startswith("Before that, not what recipe.yaml is: trial 25 with all that it changes")
    assert ENGLISH(overridden).startswith("At concurrency 1 recipe.yaml is another config, proved there by launches")


def test_the_recipes_own_launches_are_in_its_own_table(found: Evidence) -> None:
    less = found.proof.reduction
    assert less is not None
    assert less.comparison is not None
    sections = {section.heading.key: section for section in document(found).sections}
    table = sections["heading sides reduced"].table
    assert table is not None
    assert list(table["recipe"]) == [
        f"{ratio.b:.1f}" for ratio in (*less.comparison.levels.values(), less.comparison.overall)
    ]
    assert list(table["verdict"])[-1] == "win"
    files = table["raw data"][0]
    assert {path.split("/")[1][3:] for path in files.missing} == {"A", "C"}
    before = sections["heading sides before"].table
    assert before is not None
    assert {path.split("/")[1][3:] for path in before["raw data"][0].missing} == {"A", "B"}


def test_the_recipe_is_drawn_as_it_is_written(found: Evidence) -> None:
    less = found.proof.reduction
    assert less is not None
    baseline, recipe = series.curves(found)
    assert recipe.name == f"trial 25, reduced, {len(less.launches)} fresh launches"
    assert len(baseline.runs) == len(recipe.runs)


def test_every_comparison_is_told_with_its_other_readings(found: Evidence) -> None:
    sections = {section.heading.key: section for section in document(found).sections}
    for key, readings in {
        "heading sides reduced": 1,
        "heading sides before": 1,
        "heading defaults": 1,
        "heading regimes": len(found.proof.regimes),
    }.items():
        told = [ENGLISH(said) for said in sections[key].after if "Hodges and Lehmann's estimate" in ENGLISH(said)]
        assert len(told) == readings, key
        assert all("No interval by bootstrap: with fewer than 8 launches" in each for each in told)
        assert all("drift" in each for each in told)


def test_each_concurrency_is_said_to_be_tested_at_the_full_chance_of_error(found: Evidence) -> None:
    section = next(one for one in document(found).sections if one.heading.key == "heading regimes")
    tried = len(found.proof.regimes)
    (told,) = (said for said in section.after if said.key == "each at full alpha")
    assert ENGLISH(told).endswith(f"the chance of one false override grows with how many are tried, here {tried}.")
    assert f"此处共 {tried} 个" in CHINESE(told)


def test_made_twice_the_documents_are_the_same_bytes(found: Evidence) -> None:
    again = gather(StudyFolder(found.root))
    assert (to_markdown(again), to_html(again), to_json(again)) == (
        to_markdown(found),
        to_html(found),
        to_json(found),
    )


def test_the_recipe_without_what_brings_nothing_is_what_is_recommended(found: Evidence) -> None:
    told = report(found)
    assert told.winner
    assert {"g", "h"} & told.winner.changes.keys() == set()
    assert told.winner.fingerprint == found.proof.recipe.fingerprint
    assert told.winner.overrides == (1,)
    assert found.proof.reduction is not None
    assert told.winner.comparison == found.proof.reduction.comparison


def test_what_became_of_the_reduced_recipe_and_of_those_of_others_is_there_for_machines(found: Evidence) -> None:
    told = report(found)
    assert told.reduction is not None
    assert (told.reduction.without, told.reduction.taken) == (("g", "h"), True)
    assert told.reduction.comparison is not None
    assert told.reduction.full is not None
    assert [one.name for one in told.known] == ["theirs"]
    assert report(replace(found, finished=None)).known == ()
    assert told.reference is not None
    assert (told.reference.label, told.reference.source) == ("ATOM", "InferenceX #2213")
    assert told.reference.figures == {1: 110.0, 2: 111.0}
    assert told.reference.recipe.keys() == {1, 2}


def test_what_was_launched_is_not_said_to_be_unmeasured(found: Evidence) -> None:
    said_so = " ".join(report(found).not_measured)
    assert "own defaults" not in said_so
    assert "which of the changed knobs" not in said_so


def test_an_additive_ablation_that_the_budget_had_no_room_for_is_told_with_what_it_takes(found: Evidence) -> None:
    told = next(sentence for sentence in not_measured(found) if sentence.key == "not additive")
    assert ENGLISH(told) == (
        "the baseline with each knob alone (additive ablation): 18 launches would be needed, the space allows 16"
    )
    assert "需要 18 次启动" in CHINESE(told)
    assert ENGLISH(told) in report(found).not_measured


def test_an_additive_ablation_that_was_launched_is_not_said_to_be_unmeasured(found: Evidence) -> None:
    ablation = found.proof.ablation
    assert ablation is not None
    rows = tuple(replace(row, kind="alone") for row in ablation.design.rows)
    both = replace(ablation, design=replace(ablation.design, rows=rows))
    keys = {sentence.key for sentence in not_measured(replace(found, proof=replace(found.proof, ablation=both)))}
    assert "not additive" not in keys


def test_a_group_is_one_bar_whose_label_leaves_room_for_it(found: Evidence) -> None:
    ablation = found.proof.ablation
    assert ablation is not None
    *others, last = ablation.findings
    group = replace(last, row=replace(last.row, knobs=("g", "h")))
    drawn = series.ablated(
        replace(found, proof=replace(found.proof, ablation=replace(ablation, findings=(*others, group))))
    )
    assert [words for words, _ in drawn[-2:]] == ["trial 25 without g", "trial 25 without 2 at once"]


def test_the_ablation_is_drawn_and_is_in_the_file_for_machines(found: Evidence) -> None:
    assert "ablation" in [plot.name for plot in plots(found)]
    written = json.loads(to_json(found))
    assert list(jsonschema.Draft202012Validator(schema()).iter_errors(written)) == []
    assert written["ablation"]["parts"][0]["knob"] == "a"
    assert [one["concurrency"] for one in written["regimes"] if one["proved"]] == [1]
    assert written["beside"][0]["recipe"] == "the engine's own defaults"


def test_the_chinese_part_names_every_table(found: Evidence) -> None:
    chinese = to_markdown(found).partition("## 中文说明")[2]
    headings = [ENGLISH(section.heading) for section in document(found).sections if section.table is not None]
    assert [heading for heading in headings if heading not in chinese] == []
