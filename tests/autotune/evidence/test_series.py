"""What plots show is taken from the right places: launches before search scores, nothing for what was not measured."""

from pathlib import Path

import pytest

from autotune.evidence import gather, series
from autotune.evidence.series import Step
from tests.autotune.evidence.whole import whole


def test_recipes_are_drawn_from_their_fresh_launches(tmp_path: Path) -> None:
    baseline, candidate = series.curves(gather(whole(tmp_path)))
    assert (baseline.name, candidate.name) == ("baseline, 3 fresh launches", "trial 1, 3 fresh launches")
    assert [spot.concurrency for spot in baseline.means] == [1, 2]
    assert [run[0].throughput for run in baseline.runs] == pytest.approx([100.2, 99.5, 100.4])
    assert baseline.means[0].throughput == pytest.approx((100.2 * 99.5 * 100.4) ** (1 / 3))
    assert candidate.means[1].interactivity == pytest.approx((110.3 * 111.0 * 110.6) ** (1 / 3) * 0.8)


def test_without_launches_they_are_drawn_from_the_search_and_say_so(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for path in (folder.root / "confirm").glob("*/launch.json"):
        path.unlink()
    baseline, candidate = series.curves(gather(folder))
    assert (baseline.name, candidate.name) == ("baseline, search only", "trial 1, search only")
    assert [len(curve.runs) for curve in (baseline, candidate)] == [1, 1]
    assert candidate.means[0].throughput == pytest.approx(112.0)


def test_one_launch_is_no_plural(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for path in sorted((folder.root / "confirm").glob("*/launch.json"))[1:]:
        path.unlink()
    assert [curve.name for curve in series.curves(gather(folder))] == [
        "baseline, 1 fresh launch",
        "trial 1, search only",
    ]


def test_behind_them_are_the_trials_that_passed(tmp_path: Path) -> None:
    searched = series.searched(gather(whole(tmp_path)))
    assert [spots[0].throughput for spots in searched] == [100.0, 112.0, 96.0]


def test_every_trial_that_ended_is_a_step_and_only_what_was_measured_has_a_value(tmp_path: Path) -> None:
    steps = series.steps(gather(whole(tmp_path)))
    assert [(step.number, step.kind) for step in steps] == [
        (0, "passed"),
        (1, "passed"),
        (2, "infeasible"),
        (3, "lost"),
        (4, "gate not passed"),
        (5, "passed"),
    ]
    assert [step.value is None for step in steps] == [False, False, True, True, False, False]


def test_a_trial_under_way_is_no_step(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder.root / "trials/0005/outcome.json").unlink()
    assert [step.number for step in series.steps(gather(folder))] == [0, 1, 2, 3, 4]


def test_the_best_so_far_starts_with_the_first_pass_and_never_falls() -> None:
    steps = [
        Step(number=0, kind="gate not passed", value=9.0),
        Step(number=1, kind="passed", value=5.0),
        Step(number=2, kind="infeasible", value=None),
        Step(number=3, kind="passed", value=4.0),
        Step(number=4, kind="passed", value=6.0),
    ]
    assert series.best_so_far(steps) == ((1, 5.0), (2, 5.0), (3, 5.0), (4, 6.0))
    assert series.best_so_far(steps[:1]) == ()


@pytest.mark.parametrize(
    ("correct", "shares"),
    [
        ([], ()),
        ([True, False], ((1, 1.0), (2, 0.5))),
        ([None, True, None, False], ((2, 1.0), (4, 0.5))),
        ([None], ()),
    ],
)
def test_a_share_counts_answers_in_the_order_asked(
    correct: list[bool | None], shares: tuple[tuple[int, float], ...]
) -> None:
    assert series.shares(correct) == shares


def test_gates_are_those_of_the_confirmation_and_the_failed_ones_of_the_search(tmp_path: Path) -> None:
    gates = series.accumulations(gather(whole(tmp_path)))
    assert [(gate.name, gate.confirmed) for gate in gates] == [
        ("baseline", True),
        ("trial 1", True),
        ("trial 4", False),
    ]
    assert [gate.shares[-1] for gate in gates] == [(64, 63 / 64), (64, 62 / 64), (64, 56 / 64)]
    assert [gate.low < gate.shares[-1][1] < gate.high for gate in gates] == [True] * 3
