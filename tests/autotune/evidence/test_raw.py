"""Raw files: which a number rests on, and which of them are gone."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from autotune.evidence.raw import Link, Sources, behind, sources
from tests.autotune.studies import LOST, MEMORY, unjudged
from tests.support import measured
from trials.outcome import Outcome

STARTED = ("command.sh", "engine.log")
LOADED = (*STARTED, "requests.parquet", "runs.jsonl")


@dataclass(frozen=True)
class Kept:
    """A launch by its folder and its outcome."""

    folder: Path
    outcome: Outcome | None


def kept(root: Path, outcome: Outcome | None, *there: str, name: str = "00-A") -> Kept:
    """Return a launch whose folder holds these files."""
    for each in there:
        path = root / name / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return Kept(root / name, outcome)


@pytest.mark.parametrize(
    ("outcome", "there", "missing"),
    [
        (measured(1.0), (*LOADED, "answers.jsonl", "outcome.json"), ()),
        (measured(1.0), (*LOADED, "outcome.json"), ("answers.jsonl",)),
        (unjudged(1.0), (*LOADED, "outcome.json"), ()),
        (unjudged(1.0), ("engine.log", "outcome.json"), ("command.sh", "requests.parquet", "runs.jsonl")),
        (MEMORY, (*STARTED, "outcome.json"), ()),
        (MEMORY, ("command.sh", "outcome.json"), ("engine.log",)),
        (LOST, ("outcome.json",), ()),
        (None, STARTED, ("outcome.json",)),
    ],
)
def test_what_was_there_and_is_not_any_more_is_missing(
    tmp_path: Path, outcome: Outcome | None, there: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    found = sources(tmp_path, kept(tmp_path, outcome, *there), ended=True)
    assert found.missing == tuple(f"00-A/{name}" for name in missing)
    assert {link.href for link in found.links} == {f"00-A/{name}" for name in there}


def test_a_launch_that_runs_misses_nothing(tmp_path: Path) -> None:
    assert sources(tmp_path, kept(tmp_path, None), ended=False) == Sources()


def test_each_launch_of_a_recipe_that_needs_several_is_linked(tmp_path: Path) -> None:
    below = [f"launch-{number}/{name}" for number in (0, 1) for name in STARTED]
    record = kept(tmp_path, unjudged(1.0), *below, "requests.parquet", "runs.jsonl", "outcome.json")
    found = sources(tmp_path, record, ended=True)
    assert found.missing == ()
    assert found.links[:4] == (
        Link("command 0", "00-A/launch-0/command.sh"),
        Link("command 1", "00-A/launch-1/command.sh"),
        Link("engine 0", "00-A/launch-0/engine.log"),
        Link("engine 1", "00-A/launch-1/engine.log"),
    )


def test_a_mean_leads_to_one_file_of_each_launch_behind_it(tmp_path: Path) -> None:
    records = [
        kept(tmp_path, unjudged(1.0), "requests.parquet"),
        kept(tmp_path, unjudged(1.0), "outcome.json", name="01-B"),
    ]
    assert behind(tmp_path, records, "requests.parquet") == Sources(
        (Link("00-A", "00-A/requests.parquet"),), ("01-B/requests.parquet",)
    )
