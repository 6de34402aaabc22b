"""A study that was taken apart: a section for each thing that was launched, and none for what was not."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from autotune.evidence import gather
from autotune.evidence.document import to_markdown
from autotune.evidence.evidence import Evidence
from autotune.evidence.plots import plots
from autotune.evidence.report import report, schema, to_json
from autotune.evidence.sections import document
from autotune.evidence.words import ENGLISH
from autotune.folder import StudyFolder, study_folder
from autotune.reduce import Reduction
from search_spaces import load
from tests.autotune.evidence.whole import ENDED, whole
from tests.autotune.studies import settings, space
from tests.autotune.truths import KNOBS, World, fastest
from trials import outcome as outcomes

PARTS = "What each knob brings"
REFERENCE = "reference: {label: ATOM, source: 'InferenceX #2213', figures: {1: 110.0, 2: 111.0}}\n"
KNOWN = "known: [{name: theirs, set: {a: true}}]\n"


def apart(root: Path) -> StudyFolder:
    """Return a study whose winner has two knobs that pay, and two that bring nothing; and another one at one point."""
    own = space(root, KNOBS + REFERENCE + KNOWN)
    made = study_folder(root / "studies", "one")
    made.begin(settings(root), own, {})
    world = World(load(made.space), {"a": {1: 0.02, 2: 0.30}, "b": 0.06, "c": {1: 0.15, 2: -0.15}}, sd=0.004)
    trials = fastest(world.searched(best="abgh"))
    world.finish(trials)
    for one in trials:
        assert one.outcome
        outcomes.write(made.new_trial(one.number, one.config, one.fingerprint) / "outcome.json", one.outcome)
    for launch in world.launches:
        assert launch.outcome
        folder = made.new_launch(launch.number, launch.arm, launch.candidate, stage=launch.stage)
        outcomes.write(folder / "outcome.json", launch.outcome)
    made.finish(ENDED)
    return made


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Return its evidence."""
    return gather(apart(tmp_path_factory.mktemp("apart")))


def test_what_was_launched_has_its_section(found: Evidence) -> None:
    headings = [ENGLISH(section.heading) for section in document(found).sections]
    assert headings[4:9] == [
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
    assert told_of_the_knobs(found, replace(less, next=(0, "C"))) == []


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
        resolved = section.heading.key in {"heading resolved", "heading changes"}  # from the space alone
        assert rows or told or resolved or section.table is None, section.heading


def test_a_launch_whose_requests_are_gone_is_named_under_every_table_that_rests_on_it(found: Evidence) -> None:
    text = to_markdown(found)
    (missing,) = {line for line in text.splitlines() if line.startswith("Raw data: ") and "F@" in line}
    assert "**missing: confirm/" in missing


def test_the_recipe_without_what_brings_nothing_is_what_is_recommended(found: Evidence) -> None:
    opening = " ".join(map(ENGLISH, document(found).opening))
    assert "The recipe does without " in opening
    told = report(found)
    assert told.winner
    assert {"g", "h"} & told.winner.changes.keys() == set()
    assert told.winner.fingerprint == found.proof.recipe.fingerprint
    assert told.winner.overrides == (1,)


def test_what_was_launched_is_not_said_to_be_unmeasured(found: Evidence) -> None:
    said_so = " ".join(report(found).not_measured)
    assert "own defaults" not in said_so
    assert "which of the changed knobs" not in said_so


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
