"""Who is to blame for a crash."""

from itertools import product

import pytest

from autotune.search.axes import Axes, Axis, Point
from autotune.search.blame import PAIR, SINGLE, blame

KNOBS = 6
SWITCHES = Axes(tuple(Axis(name=f"k{n}", levels=(False, True), ordered=False, baseline=0) for n in range(KNOBS)))
BASE = SWITCHES.baseline


def on(*knobs: int) -> Point:
    """Return the point with these switches on."""
    return tuple(int(n in knobs) for n in range(KNOBS))


def test_before_anything_happened_every_level_and_pair_is_a_little_suspect() -> None:
    innocent = (1 - SINGLE) ** KNOBS * (1 - PAIR) ** (KNOBS * (KNOBS - 1) // 2)
    assert blame(SWITCHES, well=[], wrong=[]).risk(BASE) == pytest.approx(1 - innocent)


def test_a_success_clears_everything_in_it() -> None:
    found = blame(SWITCHES, well=[on(0, 1, 2)], wrong=[])
    assert found.risk(on(0, 1, 2)) < 0.002
    assert found.risk(on(3)) > SINGLE


def test_a_crash_of_a_single_change_is_blamed_on_it() -> None:
    found = blame(SWITCHES, well=[BASE], wrong=[on(0)])
    assert found.risk(on(0)) > 5 * found.risk(on(1))


def test_a_second_crash_makes_what_both_share_the_suspect() -> None:
    once = blame(SWITCHES, well=[BASE], wrong=[on(0, 1)])
    twice = blame(SWITCHES, well=[BASE], wrong=[on(0, 1), on(0, 2)])
    assert twice.risk(on(0)) > once.risk(on(0))
    assert twice.risk(on(0)) > 0.5
    assert twice.risk(on(1)) < once.risk(on(1))


def test_a_pair_is_found_whose_levels_are_innocent_alone() -> None:
    well = [BASE, on(0), on(1), on(0, 2), on(1, 3)]
    found = blame(SWITCHES, well=well, wrong=[on(0, 1), on(0, 1, 2), on(0, 1, 3)])
    assert found.risk(on(0, 1)) > 0.9
    assert found.risk(on(0, 4)) < 0.1
    assert found.risk(on(1, 4)) < 0.1


def test_a_level_with_the_baselines_level_of_another_knob_is_a_pair_too() -> None:
    found = blame(SWITCHES, well=[BASE, on(0, 1), on(1), on(0, 1, 2)], wrong=[on(0), on(0, 2), on(0, 3)])
    assert found.risk(on(0)) > 0.9
    assert found.risk(on(0, 1)) < 0.05


def test_a_flaky_crash_of_what_ran_before_and_after_blames_nobody() -> None:
    found = blame(SWITCHES, well=[on(0, 1), on(0, 1)], wrong=[on(0, 1)])
    assert found.risk(on(0, 1)) < 0.01


def test_three_that_are_guilty_together_are_found_in_the_end() -> None:
    pairs = [on(0, 1), on(0, 2), on(1, 2)]
    few = blame(SWITCHES, well=pairs, wrong=[on(0, 1, 2)])
    many = blame(SWITCHES, well=pairs, wrong=[on(0, 1, 2), on(0, 1, 2, 3), on(0, 1, 2, 4), on(0, 1, 2, 5)])
    assert many.risk(on(0, 1, 2)) > few.risk(on(0, 1, 2))


def test_no_point_is_ever_certain_to_go_wrong() -> None:
    wrong = [point for point in product((0, 1), repeat=KNOBS) if point[0]]
    found = blame(SWITCHES, well=[BASE], wrong=wrong)
    assert 0.95 < found.risk(on(0)) < 1


def test_suspicions_count_what_went_wrong_and_never_well() -> None:
    found = blame(SWITCHES, well=[BASE, on(1)], wrong=[on(0, 1), on(0)])
    assert [found.suspicions(knob, 1) for knob in range(3)] == [2, 0, 0]
    assert found.suspicions(0, 0) == 0


def test_the_order_of_what_happened_does_not_matter() -> None:
    wrong = [on(0, 1), on(0, 2), on(3)]
    forth = blame(SWITCHES, well=[BASE, on(4)], wrong=wrong)
    back = blame(SWITCHES, well=[on(4), BASE], wrong=wrong[::-1])
    assert forth.risk(on(0, 3)) == pytest.approx(back.risk(on(0, 3)))
