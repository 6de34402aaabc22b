"""`autotune explain`: what a study's search says, to people and to programs, at any moment of the study."""

import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from tests.autotune.drivers import driven
from tests.autotune.searched import searched
from tests.conftest import Autotune


def cells(printed: str, title: str) -> list[list[str]]:
    """Return the rows of the table under a title, each without its empty cells."""
    lines = [line.strip() for line in printed[printed.index(title) :].splitlines()]
    rule = next(at for at, line in enumerate(lines) if line.startswith("──"))
    return [re.split(r" {2,}", line) for line in takewhile(bool, lines[rule + 1 :])]


def told(printed: str) -> list[dict[str, Any]]:
    """Return the records of a program's output."""
    return [json.loads(line) for line in printed.splitlines()]


def test_an_interrupted_study_says_what_matters_what_is_suspected_and_what_was_never_tried(
    autotune: Autotune, tmp_path: Path
) -> None:
    searched(tmp_path)
    ran = autotune("explain", "one", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second, *_ = ran.stdout.splitlines()
    assert first.startswith("study one: ")
    assert second == "figures of the search, one launch a config: they say what to try, and are no evidence"
    rank, knob, value, change, low, high, *_, share = cells(ran.stdout, "which knobs matter")[0]
    assert (rank, knob, value) == ("1", "c", "true (false)")
    assert float(low.rstrip(" %")) < 12 < float(high.rstrip(" %"))
    assert re.fullmatch(r"\+1\d\.\d % \*", change)
    assert share.endswith("%")
    assert cells(ran.stdout, "what is suspected")[0][:2] == ["crashes", "b=true with e=true"]
    assert cells(ran.stdout, "what was never tried") == [["h", "true", "always at its baseline"]]
    assert "EMULATED" not in ran.stdout


def test_a_program_gets_the_same_as_objects_one_a_line_while_the_study_runs(autotune: Autotune, tmp_path: Path) -> None:
    folder = searched(tmp_path)
    with driven(folder):
        ran = autotune("explain", "one", "--studies", folder.root.parent, "--json", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *rest = told(ran.stdout)
    assert {**first, "measured": 0, "crashed": 0, "optuna": {}} == {
        "study": "one", "emulated": False, "kind": "explanation", "evidence": False,
        "measured": 0, "crashed": 0, "missed_gate": 0, "optuna": {},
    }  # fmt: skip
    assert first["measured"] + first["crashed"] == 31
    assert first["optuna"] == {"evaluator": "PED-ANOVA", "measured": first["measured"], "missing": None}
    knobs = [each for each in rest if each["kind"] == "knob"]
    assert [each["rank"] for each in knobs] == [*range(1, 8), None]
    best = knobs[0]
    assert (best["name"], best["matters"], best["never_moved"]) == ("c", True, False)
    assert best["importance"] == max(each["importance"] for each in knobs)
    off, on = best["levels"]
    assert (off["value"], off["is_baseline"], off["effect"]) == (False, True, None)
    assert on["effect"]["low"] < 0.12 < on["effect"]["high"]
    suspect = next(each for each in rest if each["kind"] == "suspect")
    assert (suspect["what"], suspect["settings"]) == ("crash", {"b": True, "e": True})
    assert suspect["seen"] == suspect["wrong"] == first["crashed"]


def test_every_part_of_a_rehearsal_says_so(autotune: Autotune, tmp_path: Path) -> None:
    searched(tmp_path, rehearsal=True)
    people, program = (autotune("explain", "one", *flags, cwd=tmp_path) for flags in ((), ("--json",)))
    said = [line for line in people.stdout.splitlines() if line[:1].strip()]
    assert len(said) == 6
    assert all(line.startswith("EMULATED ") for line in said)
    assert all(each["emulated"] for each in told(program.stdout))


def test_what_is_missing_is_said(autotune: Autotune, tmp_path: Path) -> None:
    searched(tmp_path, count=0).database.unlink()
    ran = autotune("explain", "one", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "nothing is measured beside the baseline yet: of no knob is anything known" in ran.stdout
    assert "no importance: studies/one/study.db, the index of the search, can't be read" in ran.stdout
