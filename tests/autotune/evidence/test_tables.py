"""Tables: what a study holds as rows of text; nothing that was not measured has a number."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from autotune.compare import Ratio
from autotune.evidence import tables
from autotune.evidence.raw import Link, Sources
from autotune.folder import TrialRecord
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY, launch, launches, trial
from tests.support import judgement, measured, verdict
from trials.outcome import Judgement, Outcome

NUMBERS = ["objective", "change", "gate"]


def row(small: SearchSpace, record: TrialRecord) -> dict[str, object]:
    """Return a trial's row in the table of all trials; the baseline measured 100."""
    (found,) = tables.trials([record], small, 100.0).to_dict("records")
    return {str(column): cell for column, cell in found.items()}


@pytest.mark.parametrize(("share", "shown"), [(0.0512, "+5.1 %"), (-0.2, "-20.0 %"), (0.0, "+0.0 %"), (None, "")])
def test_a_change_is_signed_percent(share: float | None, shown: str) -> None:
    assert tables.percent(share) == shown


def test_an_interval_that_there_is_not_is_empty() -> None:
    none = Ratio(change=0.1, low=None, high=None, a=100.0, b=110.0)
    assert tables.interval(none) == ""
    assert tables.interval(replace(none, low=-0.01, high=0.21)) == "-1.0 % to +21.0 %"


def test_a_measured_trial_has_its_numbers(small: SearchSpace) -> None:
    assert row(small, trial(small, 1, measured(110.0, 110.0), threads=3, unified=True)) == {
        "trial": 1,
        "outcome": "measured",
        "objective": "110.0",
        "change": "+10.0 %",
        "gate": "pass: 1.000 [0.900, 1.000] of 64",
        "differs in": "threads=3, unified=true",
    }


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (MEMORY, "infeasible (memory): out of memory"),
        (LOST, "lost: node gone"),
        (None, "running"),
    ],
)
def test_what_was_not_measured_has_no_number(small: SearchSpace, outcome: Outcome | None, shown: str) -> None:
    found = row(small, trial(small, 1, outcome, threads=3))
    assert found["outcome"] == shown
    assert [found[column] for column in NUMBERS] == ["", "", ""]


def test_a_failed_gate_is_named(small: SearchSpace) -> None:
    found = row(small, trial(small, 1, measured(150.0, 150.0, gate=verdict(40, result="fail")), threads=3))
    assert (found["outcome"], found["gate"]) == ("measured, gate not passed", "fail: 0.625 [0.900, 1.000] of 64")


def test_the_baseline_differs_in_nothing(small: SearchSpace) -> None:
    assert row(small, trial(small, 0, measured(100.0, 100.0)))["differs in"] == "baseline"


def test_a_verdict_in_one_line_is_of_its_lowest_filter() -> None:
    one = verdict()
    lower = replace(one.filters[0], name="flexible-extract", accuracy=0.5, low=0.4, high=0.6, answered=63)
    assert tables.gate_line(replace(one, filters=(*one.filters, lower))) == "pass: 0.500 [0.400, 0.600] of 63"
    assert tables.gate_line(replace(one, result="invalid", filters=())) == "invalid"
    assert tables.gate_line(None) == ""


def test_the_winner_is_set_apart_knob_by_knob(small: SearchSpace) -> None:
    frame = tables.differing_knobs(trial(small, 1, None, cache="q8_0", unified=True), small)
    assert frame.to_dict("records") == [
        {"knob": "cache", "baseline": "f16", "winner": "q8_0", "note": "of the KV cache"},
        {"knob": "unified", "baseline": "false", "winner": "true", "note": ""},
    ]


def test_a_winner_like_the_baseline_leaves_the_columns(small: SearchSpace) -> None:
    assert list(tables.differing_knobs(trial(small, 1, None), small).columns) == ["knob", "baseline", "winner", "note"]


def paired(pairs: int, most_lost: float | None) -> Judgement:
    """Return a judgement by one filter, with its paired test."""
    figures = replace(verdict(60).filters[0], pairs=pairs, most_lost=most_lost, losses=5, wins=1)
    return judgement(replace(verdict(60), filters=(figures,)))


