"""`evidence.json` and its published schema: what is written keeps to it, and what is published is what is written."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from autotune.evidence import gather
from autotune.evidence.report import report, schema, to_json
from tests.autotune.evidence.whole import SECRET, whole
from tests.conftest import ROOT, Autotune
from trials.emulation import Emulation

PUBLISHED = ROOT / "docs/evidence.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_one_and_what_is_published_is_up_to_date() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    why = "write it anew: autotune schema --evidence -o docs/evidence.schema.json"
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == schema(), why


@pytest.mark.parametrize("finished", [True, False])
def test_a_studys_file_keeps_to_it(tmp_path: Path, finished: bool) -> None:  # noqa: FBT001 both are tested
    written = json.loads(to_json(gather(whole(tmp_path, finished=finished))))
    assert list(VALIDATOR.iter_errors(written)) == []
    assert written["version"] == 1


def test_what_is_no_evidence_is_marked_where_it_is_wrong(tmp_path: Path) -> None:
    written = json.loads(to_json(gather(whole(tmp_path))))
    written["result"] = "better"
    written["launches"][0].pop("folder")
    places = {".".join(map(str, error.absolute_path)) for error in VALIDATOR.iter_errors(written)}
    assert places == {"result", "launches.0"}


def test_every_number_leads_to_files_that_are_there(tmp_path: Path) -> None:
    found = gather(whole(tmp_path))
    told = report(found)
    for one in (*told.trials, *told.launches):
        assert one.files
        assert one.missing == ()
        assert all((found.root / path).is_file() for path in one.files)
        assert one.machine
        assert one.effective["version"] == "0.25.1"


def test_nothing_secret_is_in_it(tmp_path: Path) -> None:
    found = gather(whole(tmp_path))
    settings = replace(found.settings, space=f"https://{SECRET}@host/space.yaml")
    told = report(replace(found, settings=settings))
    assert told.settings.space == "https://[redacted]@host/space.yaml"


def test_a_rehearsal_says_so_in_both_languages(tmp_path: Path) -> None:
    found = gather(whole(tmp_path))
    emulation = Emulation(landscape="L0", seed=0, noise=0.0, flaky=0.0)
    told = report(replace(found, settings=replace(found.settings, emulation=emulation)))
    assert told.emulated
    assert {said.split()[0] for said in told.sentence.values()} == {"EMULATED"}


def test_the_command_prints_it(autotune: Autotune, tmp_path: Path) -> None:
    printed = autotune("schema", "--evidence", cwd=tmp_path)
    assert (printed.returncode, json.loads(printed.stdout)) == (0, schema())
