"""Every formula by numbers worked out by hand, and the rate of a closed loop against one whose rate is known."""

import random
from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from statistics import fmean

import pytest

from tests.support import point
from trials.load.metrics import (
    RequestTiming,
    Spread,
    e2el_ms,
    inside,
    objective,
    spread,
    summarise,
    tok_per_s,
    tpot_ms,
    ttft_ms,
)


def timing(
    sent_s: float,
    ended_s: float,
    *,
    slot: int = 0,
    first_token_s: float | None = None,
    prompt_tokens: int | None = 10,
    completion_tokens: int | None = 5,
) -> RequestTiming:
    """Return a request without trouble."""
    return RequestTiming(
        slot=slot,
        sent_s=sent_s,
        first_token_s=first_token_s,
        ended_s=ended_s,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )


REQUEST = timing(10.0, 12.5, first_token_s=10.5, completion_tokens=5)


def test_time_to_first_token_counts_from_the_send() -> None:
    assert ttft_ms(REQUEST) == 500.0


def test_time_per_output_token_leaves_the_first_token_out() -> None:
    assert tpot_ms(REQUEST) == 2000.0 / 4


def test_end_to_end_latency_is_from_the_send_to_the_end_of_the_stream() -> None:
    assert e2el_ms(REQUEST) == 2500.0


def test_without_content_there_is_no_first_token_to_time() -> None:
    assert ttft_ms(replace(REQUEST, first_token_s=None)) is None
    assert tpot_ms(replace(REQUEST, first_token_s=None)) is None


@pytest.mark.parametrize("tokens", [None, 0, 1])
def test_fewer_than_two_tokens_have_no_time_between_them(tokens: int | None) -> None:
    assert tpot_ms(replace(REQUEST, completion_tokens=tokens)) is None


def test_two_tokens_have_one_time_between_them() -> None:
    assert tpot_ms(replace(REQUEST, completion_tokens=2)) == 2000.0


def test_a_spread_interpolates_between_the_values_that_are_there() -> None:
    assert spread([None, 1.0, 2.0, 3.0, None, 4.0, 5.0]) == Spread(mean=3.0, p50=3.0, p90=4.6, p99=4.96)


def test_the_spread_of_one_value_is_that_value() -> None:
    assert spread([7.0]) == Spread(mean=7.0, p50=7.0, p90=7.0, p99=7.0)


@pytest.mark.parametrize("values", [[], [None, None]])
def test_no_value_has_no_spread(values: list[float | None]) -> None:
    with pytest.raises(ValueError, match="no value to take a percentile of"):
        spread(values)


def test_a_request_over_an_edge_is_in_no_window() -> None:
    early, first, last, late = timing(0.9, 1.5), timing(1.0, 1.5), timing(1.5, 2.0), timing(1.5, 2.1)
    assert inside([early, first, last, late], 1.0, 2.0) == [first, last]


def test_the_rate_of_a_loop_is_the_sum_of_its_slots_rates() -> None:
    slow = [timing(0.0, 2.0), timing(2.0, 4.0)]  # 20 in and 10 out in 4 s
    fast = [timing(1.0, 2.0, slot=1), timing(2.0, 3.0, slot=1), timing(3.0, 3.5, slot=1)]  # 30 and 15 in 2.5 s
    assert tok_per_s([*slow, *fast]) == pytest.approx((20 / 4 + 30 / 2.5, 10 / 4 + 15 / 2.5))


def test_a_pause_between_two_requests_is_time_spent() -> None:
    assert tok_per_s([timing(0.0, 1.0), timing(3.0, 4.0)]) == (5.0, 2.5)


def test_the_order_of_the_timings_is_nothing_to_the_rate() -> None:
    timings = [timing(0.0, 2.0), timing(1.0, 3.0, slot=1), timing(2.0, 4.0), timing(3.0, 6.0, slot=1)]
    assert tok_per_s(timings[::-1]) == tok_per_s(timings)


