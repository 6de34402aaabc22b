"""Provenance: machines, engines, seeds and dates, each with its file; and what nobody measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.evidence import gather
from autotune.evidence.evidence import Evidence
from autotune.evidence.facts import effective, ignored, in_vain, not_measured, provenance, resolved, words
from autotune.evidence.raw import Sources
from autotune.evidence.report import to_json
from autotune.evidence.sections import document
from autotune.evidence.words import ENGLISH
from autotune.folder import StudyFolder
from tests.autotune.evidence.whole import to_markdown, whole
from tests.autotune.studies import SMALL, space
from trials import outcome as outcomes
from trials.emulation import Emulation
from trials.engines.asked import UNKNOWN, Mismatch
from trials.machine import Machine
from trials.outcome import Measured
from trials.smi import Device


@pytest.fixture
def found(tmp_path: Path) -> Evidence:
    return gather(whole(tmp_path))


def device(index: int, name: str | None = "NVIDIA H200", driver: str | None = "580") -> Device:
    return Device(index=index, name=name, memory_mib=143771.0, driver=driver)


def machine(*gpus: Device) -> Machine:
    return Machine(host="n", system="Linux 6", gpus=gpus, client="1", begun="2026-01-01T00:00:00+00:00")


def missing(found: Evidence) -> str:
    """Return what was not measured, in English."""
    return "; ".join(map(ENGLISH, not_measured(found)))


def test_every_fact_leads_to_its_file(found: Evidence) -> None:
    for row in provenance(found):
        files = row["raw data"]
        assert isinstance(files, Sources)
        assert files.links
        assert [link for link in files.links if not (found.root / link.href).exists()] == []


def test_a_machine_is_there_once_with_every_trial_that_ran_on_it(found: Evidence) -> None:
    (row,) = (row for row in provenance(found) if row["fact"] == "machine")
    assert row["is"] == (
        "node-1: 8 x AMD Instinct MI355X, 294896 MiB, driver 6.14.14; Linux 6.1; client autotune 0.1.0"
    )
    assert isinstance(row["raw data"], Sources)
    assert len(row["raw data"].links) == 12


def test_gpus_of_several_kinds_are_counted_apart() -> None:
    assert words(machine(device(0), device(1), device(2, None, None))) == (
        "n: 2 x NVIDIA H200, 143771 MiB, driver 580; 1 x GPU, 143771 MiB, driver not told; Linux 6; client autotune 1"
    )
    assert words(machine()).startswith("n: no GPU that a vendor's tool tells of; ")


def test_what_the_engines_say_stands_side_by_side(found: Evidence) -> None:
    version, attention = effective(found)
    assert (version["name"], version["baseline"], version["candidate"]) == ("version", "0.25.1", "0.25.1")
    assert (attention["baseline"], attention["candidate"]) == ("TRITON", "AITER")
    assert isinstance(version["raw data"], Sources)
    assert version["raw data"].links[0].href == "confirm/00-A/effective.json"


def test_launches_that_say_different_things_are_both_quoted(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "confirm/03-A/effective.json").write_text(json.dumps({"version": "0.26.0"}))
    version, *_ = effective(gather(folder))
    assert version["baseline"] == "0.25.1; 0.26.0"


def in_effect(folder: StudyFolder, where: str, *mismatches: Mismatch) -> None:
    """Let a trial or a launch have asked for what its engine did not do."""
    path = folder.root / where / "outcome.json"
    outcome = outcomes.read(path)
    assert isinstance(outcome, Measured)
    outcomes.write(path, replace(outcome, mismatches=mismatches))


def test_all_that_took_effect_is_not_spoken_of(found: Evidence) -> None:
    assert ignored(found) == []
    assert in_vain(found) is None
    assert "in effect" not in to_markdown(found)


def test_a_winner_whose_setting_never_took_effect_is_told_of_before_its_numbers(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for where in ("trials/0001", "confirm/01-B", "confirm/02-B"):
        in_effect(folder, where, Mismatch("--cache-type", "q8_0", "f16"))
    english, _, chinese = to_markdown(gather(folder)).partition("## 中文说明")
    opening = english.partition("\n## ")[0]
    assert "Not all that trial 1 asks for took effect" in opening
    assert "(in parentheses): --cache-type q8_0 (f16)." in opening
    assert "--cache-type q8_0 (f16)" in chinese
    (row,) = ignored(gather(folder))
    assert (row["setting"], row["asked"], row["runs"]) == ("--cache-type", "q8_0", "f16")
    assert isinstance(row["raw data"], Sources)
    assert [link.href for link in row["raw data"].links] == [
        "trials/0001/outcome.json",
        "confirm/01-B/outcome.json",
        "confirm/02-B/outcome.json",
    ]
    assert "| measured, not in effect: --cache-type |" in english


def test_a_setting_that_another_trial_asked_for_in_vain_is_only_in_the_tables(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    in_effect(folder, "trials/0005", Mismatch("--kv-unified", "True", "false"))
    found = gather(folder)
    assert in_vain(found) is None
    assert [row["setting"] for row in ignored(found)] == ["--kv-unified"]


def test_the_value_of_a_secret_that_no_engine_knows_stays_here(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    in_effect(folder, "trials/0001", Mismatch("VLLM_API_KEY", "open sesame", UNKNOWN))
    found = gather(folder)
    assert "open sesame" not in to_markdown(found) + to_json(found)
    assert "VLLM_API_KEY [redacted]" in to_markdown(found)


def test_the_resolved_commands_differ_in_what_the_candidate_changes(found: Evidence) -> None:
    assert resolved(found) == [
        {
            "kind": "option",
            "name": "--cache-type",
            "baseline": "f16",
            "candidate": "q8_0",
            "at concurrency": "every one",
        }
    ]


def test_what_was_not_measured_is_said(found: Evidence) -> None:
    said = missing(found)
    assert (
        "other token lengths and concurrencies than these: 8 tokens in, 8 out, unique prompts, concurrency 1, 2" in said
    )
    assert "other hardware than cpu" in said
    assert "the engine's own defaults; which of the changed knobs brings how much" in said
    assert "sums: 136 of its 200 questions" in said
    assert "a steady state at: 1 in 05-A (drift +3.1 %)" in said
    assert "1 of the trials and launches, which were lost" in said
    assert "power" not in said


def test_a_baseline_that_is_the_engines_defaults_is_said_to_be_and_not_to_be_unmeasured(tmp_path: Path) -> None:
    kept = space(tmp_path, f"{SMALL}defaults: {{keep: [threads, cache, unified]}}\n")
    alike = replace(gather(whole(tmp_path)), space=kept)
    assert "own defaults" not in missing(alike)
    (section,) = (one for one in document(alike).sections if one.heading.key == "heading defaults")
    assert list(map(ENGLISH, section.before)) == [
        "The baseline is the engine's own defaults: what is said against the one is said against the other."
    ]


def test_of_a_rehearsal_nothing_was_measured(found: Evidence) -> None:
    emulation = Emulation(landscape="L0", seed=0, noise=0.0, flaky=0.0)
    said = missing(replace(found, settings=replace(found.settings, emulation=emulation), launches=()))
    assert said.startswith("anything at all: every number is a simulation's; ")
    assert "accuracy in the confirmation: no gate was asked" in said
