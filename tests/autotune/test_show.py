"""What a study looks like while it runs: at a terminal, in a log, and to a program."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from autotune.cli.show import OnTerminal, duration, sentence, showing, summary
from autotune.confirm import Conclusion
from autotune.events import (
    Changes,
    Event,
    LaunchEnded,
    LaunchStarted,
    SearchEnded,
    Standings,
    StudyEnded,
    TrialEnded,
    TrialStarted,
)
from autotune.folder import StudyFolder
from autotune.status import status
from search_spaces import SearchSpace
from tests.autotune.drivers import begun, driven
from tests.autotune.studies import LOST, MEMORY, trial
from tests.support import measured
from trials import outcome as outcomes

AT_START = Standings(baseline=None, best=None, trials_left=4, left_s=None)
LATER = Standings(baseline=100.0, best=(1, 110.0), trials_left=3, left_s=90.0)
CHANGES: Changes = {"cache": ("f16", "q8_0"), "unified": (False, True)}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@pytest.fixture
def study(tmp_path: Path, small: SearchSpace) -> StudyFolder:
    """Return a study whose baseline and first trial were measured."""
    folder = begun(tmp_path, small)
    for number, (rate, threads) in enumerate([(100.0, 2), (110.0, 1)]):
        asked = trial(small, number, None, threads=threads)
        made = folder.new_trial(number, asked.config, asked.fingerprint)
        outcomes.write(made / "outcome.json", measured(rate, rate))
    return folder


@pytest.fixture
def events(small: SearchSpace) -> list[Event]:
    """Return one event of each kind, and each kind of outcome."""
    base = trial(small, 0, measured(100.0, 100.0))
    return [
        TrialStarted(number=0, changes={}, standings=AT_START),
        TrialEnded(number=1, changes=CHANGES, outcome=measured(110.0, 110.0), value=110.0, standings=LATER),
        TrialEnded(number=2, changes=CHANGES, outcome=MEMORY, value=None, standings=LATER),
        TrialEnded(number=3, changes=CHANGES, outcome=LOST, value=None, standings=LATER),
        SearchEnded("the budget is spent"),
        LaunchStarted(number=0, arm="A", candidate=1),
        LaunchEnded(number=0, arm="B", candidate=1, outcome=measured(108.0, 108.0), value=108.0),
        StudyEnded(Conclusion(result="no candidate", winner=base, standings=())),
    ]


def test_events_are_sentences_on_one_line(events: list[Event]) -> None:
    said = [sentence(event) for event in events if not isinstance(event, StudyEnded)]
    assert said == [
        "baseline: the baseline",
        "trial 1: 110.0 tok/s/GPU (+10.0 %), gate pass: 1.000 [0.900, 1.000] of 64  cache=q8_0 unified=true",
        "trial 2: infeasible (memory): out of memory  cache=q8_0 unified=true",
        "trial 3: lost: node gone  cache=q8_0 unified=true",
        "search ended: the budget is spent; confirming on fresh launches",
        "launch 0 A (baseline)",
        "launch 0 B (trial 1): 108.0 tok/s/GPU, gate pass: 1.000 [0.900, 1.000] of 64",
    ]


def test_in_a_log_each_event_is_one_line_with_its_time(
    study: StudyFolder, events: list[Event], capsys: pytest.CaptureFixture[str]
) -> None:
    with showing(study, as_json=False) as show:
        for event in events:
            show.event(event)
        show.interrupted()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(events) + 1
    assert all(re.match(rf"{TIME} \S", line) for line in lines)
    assert lines[2].endswith("unified=true; best so far trial 1 110.0 (+10.0 %), 3 trials left, about 90 s to the end")
    assert lines[-1].endswith("interrupted; nothing measured is lost: autotune resume one")


def test_for_a_program_each_event_is_a_json_object_on_one_line_and_there_is_nothing_else(
    study: StudyFolder, events: list[Event], capsys: pytest.CaptureFixture[str]
) -> None:
    with showing(study, as_json=True) as show:
        for event in events:
            show.event(event)
        show.interrupted()
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(re.fullmatch(TIME, record.pop("time")) and record.pop("study") == "one" for record in records)
    best = {"baseline": 100.0, "best": {"trial": 1, "value": 110.0}, "trials_left": 3, "left_s": 90.0}
    tried = {"changes": {"cache": "q8_0", "unified": True}, **best}
    seconds: dict[str, float] = {"start": 1.0, "load": 8.0, "judge": 20.0}
    none = {"baseline": None, "best": None, "trials_left": 4, "left_s": None}
    fine = {"outcome": "measured", "seconds": seconds, "gate": "pass", "not_in_effect": list[str]()}
    failed = {
        "outcome": "infeasible",
        "seconds": dict[str, float](),
        "failure": "memory",
        "reason": "out of memory",
        "value": None,
    }
    lost = {"outcome": "lost", "seconds": dict[str, float](), "reason": "node gone", "value": None}
    assert records == [
        {"event": "trial_started", "trial": 0, "changes": {}, **none},
        {"event": "trial_ended", "trial": 1, **tried, **fine, "value": 110.0},
        {"event": "trial_ended", "trial": 2, **tried, **failed},
        {"event": "trial_ended", "trial": 3, **tried, **lost},
        {"event": "search_ended", "why": "the budget is spent"},
        {"event": "launch_started", "launch": 0, "stage": "confirm", "arm": "A", "candidate": 1},
        {"event": "launch_ended", "launch": 0, "stage": "confirm", "arm": "B", "candidate": 1, **fine, "value": 108.0},
        {"event": "study_ended", "result": "no candidate", "winner": 0},
    ]


def test_at_a_terminal_what_began_moves_and_what_ended_stays(study: StudyFolder, events: list[Event]) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=200, highlight=False, soft_wrap=True)
    with console.status("") as moving:
        show = OnTerminal(study, console, moving)
        for event in events:
            show.event(event)
        assert "launch 0 A (baseline)" in str(moving.status)
    stays = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.getvalue())
    assert "search ended: the budget is spent" in stays
    assert "  best so far trial 1 110.0 (+10.0 %), 3 trials left, about 90 s to the end\n" in stays


@pytest.mark.parametrize(("seconds", "words"), [(90.0, "90 s"), (150.0, "2 min"), (9000.0, "2.5 h")])
def test_a_duration_is_said_in_its_own_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_study_that_was_left_is_summed_up_with_its_trials(study: StudyFolder) -> None:
    first, table, best = summary(study, whole=True)
    assert first == "one: not finished, 2 trials ended, 0 launches of confirmation"
    assert "threads=1" in table
    assert best == "best in the search: trial 1, +10.0 % against the baseline"


def test_a_study_says_whether_it_runs_and_what_it_knows(study: StudyFolder) -> None:
    known = {
        "study": "one",
        "emulated": False,
        "trials": 2,
        "launches": 0,
        "baseline": pytest.approx(100.0),
        "result": None,
    }
    best = {"trial": 1, "value": pytest.approx(110.0)}
    assert status(study).record() == {**known, "state": "not finished", "best": best, "winner": None}
    with driven(study):
        assert status(study).state == "running"
    study.finish("2026-01-02T03:04:05+00:00")
    assert status(study).record() == {**known, "state": "done", "best": best, "result": "undecided", "winner": 0}
    assert len(list(summary(study, whole=False))) == 3


def test_a_study_without_a_trial_has_no_numbers(tmp_path: Path, small: SearchSpace) -> None:
    record = status(begun(tmp_path, small)).record()
    assert (record["trials"], record["baseline"], record["best"]) == (0, None, None)