def test_rates_are_the_median_of_the_windows_and_latencies_pool_all_requests() -> None:
    windows = [
        [timing(start, start + seconds, first_token_s=start + seconds / 5, completion_tokens=5)]
        for start, seconds in ((0.0, 1.0), (10.0, 2.0), (20.0, 5.0))
    ]
    summary = summarise(windows, concurrency=1, gpus=2)
    assert (summary.concurrency, summary.gpus, summary.requests) == (1, 2, 3)
    assert (summary.input_tokens, summary.output_tokens) == (10.0, 5.0)
    assert (summary.output_tok_per_s, summary.total_tok_per_s) == (2.5, 7.5)
    assert (summary.output_tok_per_s_per_gpu, summary.total_tok_per_s_per_gpu) == (1.25, 3.75)
    assert astuple(summary.ttft_ms) == pytest.approx((1600 / 3, 400, 880, 988))
    assert astuple(summary.tpot_ms) == pytest.approx((1600 / 3, 400, 880, 988))
    assert astuple(summary.e2el_ms) == pytest.approx((8000 / 3, 2000, 4400, 4940))
    assert summary.intvty == pytest.approx(2.5)


def test_a_count_that_the_server_did_not_send_adds_nothing() -> None:
    silent = timing(0.0, 1.0, prompt_tokens=None, completion_tokens=None)
    assert tok_per_s([silent, timing(1.0, 2.0)]) == (5.0, 2.5)


def test_the_objective_is_a_geometric_mean() -> None:
    points = [point(2.0, concurrency=1), point(8.0, concurrency=4)]
    assert objective(points, "total_tok_per_s_per_gpu", {}) == pytest.approx(4.0)


def test_a_weight_counts_a_point_as_often_and_one_without_counts_once() -> None:
    points = [point(2.0, concurrency=1), point(16.0, concurrency=4)]
    assert objective(points, "total_tok_per_s_per_gpu", {1: 2.0}) == pytest.approx((2 * 2 * 16) ** (1 / 3))


def test_the_objective_reads_the_metric_that_it_is_told() -> None:
    one = replace(point(2.0), output_tok_per_s_per_gpu=3.0)
    assert objective([one], "output_tok_per_s_per_gpu", {}) == pytest.approx(3.0)


Draw = Callable[[random.Random], float]
TOKENS = 15  # of one request of `timing`, in and out


def even(mean_s: float) -> Draw:
    """Return durations within a tenth of `mean_s`."""
    return lambda draw: draw.uniform(0.9 * mean_s, 1.1 * mean_s)


def closed_loop(slots: dict[int, Draw], until_s: float, draw: random.Random) -> Iterator[RequestTiming]:
    """Yield the requests of slots that send without pause, each from a beginning of its own."""
    for slot, duration in slots.items():
        now_s = -draw.uniform(0.0, duration(draw))
        while now_s < until_s:
            ended_s = now_s + duration(draw)
            yield timing(now_s, ended_s, slot=slot)
            now_s = ended_s


def relative(estimate: Callable[[list[RequestTiming], float], float], slots: dict[int, Draw], window_s: float) -> float:
    """Return the mean of an estimate of tok/s over many windows, relative to the true rate."""
    draw = random.Random(0)  # noqa: S311 a simulation, not a secret
    true = sum(TOKENS / fmean(duration(draw) for _ in range(20_000)) for duration in slots.values())
    start_s = 20.0
    return fmean(
        estimate(inside(closed_loop(slots, start_s + window_s, draw), start_s, start_s + window_s), window_s) / true
        for _ in range(1000)
    )


UNEQUAL = {slot: even(mean_s) for slot, mean_s in enumerate((1.0, 1.7, 2.3, 3.1, 3.9))}


def test_the_rate_of_slots_that_take_unequally_long_is_unbiased() -> None:
    assert relative(lambda timings, _: sum(tok_per_s(timings)), UNEQUAL, 12.0) == pytest.approx(1.0, rel=0.01)


def test_tokens_over_the_length_of_the_window_would_be_biased() -> None:
    assert relative(lambda timings, window_s: TOKENS * len(timings) / window_s, UNEQUAL, 12.0) < 0.9


def test_the_bias_that_is_left_is_the_squared_variation_over_the_count() -> None:
    exponential: dict[int, Draw] = {0: lambda draw: draw.expovariate(1.0)}  # its coefficient of variation is 1
    assert relative(lambda timings, _: sum(tok_per_s(timings)), exponential, 20.0) == pytest.approx(
        1 + 1 / 20, abs=0.02
    )
