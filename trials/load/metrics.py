"""What timings mean: pure functions from request timings to the numbers of a point. All formulas are here."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from search_spaces import Slo, Workload
from trials.load.timing import ClientUse, Ran, RequestTiming
from trials.load.windows import Interval, cut, rates, share, steady_stretch

__all__ = [
    "ClientUse",
    "FullRun",
    "NotSteady",
    "PointMetrics",
    "Ran",
    "RequestTiming",
    "Spread",
    "Warmth",
    "e2el_ms",
    "full_run",
    "goodput",
    "objective",
    "queue_ms",
    "spread",
    "summarise",
    "tokens_per_chunk",
    "tpot_ms",
    "ttft_ms",
]

ONE_TOKEN = 1.05
"""Tokens a chunk up to which a chunk is a token: some tokens are half a letter, and come with the next."""


class NotSteady(Exception):
    """A run has no stretch in which its whole concurrency is active: there is no number to take from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A latency over requests, in milliseconds; percentiles are numpy's linear ones."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRun:
    """
    A whole run with its first burst and its tail, as InferenceX publishes it.

    Attributes:
        seconds: From the first send to the end of the last answer.
        tput_per_gpu: Input and output tokens, a second and device.
        intvty: 1000 / median TPOT in ms, tok/s a user.

    Source: InferenceX, utils/bench_serving/benchmark_serving.py, calculate_metrics, and utils/process_result.py.
    """

    requests: int
    seconds: float
    input_tok_per_s: float
    output_tok_per_s: float
    total_tok_per_s: float
    tput_per_gpu: float
    output_tput_per_gpu: float
    intvty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmth:
    """
    How the warm-up before a measured run ended.

    Attributes:
        runs: Warm-up runs.
        drift: By how much the last of them was faster than the one before, relative to that; None if there is but one.
    """

    steady: bool
    drift: float | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMetrics:
    """
    One point of the ladder: rates are medians over the windows of the steady stretch, latencies pool its requests.

    Attributes:
        requests: Sent in the steady stretch.
        input_tokens: Mean prompt tokens of a request, realised.
        output_tokens: Mean completion tokens of a request, realised.
        total_tok_per_s_per_gpu: Input and output tokens, a second and device.
        windows: Total tok/s of each window.
        full_run: The same run as InferenceX publishes it.
        itl_ms: Between successive tokens; None where a chunk holds several.
        chunk_interval_ms: Between successive chunks with content; None where an answer is one chunk.
        queue_ms: From when a request could have been sent until it was.
        intvty: Interactivity, tok/s a user: 1000 / median TPOT in ms.
        goodput: Requests a second that keep to the whole SLO; None without one.
        prefix_hit_share: Of the prompts' tokens, from the prefix cache; None where the server does not say.
        steady: Whether the last two warm-up runs were alike; if not, the point stands with its drift.
        drift: As in `Warmth`.
        power_w: Of all the GPUs, mean over the measured run; None where no tool tells it.
        tok_per_s_per_watt: The whole run's input and output tokens a second over that power.
    """

    concurrency: int
    gpus: int
    requests: int
    input_tokens: float
    output_tokens: float
    input_tok_per_s: float
    output_tok_per_s: float
    total_tok_per_s: float
    output_tok_per_s_per_gpu: float
    total_tok_per_s_per_gpu: float
    windows: tuple[float, ...]
    full_run: FullRun
    ttft_ms: Spread
    tpot_ms: Spread
    itl_ms: Spread | None
    chunk_interval_ms: Spread | None
    e2el_ms: Spread
    queue_ms: Spread
    tokens_per_chunk: float
    intvty: float
    goodput: float | None
    prefix_hit_share: float | None
    steady: bool
    drift: float | None
    warmup_runs: int
    client: ClientUse
    power_w: float | None
    tok_per_s_per_watt: float | None


def ttft_ms(timing: RequestTiming) -> float | None:
    """Return the time to first token: first content minus send, ms; None if no content came."""
    return None if timing.first_token_s is None else (timing.first_token_s - timing.sent_s) * 1e3


def tpot_ms(timing: RequestTiming) -> float | None:
    """
    Return the time per output token after the first: (E2EL - TTFT) / (n - 1), ms.

    None under two tokens, and where all of them came at one moment: nobody saw the time between them.
    """
    n = timing.completion_tokens
    if timing.first_token_s is None or timing.last_token_s is None or n is None or n <= 1:
        return None
    if timing.last_token_s == timing.first_token_s:
        return None
    return (timing.last_token_s - timing.first_token_s) / (n - 1) * 1e3


def e2el_ms(timing: RequestTiming) -> float | None:
    """Return the end-to-end latency: last content minus send, ms; None if no content came."""
    return None if timing.last_token_s is None else (timing.last_token_s - timing.sent_s) * 1e3


def queue_ms(timing: RequestTiming) -> float:
    """Return how long a request waited at the client: send minus due, ms; no part of TTFT and E2EL."""
    return (timing.sent_s - timing.due_s) * 1e3


def tokens_per_chunk(timings: Iterable[RequestTiming]) -> float:
    """
    Return completion tokens over chunks with content; with several the gap between chunks is no inter-token latency.

    Raises:
        ValueError: If no chunk came.
    """
    counted = [(timing.completion_tokens or 0, timing.chunks) for timing in timings]
    if not (chunks := sum(each for _, each in counted)):
        raise ValueError("no chunk with content came")
    return sum(tokens for tokens, _ in counted) / chunks


