"""Every formula by numbers worked out by hand."""

import math
import random
from dataclasses import astuple, replace
from typing import Any

import pytest

from search_spaces import Slo, Workload
from tests.loops import IDLE, closed_loop, ran, request
from trials.load.metrics import (
    NotSteady,
    PointMetrics,
    Ran,
    RequestTiming,
    Spread,
    Warmth,
    e2el_ms,
    full_run,
    goodput,
    objective,
    queue_ms,
    spread,
    summarise,
    tokens_per_chunk,
    tpot_ms,
    ttft_ms,
)

REQUEST = RequestTiming(
    number=0,
    slot=0,
    due_s=9.75,
    sent_s=10.0,
    first_token_s=10.5,
    last_token_s=12.5,
    ended_s=12.75,
    asked_input_tokens=10,
    asked_output_tokens=5,
    prompt_tokens=10,
    completion_tokens=5,
    chunks=5,
    gaps_s=(0.5, 0.5, 0.5, 0.5),
)


def workload(**keys: Any) -> Workload:  # noqa: ANN401 fields
    """Return a workload with these keys."""
    return Workload.model_validate({"input_tokens": 10, "output_tokens": 5, "concurrency": (1,), **keys})


def point_of(
    run: Ran, load: Workload, *, concurrency: int = 1, gpus: int = 1, hits: float | None = None
) -> PointMetrics:
    """Return the metrics of a run after two warm-up runs that were alike."""
    warmth = Warmth(steady=True, drift=0.004, runs=2)
    return summarise(run, load, concurrency=concurrency, gpus=gpus, warmth=warmth, prefix_hit_share=hits)


def test_time_to_first_token_counts_from_the_send() -> None:
    assert ttft_ms(REQUEST) == 500.0


def test_time_per_output_token_leaves_the_first_token_out() -> None:
    assert tpot_ms(REQUEST) == 2000.0 / 4


def test_end_to_end_latency_is_from_the_send_to_the_last_content() -> None:
    assert e2el_ms(REQUEST) == 2500.0


def test_the_wait_for_a_slot_is_no_part_of_any_latency() -> None:
    assert queue_ms(REQUEST) == 250.0
    assert ttft_ms(replace(REQUEST, due_s=0.0)) == 500.0


def test_without_content_there_is_nothing_to_time() -> None:
    silent = replace(REQUEST, first_token_s=None, last_token_s=None, chunks=0, gaps_s=())
    assert [ttft_ms(silent), tpot_ms(silent), e2el_ms(silent)] == [None] * 3


@pytest.mark.parametrize("tokens", [None, 0, 1])
def test_fewer_than_two_tokens_have_no_time_between_them(tokens: int | None) -> None:
    assert tpot_ms(replace(REQUEST, completion_tokens=tokens)) is None


def test_tokens_that_came_at_one_moment_have_none_either() -> None:
    assert tpot_ms(replace(REQUEST, last_token_s=REQUEST.first_token_s)) is None


def test_two_tokens_have_one_time_between_them() -> None:
    assert tpot_ms(replace(REQUEST, completion_tokens=2)) == 2000.0


def test_tokens_a_chunk_is_of_all_tokens_and_all_chunks() -> None:
    assert tokens_per_chunk([REQUEST, replace(REQUEST, completion_tokens=35)]) == 4.0
    with pytest.raises(ValueError, match="no chunk with content came"):
        tokens_per_chunk([replace(REQUEST, chunks=0)])


def test_a_spread_interpolates_between_the_values_that_are_there() -> None:
    found = spread([None, 1.0, 2.0, 3.0, None, 4.0, 5.0])
    assert astuple(found) == pytest.approx((3.0, 3.0, 4.6, 4.8, 4.96))


def test_the_spread_of_one_value_is_that_value() -> None:
    assert spread([7.0]) == Spread(mean=7.0, p50=7.0, p90=7.0, p95=7.0, p99=7.0)


@pytest.mark.parametrize("values", [[], [None, None]])
def test_no_value_has_no_spread(values: list[float | None]) -> None:
    with pytest.raises(ValueError, match="no value to take a percentile of"):
        spread(values)


@pytest.mark.parametrize(
    ("slo", "good"),
    [
        (Slo(ttft_ms=500.0), True),
        (Slo(ttft_ms=499.0), False),
        (Slo(tpot_ms=500.0), True),
        (Slo(tpot_ms=499.0), False),
        (Slo(e2el_ms=2500.0), True),
        (Slo(e2el_ms=2499.0), False),
        (Slo(ttft_ms=600.0, tpot_ms=600.0, e2el_ms=2400.0), False),
    ],
)
def test_a_good_request_keeps_to_every_limit(slo: Slo, *, good: bool) -> None:
    assert goodput([REQUEST], (10.0, 20.0), slo) == (0.1 if good else 0.0)


def test_a_request_over_an_edge_is_good_by_its_share_inside() -> None:
    assert goodput([REQUEST], (10.0, 11.1), Slo(ttft_ms=500.0)) == pytest.approx(1.1 / 2.75 / 1.1)


def test_one_token_keeps_to_any_time_between_tokens_and_no_content_to_no_limit() -> None:
    assert goodput([replace(REQUEST, completion_tokens=1)], (10.0, 20.0), Slo(tpot_ms=1.0)) == 0.1
    silent = replace(REQUEST, first_token_s=None, last_token_s=None)
    assert goodput([silent], (10.0, 20.0), Slo(ttft_ms=1e9)) == 0
    assert goodput([silent], (10.0, 20.0), Slo(e2el_ms=1e9)) == 0


