"""Two recipes side by side: the steady rate and the full run beside it, what a user sees, and what was not steady."""

from dataclasses import replace
from pathlib import Path

from autotune.compare import LaunchValues, compare
from autotune.evidence import sides
from autotune.evidence.raw import Sources
from autotune.evidence.tables import Row
from autotune.folder import LaunchRecord
from tests.autotune.studies import launches
from trials.outcome import Measured

METRIC = "total_tok_per_s_per_gpu"
A, B = launches("AA", 100.0, 100.0), launches("BB", 120.0, 120.0)
COMPARED = compare([LaunchValues(100.0, {1: 100.0, 2: 100.0})] * 2, [LaunchValues(120.0, {1: 120.0, 2: 120.0})] * 2)


def changed(record: LaunchRecord, **changes: object) -> LaunchRecord:
    """Return a launch whose first point was measured otherwise."""
    assert isinstance(record.outcome, Measured)
    first, *others = record.outcome.points
    points = (replace(first, **changes), *others)  # type: ignore[arg-type]  # a test says which
    return replace(record, outcome=replace(record.outcome, points=points))


def rows(*b: LaunchRecord) -> list[Row]:
    return sides.throughput(COMPARED, A, b or B, metric=METRIC, root=Path())


def test_they_stand_at_every_concurrency_and_over_the_ladder() -> None:
    found = rows()
    assert [row["concurrency"] for row in found] == ["1", "2", "all, geometric mean"]
    assert {(row["baseline"], row["candidate"], row["change"]) for row in found} == {("100.0", "120.0", "+20.0 %")}
    assert {row["99 % interval"] for row in found} == {"+20.0 % to +20.0 %"}


def test_the_full_run_stands_beside_the_steady_rate() -> None:
    assert isinstance(B[0].outcome, Measured)
    whole = replace(B[0].outcome.points[0].full_run, tput_per_gpu=105.0)
    first, second, ladder = rows(changed(B[0], full_run=whole), changed(B[1], full_run=whole))
    assert (first["full run: baseline"], first["full run: candidate"], first["full run: change"]) == (
        "100.0",
        "105.0",
        "+5.0 %",
    )
    assert second["full run: change"] == "+20.0 %"
    assert ladder["full run: change"] == "+12.2 %"  # the geometric mean of both


def test_an_unsteady_point_is_flagged_in_its_row_alone() -> None:
    first, second, _ = rows(changed(B[0], steady=False, drift=0.031), B[1])
    assert first["steady"] == "UNSTEADY: 00-B: drift +3.1 %"
    assert second["steady"] == "yes"
    assert sides.drifting([changed(B[0], steady=False, drift=None)]) == ("1 in 00-B (one warm-up run)",)


def test_every_row_leads_to_the_requests_of_each_launch() -> None:
    files = rows()[0]["raw data"]
    assert isinstance(files, Sources)
    assert [*files.missing] == [f"confirm/{name}/requests.parquet" for name in ("00-A", "01-A", "00-B", "01-B")]


def test_what_a_user_sees_is_given_with_its_change() -> None:
    first, second = sides.users(A, B, root=Path())
    assert first["total tok/s/GPU"] == "100.0 / 120.0 (+20.0 %)"
    assert first["TTFT p50, ms"] == "10.0 / 10.0 (+0.0 %)"
    assert "power, W" not in first
    assert second["concurrency"] == "2"


def test_power_is_there_where_a_tool_told_it_and_nothing_is_made_up_where_not() -> None:
    told = [changed(each, power_w=700.0, tok_per_s_per_watt=0.17) for each in B]
    first, second = sides.users(A, told, root=Path())
    assert first["power, W"] == " / 700"
    assert second["power, W"] == " / "
    assert first["tok/s/W"] == " / 0.17"