def spread(values: Iterable[float | None]) -> Spread:
    """
    Return mean and percentiles of the values that are there.

    Raises:
        ValueError: If none is.
    """
    there = [value for value in values if value is not None]
    if not there:
        raise ValueError("no value to take a percentile of")
    p50, p90, p95, p99 = (float(p) for p in np.percentile(there, [50, 90, 95, 99]))
    return Spread(mean=fmean(there), p50=p50, p90=p90, p95=p95, p99=p99)


def goodput(timings: Iterable[RequestTiming], interval: Interval, slo: Slo) -> float:
    """
    Return requests a second in an interval that keep to every limit; one over an edge counts by its share inside.

    An answer of one token has no TPOT and keeps to its limit. Source: InferenceX and vLLM, calculate_metrics.
    """
    limits = ((ttft_ms, slo.ttft_ms), (e2el_ms, slo.e2el_ms))
    good = (
        share(timing, interval)
        for timing in timings
        if all(limit is None or _keeps(value(timing), limit) for value, limit in limits)
        and (slo.tpot_ms is None or (tpot_ms(timing) or 0.0) <= slo.tpot_ms)
    )
    return sum(good) / (interval[1] - interval[0])


def _keeps(value: float | None, limit: float) -> bool:
    return value is not None and value <= limit


def full_run(ran: Ran, *, gpus: int) -> FullRun:
    """Return a whole run's numbers as InferenceX computes them."""
    whole = rates(ran.timings, (ran.begun_s, ran.ended_s))
    return FullRun(
        requests=len(ran.timings),
        seconds=ran.ended_s - ran.begun_s,
        input_tok_per_s=whole.input,
        output_tok_per_s=whole.output,
        total_tok_per_s=whole.total,
        tput_per_gpu=whole.total / gpus,
        output_tput_per_gpu=whole.output / gpus,
        intvty=_intvty(ran.timings),
    )


def _intvty(timings: Iterable[RequestTiming]) -> float:
    return 1e3 / spread(map(tpot_ms, timings)).p50


def summarise(
    ran: Ran,
    workload: Workload,
    *,
    concurrency: int,
    gpus: int,
    warmth: Warmth,
    prefix_hit_share: float | None,
    power_w: float | None = None,
) -> PointMetrics:
    """
    Return a point's metrics from its measured run, which has passed its guards.

    Raises:
        NotSteady: If the run has no steady stretch, or no request was sent in it.
    """
    stretch, pooled = _steady_part(ran, workload, concurrency)
    windows = [rates(ran.timings, window) for window in cut(stretch, workload.windows)]
    output, total = median(window.output for window in windows), median(window.total for window in windows)
    chunks = tokens_per_chunk(pooled)
    gaps = [gap * 1e3 for timing in pooled for gap in timing.gaps_s]
    whole = full_run(ran, gpus=gpus)
    return PointMetrics(
        concurrency=concurrency,
        gpus=gpus,
        requests=len(pooled),
        input_tokens=fmean(t.prompt_tokens or 0 for t in pooled),
        output_tokens=fmean(t.completion_tokens or 0 for t in pooled),
        input_tok_per_s=median(window.input for window in windows),
        output_tok_per_s=output,
        total_tok_per_s=total,
        output_tok_per_s_per_gpu=output / gpus,
        total_tok_per_s_per_gpu=total / gpus,
        windows=tuple(window.total for window in windows),
        full_run=whole,
        ttft_ms=spread(map(ttft_ms, pooled)),
        tpot_ms=spread(map(tpot_ms, pooled)),
        itl_ms=spread(gaps) if gaps and chunks <= ONE_TOKEN else None,
        chunk_interval_ms=spread(gaps) if gaps else None,
        e2el_ms=spread(map(e2el_ms, pooled)),
        queue_ms=spread(map(queue_ms, pooled)),
        tokens_per_chunk=chunks,
        intvty=_intvty(pooled),
        goodput=goodput(ran.timings, stretch, workload.slo) if workload.slo else None,
        prefix_hit_share=prefix_hit_share,
        steady=warmth.steady,
        drift=warmth.drift,
        warmup_runs=warmth.runs,
        client=ran.client,
        power_w=power_w,
        tok_per_s_per_watt=whole.total_tok_per_s / power_w if power_w else None,
    )


def _steady_part(ran: Ran, workload: Workload, concurrency: int) -> tuple[Interval, list[RequestTiming]]:
    """Return the steady stretch of a run, and the requests that were sent in it: no length is left out more often."""
    stretch = steady_stretch(ran.timings, concurrency, open_loop=workload.request_rate is not None)
    pooled = [t for t in ran.timings if stretch and stretch[0] <= t.sent_s < stretch[1]]
    if stretch is None or not pooled:
        raise NotSteady(f"{len(ran.timings)} requests never kept {concurrency} slots busy: send more waves")
    return stretch, pooled


def objective(points: Sequence[PointMetrics], metric: str, weights: Mapping[int, float]) -> float:
    """
    Return the weighted geometric mean of a metric over the ladder: one slow point can't hide behind a fast one.

    Args:
        metric: The name of a rate in `PointMetrics`.
        weights: By concurrency; a point without one weighs 1.
    """
    weighed = [(weights.get(p.concurrency, 1.0), math.log(getattr(p, metric))) for p in points]
    return math.exp(sum(w * log for w, log in weighed) / sum(w for w, _ in weighed))