def test_the_gate_shows_every_filter_and_the_paired_test_where_there_is_one() -> None:
    alone, tested = paired(0, None), paired(64, 0.1123)
    nothing = judgement(replace(verdict(result="invalid"), filters=()))
    frame = tables.gate([("baseline", alone), ("trial 1", tested), ("trial 2", nothing)])
    assert list(frame["recipe"]) == ["baseline", "trial 1", "trial 2"]
    assert list(frame["right"]) == ["60 of 64", "60 of 64", "nothing answered"]
    assert list(frame["lost / won against baseline"]) == ["", "5 / 1", ""]
    assert list(frame["lost at most (95 %)"]) == ["", "11.23%", ""]
    assert list(frame["at once"]) == ["4", "4", "4"]
    assert list(frame["verdict"]) == ["pass", "pass", "invalid"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reached": "all", "asked": 64, "total": 64}, "64 of 64"),
        ({"reached": "certain", "asked": 60, "total": 64}, "60 of 64: the rest can't change it"),
        (
            {"reached": "sequential", "asked": 125, "total": 1319, "e_value": 123.4, "alpha": 0.01},
            "125 of 1319: e-value 123, needs 100",
        ),
    ],
)
def test_a_verdict_says_how_many_questions_it_took_and_why_not_more(changes: dict[str, Any], said: str) -> None:
    assert tables.how(replace(verdict(), **changes)) == said


def test_the_power_of_the_paired_test_is_said_where_there_is_one() -> None:
    assert tables.power([("baseline", paired(0, None))], 0.02) == ""
    assert tables.power([("trial 1", paired(64, 0.1123))], None) == ""
    said = tables.power([("trial 1", paired(64, 0.1123))], 0.02)
    assert said.startswith("strict-match: at most ")
    assert "margin 2.00%" in said


def test_launches_stand_in_the_order_they_ran(small: SearchSpace) -> None:
    records = [*launches("AB", 100.0, 110.0, candidate=7), launch(2, "B", LOST, candidate=7), launch(3, "B", None)]
    frame = tables.launches(records, small)
    assert list(frame["arm"]) == ["A: baseline", "B: trial 7", "B: trial 7", "B: trial 1"]
    assert list(frame["objective"]) == ["100.0", "110.0", "", ""]
    assert list(frame["outcome"]) == ["measured", "measured", "lost: node gone", "running"]


def test_a_point_that_was_not_steady_is_said_with_its_drift(small: SearchSpace) -> None:
    steady = measured(100.0, 110.0)
    first, second = steady.points
    never = replace(
        steady, points=(replace(first, steady=False, drift=-0.021), replace(second, steady=False, drift=None))
    )
    assert (
        row(small, trial(small, 0, never))["outcome"] == "measured, unsteady at 1 (drift -2.1 %), 2 (one warm-up run)"
    )


def test_a_cell_of_sources_is_links_and_what_is_missing() -> None:
    sources = Sources((Link("engine", "confirm/00-A/engine.log"),), ("confirm/00-A/outcome.json",))
    frame = tables.frame([{"launch": 0, "raw data": sources}])
    assert tables.cells(frame) == [["0", sources]]
    assert tables.markdown(frame).splitlines()[-1] == (
        "| 0 | [engine](confirm/00-A/engine.log) **missing: confirm/00-A/outcome.json** |"
    )
    assert "confirm/00-A/engine.log, MISSING confirm/00-A/outcome.json" in tables.plain(frame)


def test_rows_have_the_column_of_their_raw_data_where_it_is_given(small: SearchSpace) -> None:
    sources, records = Sources((Link("x", "x"),)), [trial(small, 0, measured(1.0, 1.0))]
    assert list(tables.trials(records, small, 1.0, [sources])["raw data"]) == [sources]
    assert "raw data" not in tables.trials(records, small, 1.0)
    assert list(tables.gate([("baseline", judgement())], [sources])["raw data"]) == [sources]


def test_a_markdown_table_has_a_head_and_a_line_a_row() -> None:
    frame = pd.DataFrame([{"a": 1, "b": "x"}, {"a": 2, "b": ""}])
    assert tables.markdown(frame).splitlines() == ["| a | b |", "| --- | --- |", "| 1 | x |", "| 2 |  |"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("one|two", r"one\|two"),
        ("two\nlines", "two lines"),
        ("two\r\nlines", "two lines"),
        (r"an escaped \| too", r"an escaped \\\| too"),
    ],
)
def test_a_cell_cannot_break_its_table(text: str, cell: str) -> None:
    assert tables.markdown(pd.DataFrame([{"a": text}])).splitlines()[-1] == f"| {cell} |"


def test_a_table_for_a_terminal_has_no_index() -> None:
    assert tables.plain(pd.DataFrame([{"a": "x"}])).split() == ["a", "x"]