def test_a_whole_run_is_counted_as_inferencex_counts_it() -> None:
    """Each number from the formulas of its calculate_metrics and process_result, by hand."""
    slow = replace(REQUEST, number=1, slot=1, sent_s=11.0, last_token_s=14.5, ended_s=15.0, completion_tokens=9)
    run = ran([REQUEST, slow])
    found = full_run(run, gpus=4)
    assert (found.requests, found.seconds) == (2, 5.0)
    assert (found.input_tok_per_s, found.output_tok_per_s, found.total_tok_per_s) == (4.0, 2.8, 6.8)
    assert (found.tput_per_gpu, found.output_tput_per_gpu) == pytest.approx((1.7, 0.7))
    assert found.intvty == pytest.approx(1000 / ((2000 / 4 + 4000 / 8) / 2))


def test_a_points_rates_are_the_medians_of_its_windows() -> None:
    seconds = (1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 1.0)  # the stretch leaves the first out: 15 s, three of 5 s
    timings, now_s = [], 0.0
    for number, lasting_s in enumerate(seconds):
        timings.append(replace(request(number, 0, now_s, lasting_s, tokens=30, chunks=30), prompt_tokens=60))
        now_s += lasting_s
    found = point_of(ran(timings), workload(), gpus=2)
    windows = ((3 + 1) * 90 / 5, (2 * 90 + 90 * 1 / 5) / 5, (90 * 4 / 5 + 90) / 5)
    assert found.windows == pytest.approx(windows)
    assert found.total_tok_per_s == pytest.approx(sorted(windows)[1])
    assert found.total_tok_per_s_per_gpu == pytest.approx(sorted(windows)[1] / 2)
    assert found.output_tok_per_s == pytest.approx(sorted(windows)[1] / 3)
    assert found.output_tok_per_s_per_gpu == pytest.approx(sorted(windows)[1] / 6)
    assert found.input_tok_per_s == pytest.approx(sorted(windows)[1] * 2 / 3)
    assert found.full_run.total_tok_per_s == pytest.approx(9 * 90 / 16)


def test_a_point_pools_what_was_sent_in_its_steady_stretch() -> None:
    timings = closed_loop(4, 10, random.Random(0), lambda _: 1.0)  # noqa: S311 a simulation, not a secret
    timings = [replace(t, prompt_tokens=50, due_s=t.sent_s - 0.003) for t in timings]
    found = point_of(ran(timings), workload(concurrency=(4,)), concurrency=4, hits=0.25)
    assert (found.concurrency, found.gpus, found.requests) == (4, 1, 36)
    assert (found.input_tokens, found.output_tokens, found.tokens_per_chunk) == (50.0, 100.0, 5.0)
    assert found.ttft_ms.p50 == pytest.approx(100.0)
    assert found.tpot_ms.p50 == pytest.approx(900 / 99)
    assert found.intvty == pytest.approx(99 / 0.9)
    assert found.e2el_ms.p99 == pytest.approx(1000.0)
    assert found.queue_ms.mean == pytest.approx(3.0)
    assert (found.steady, found.drift, found.warmup_runs) == (True, 0.004, 2)
    assert (found.prefix_hit_share, found.client, found.goodput) == (0.25, IDLE, None)


def test_a_gap_is_an_inter_token_latency_only_where_a_chunk_is_a_token() -> None:
    single = [request(n, 0, n, 1.0, tokens=20, chunks=20) for n in range(10)]
    found = point_of(ran(single), workload())
    assert found.itl_ms == found.chunk_interval_ms
    assert found.itl_ms is not None
    assert found.itl_ms.p50 == pytest.approx(900 / 19)
    several = point_of(ran([replace(one, completion_tokens=40) for one in single]), workload())
    assert several.itl_ms is None
    assert several.chunk_interval_ms is not None
    assert several.chunk_interval_ms.p50 == pytest.approx(900 / 19)
    assert several.tokens_per_chunk == 2.0


def test_goodput_is_of_the_steady_stretch() -> None:
    timings = [request(n, 0, n, 1.0) for n in range(10)]
    assert point_of(ran(timings), workload(slo={"ttft_ms": 100.1})).goodput == pytest.approx(1.0)
    assert point_of(ran(timings), workload(slo={"ttft_ms": 99.0})).goodput == 0


@pytest.mark.parametrize("count", [1, 4])
def test_a_run_that_was_never_steady_has_no_number(count: int) -> None:
    timings = [request(n, n, 0.0, 1.0) for n in range(count)]
    with pytest.raises(NotSteady, match=f"{count} requests never kept 4 slots busy: send more waves"):
        point_of(ran(timings), workload(concurrency=(4,)), concurrency=4)


def at(rate: float, *, concurrency: int = 1) -> PointMetrics:
    """Return a point with this total rate."""
    timings = [request(n, 0, n, 1.0) for n in range(10)]
    return replace(point_of(ran(timings), workload()), concurrency=concurrency, total_tok_per_s_per_gpu=rate)


def test_the_objective_is_a_geometric_mean() -> None:
    points = [at(2.0), at(8.0, concurrency=4)]
    assert objective(points, "total_tok_per_s_per_gpu", {}) == pytest.approx(4.0)


def test_a_weight_counts_a_point_as_often_and_one_without_counts_once() -> None:
    points = [at(2.0), at(16.0, concurrency=4)]
    assert objective(points, "total_tok_per_s_per_gpu", {1: 2.0}) == pytest.approx((2 * 2 * 16) ** (1 / 3))


def test_the_objective_reads_the_metric_that_it_is_told() -> None:
    one = replace(at(2.0), output_tok_per_s_per_gpu=3.0)
    assert math.isclose(objective([one], "output_tok_per_s_per_gpu", {}), 3.0)
