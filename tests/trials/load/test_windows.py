"""The steady stretch of loops whose true rate is known, and what may be read from it."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median

import pytest

from tests.loops import TOKENS_PER_S, Draw, closed_loop, moved, ran, request
from trials.load.timing import RequestTiming
from trials.load.windows import Interval, cut, drift, rates, share, slope, steady, steady_stretch


def uneven(draw: random.Random) -> float:
    """Return what an answer of 80 to 100 % of its length takes, as InferenceX draws them."""
    return draw.uniform(0.8, 1.0)


def exponential(draw: random.Random) -> float:
    """Return a duration whose coefficient of variation is 1, none too short to hold a token."""
    return 0.05 + draw.expovariate(1.0)


def even(_: random.Random) -> float:
    """Return the same duration each time: all slots go in step."""
    return 1.0


def stretch_of(timings: Sequence[RequestTiming], concurrency: int) -> Interval:
    """Return the steady stretch of a closed loop that has one."""
    found = steady_stretch(timings, concurrency, open_loop=False)
    assert found is not None
    return found


def measured(seconds: Draw, concurrency: int, waves: int, *, runs: int) -> tuple[float, float]:
    """Return, relative to the truth, the mean over runs of the windows' median and of the whole run's rate."""
    draw, true = random.Random(0), concurrency * TOKENS_PER_S  # noqa: S311 a simulation, not a secret
    windows, wholes = [], []
    for _ in range(runs):
        run = ran(closed_loop(concurrency, waves, draw, seconds))
        parts = cut(stretch_of(run.timings, concurrency), 3)
        windows.append(median(rates(run.timings, part).output for part in parts) / true)
        wholes.append(rates(run.timings, (run.begun_s, run.ended_s)).output / true)
    return fmean(windows), fmean(wholes)


@pytest.mark.parametrize("concurrency", [1, 4, 16, 64])
@pytest.mark.parametrize("seconds", [even, uneven, exponential])
def test_the_rate_in_the_windows_is_the_true_rate(seconds: Draw, concurrency: int) -> None:
    windows, _ = measured(seconds, concurrency, 10, runs=max(5, 200 // concurrency))
    assert windows == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(("waves", "bias"), [(2, 0.90), (10, 0.946), (20, 0.972)])
def test_a_whole_run_is_as_much_too_slow_as_its_tail_is_long(waves: int, bias: float) -> None:
    _, whole = measured(uneven, 512, waves, runs=5)
    assert whole == pytest.approx(bias, abs=0.01)


def test_the_stretch_begins_when_as_many_have_ended_as_there_are_slots() -> None:
    timings = [request(n, n % 2, n // 2 * 1.0, 1.0 + n % 2 / 10) for n in range(8)]
    assert stretch_of(timings, 2)[0] == pytest.approx(1.1)


def test_the_stretch_ends_when_the_first_of_few_slots_has_nothing_left_to_do() -> None:
    last_s = {slot: 4.0 + slot / 10 for slot in range(4)}
    timings = [request(4 * wave + slot, slot, wave, 1.0) for wave in range(3) for slot in range(4)]
    timings += [request(12 + slot, slot, 3.0, end_s - 3.0) for slot, end_s in last_s.items()]
    assert stretch_of(timings, 4) == (1.0, 4.0)


def test_the_stretch_lasts_while_95_of_100_slots_have_something_to_do() -> None:
    timings = [request(100 * wave + slot, slot, wave, 1.0) for wave in range(3) for slot in range(100)]
    timings += [request(300 + slot, slot, 3.0, 1.0 + slot / 100) for slot in range(100)]
    assert stretch_of(timings, 100)[1] == pytest.approx(4.05)


def test_a_moment_between_two_requests_of_a_slot_is_no_end() -> None:
    timings = [request(n, 0, n * 1.0, 0.9) for n in range(10)]
    assert stretch_of(timings, 1) == pytest.approx((0.9, 9.9))


def test_lists_of_several_processes_that_run_dry_apart_end_it_with_the_first() -> None:
    timings = [request(n, n % 2, n // 2 * 1.0, 1.0) for n in range(8)]
    timings += [request(8 + n, 1, 4.0 + n, 1.0) for n in range(4)]
    assert stretch_of(timings, 2) == (1.0, 4.0)


def test_what_arrives_at_a_rate_is_steady_until_the_last_is_sent() -> None:
    timings = [request(n, n % 4, n / 2, 1.0) for n in range(20)]
    assert steady_stretch(timings, 4, open_loop=True) == (2.5, 9.5)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_run_no_longer_than_its_first_burst_has_no_steady_stretch(count: int) -> None:
    timings = [request(n, n, 0.0, 1.0) for n in range(count)]
    assert steady_stretch(timings, 4, open_loop=False) is None


def test_windows_are_equal_and_leave_nothing_out() -> None:
    parts = cut((1.0, 10.0), 3)
    assert parts == ((1.0, 4.0), (4.0, 7.0), (7.0, 10.0))
    assert all(before[1] == after[0] for before, after in pairwise(parts))


@pytest.mark.parametrize(
    ("interval", "part"),
    [((0.0, 10.0), 1.0), ((3.0, 4.0), 0.5), ((0.0, 2.5), 0.25), ((3.5, 9.0), 0.25), ((4.0, 5.0), 0), ((0.0, 2.0), 0)],
)
def test_a_request_counts_by_the_share_of_its_time_that_is_inside(interval: Interval, part: float) -> None:
    assert share(request(0, 0, 2.0, 2.0), interval) == part


def test_a_request_that_took_no_time_is_inside_or_not() -> None:
    assert [share(request(0, 0, 2.0, 0.0), interval) for interval in ((1.0, 2.0), (2.0, 3.0))] == [0.0, 1.0]


def test_input_and_output_are_rates_of_their_own() -> None:
    one = replace(request(0, 0, 0.0, 4.0, tokens=8), prompt_tokens=20)
    found = rates([one, moved(one, 2.0)], (2.0, 4.0))
    assert (found.input, found.output, found.total) == (10.0, 4.0, 14.0)


def test_a_count_that_the_server_did_not_send_adds_nothing() -> None:
    silent = replace(request(0, 0, 0.0, 1.0), prompt_tokens=None, completion_tokens=None)
    assert rates([silent], (0.0, 1.0)).total == 0


def test_in_no_time_nothing_is_done() -> None:
    assert rates([], (3.0, 3.0)).total == 0


def test_drift_is_relative_to_the_earlier_run() -> None:
    assert drift(100.0, 103.0) == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("change", "window_sd", "alike"),
    [(0.009, None, True), (-0.009, None, True), (0.011, None, False), (0.02, 0.01, True), (-0.03, 0.01, False)],
)
def test_two_runs_are_alike_within_a_percent_or_what_windows_differ_by(
    change: float, window_sd: float | None, *, alike: bool
) -> None:
    assert steady(change, window_sd) is alike


def slowing(by: float, *, noise: float, seed: int = 0) -> list[RequestTiming]:
    """Return a loop of four slots over 20 waves that ends slower by so much than it began."""
    draw = random.Random(seed)  # noqa: S311 a simulation, not a secret
    free, timings = [0.0] * 4, []
    for number in range(80):
        slot = min(range(4), key=free.__getitem__)
        lasting_s = (1 + by * free[slot] / 20) * draw.gauss(1.0, noise)
        timings.append(request(number, slot, free[slot], lasting_s))
        free[slot] += lasting_s
    return timings


def test_a_loop_that_slows_down_has_that_slope_and_a_small_error() -> None:
    timings = slowing(0.1, noise=0.005)
    found = slope(timings, stretch_of(timings, 4))
    assert found is not None
    assert found.change == pytest.approx(-0.09, abs=0.02)
    assert found.standard_error < 0.01


def test_noise_alone_is_seldom_a_slope_of_five_standard_errors() -> None:
    loops = [slowing(0.0, noise=0.02, seed=seed) for seed in range(200)]
    found = [slope(timings, stretch_of(timings, 4)) for timings in loops]
    assert sum(abs(one.change) > max(0.02, 4.9 * one.standard_error) for one in found if one) <= 4


def test_a_run_of_few_waves_has_no_slope_that_means_anything() -> None:
    timings = closed_loop(4, 4, random.Random(0), even)  # noqa: S311 a simulation, not a secret
    assert slope(timings, stretch_of(timings, 4)) is None


def test_a_loop_without_a_token_has_no_slope() -> None:
    timings = [replace(request(n, 0, n, 1.0), completion_tokens=0) for n in range(20)]
    assert slope(timings, (1.0, 19.0)) is None
