"""What all trials of a study say together."""

import math

import pytest

from autotune.search.additive import features
from autotune.search.axes import Axes, Axis, Point
from autotune.search.beliefs import FLIP, Beliefs, beliefs
from autotune.search.history import Told

KNOBS = 5
SWITCHES = Axes(tuple(Axis(name=f"k{n}", levels=(False, True), ordered=False, baseline=0) for n in range(KNOBS)))
BASE = SWITCHES.baseline
GATE = 0.95


def on(*knobs: int) -> Point:
    """Return the point with these switches on."""
    return tuple(int(n in knobs) for n in range(KNOBS))


def ran(point: Point, value: float, correct: int = 980, answered: int = 1000) -> Told:
    """Return a trial that was measured and asked so many questions."""
    violation = GATE - correct / answered
    return Told(point, value, violation=violation, correct=correct, answered=answered, threshold=GATE)


def known(*told: Told) -> Beliefs:
    """Return what these trials say."""
    return beliefs(SWITCHES, features(SWITCHES), told)


def test_before_anything_was_measured_the_baseline_is_the_incumbent() -> None:
    assert known().incumbent == BASE
    assert known(Told(on(0), None)).recommended == BASE


def test_the_incumbent_is_the_best_that_was_measured() -> None:
    assert known(ran(BASE, 100.0), ran(on(0), 120.0), ran(on(1), 90.0)).incumbent == on(0)


def test_a_change_that_brings_nothing_leaves_the_baseline() -> None:
    assert known(ran(BASE, 100.0), ran(on(0), 100.0)).incumbent == BASE
    assert FLIP > 0


def test_an_estimate_is_learned_from_but_never_the_incumbent() -> None:
    found = known(ran(BASE, 100.0), Told(on(0), 130.0, estimated=True))
    assert found.incumbent == BASE
    assert found.posterior.effects[0][1] > 0.02


def test_a_config_that_missed_the_gate_is_never_the_incumbent() -> None:
    found = known(ran(BASE, 100.0), ran(on(0), 130.0, correct=900))
    assert found.incumbent == BASE
    assert (found.losses.suspicions(0, 1), found.crashes.suspicions(0, 1)) == (1, 0)


def test_answers_of_several_launches_count_together() -> None:
    lucky, unlucky = ran(on(0), 120.0, 288, 300), ran(on(0), 121.0, 255, 300)
    assert known(ran(BASE, 100.0), lucky).incumbent == on(0)
    assert known(ran(BASE, 100.0), lucky, unlucky).incumbent == BASE


def test_what_passed_by_less_than_a_standard_error_is_not_recommended_yet() -> None:
    close = ran(on(0), 120.0, 287, 300)
    found = known(ran(BASE, 100.0), close)
    assert (found.incumbent, found.recommended) == (on(0), BASE)
    again = ran(on(0), 120.5, 1280, 1319)
    assert known(ran(BASE, 100.0), close, again).recommended == on(0)


def test_a_gate_without_counts_goes_by_its_constraint() -> None:
    assert known(ran(BASE, 100.0), Told(on(0), 130.0, violation=0.95)).incumbent == BASE
    assert known(ran(BASE, 100.0), Told(on(0), 130.0, violation=-0.01)).recommended == on(0)


def test_an_unjudged_trial_neither_clears_nor_accuses_anybody() -> None:
    before = known(ran(BASE, 100.0)).losses.risk(on(0))
    assert known(ran(BASE, 100.0), Told(on(0), 101.0)).losses.risk(on(0)) == pytest.approx(before)


def test_a_crash_is_blamed_and_a_success_clears() -> None:
    crashed = known(ran(BASE, 100.0), Told(on(0), None), Told(on(0, 1), None))
    assert crashed.risk(on(0)) > 0.5
    assert known(ran(BASE, 100.0), Told(on(0, 1), None), ran(on(0), 99.0)).crashes.risk(on(0)) < 0.01


def test_a_level_that_ruins_throughput_is_blamed_for_it() -> None:
    found = known(*[ran(BASE, 100.0 + n) for n in range(4)], ran(on(0), 40.0), ran(on(0, 1), 41.0), ran(on(1), 101.0))
    assert found.ruins.risk(on(0)) > 0.5
    assert found.ruins.risk(on(1)) < 0.01


def test_a_lucky_launch_is_not_believed_as_it_stands() -> None:
    found = known(*[ran(BASE, 100.0 + n / 10) for n in range(6)], ran(on(0), 110.0))
    assert 0 < found.scores[on(0)] < math.log(1.1)


def test_repeats_say_how_noisy_a_launch_is() -> None:
    quiet = known(*[ran(BASE, 100.0 + n / 100) for n in range(20)], ran(on(0), 105.0))
    noisy = known(*[ran(BASE, 100.0 + 8 * (n % 2)) for n in range(20)], ran(on(0), 105.0))
    assert quiet.posterior.deviations[0][1] < noisy.posterior.deviations[0][1]
