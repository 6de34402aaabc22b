"""What timings mean: pure functions from request timings to the numbers of a point. All formulas are here."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTiming:
    """
    One request as the client saw it. Times are seconds on one monotonic clock.

    Attributes:
        slot: Which of the closed loop's clients sent it, from 0.
        sent_s: When the request was begun.
        first_token_s: When the first content arrived, or None if none did.
        ended_s: When the stream ended.
        prompt_tokens: From the server's usage, or None if it sent none.
        completion_tokens: From the server's usage, or None if it sent none.
        error: What went wrong, or None.
        timed_out: True if what went wrong is that no answer came in time.
        resent: True if a dropped keep-alive connection made the client send it once more.
    """

    slot: int
    sent_s: float
    first_token_s: float | None
    ended_s: float
    prompt_tokens: int | None
    completion_tokens: int | None
    error: str | None = None
    timed_out: bool = False
    resent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A latency over a window's requests, in milliseconds; percentiles are numpy's linear ones."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PointMetrics:
    """
    One point of the ladder: medians over its windows.

    Attributes:
        requests: Whole requests counted, over all windows.
        input_tokens: Mean prompt tokens of a request, realised.
        output_tokens: Mean completion tokens of a request, realised.
        total_tok_per_s_per_gpu: Input and output tokens, a second and device; InferenceX's headline.
        intvty: Interactivity, tok/s a user: 1000 / median TPOT in ms.
    """

    concurrency: int
    gpus: int
    requests: int
    input_tokens: float
    output_tokens: float
    output_tok_per_s: float
    total_tok_per_s: float
    output_tok_per_s_per_gpu: float
    total_tok_per_s_per_gpu: float
    ttft_ms: Spread
    tpot_ms: Spread
    e2el_ms: Spread
    intvty: float


def inside(timings: Iterable[RequestTiming], start_s: float, end_s: float) -> list[RequestTiming]:
    """Return the requests that were sent and ended inside [start_s, end_s]."""
    return [t for t in timings if t.sent_s >= start_s and t.ended_s <= end_s]


def tok_per_s(timings: Sequence[RequestTiming]) -> tuple[float, float]:
    """
    Return (input, output) tokens a second of a closed loop in steady state.

    Each slot is busy from the first of its requests to the end of its last, so its rate is its tokens over that time,
    and the loop's rate is the sum over slots. Whole requests only: nothing is cut at the window's edges. A window that
    holds n requests of a slot, whose durations have the coefficient of variation c, is about c^2 / n too high: a long
    request is the likelier to be the one over the edge. Source: docs/decisions/0005-load.md.
    """
    by_slot: dict[int, list[RequestTiming]] = defaultdict(list)
    for timing in timings:
        by_slot[timing.slot].append(timing)
    spent = [
        (sum(t.prompt_tokens or 0 for t in own), sum(t.completion_tokens or 0 for t in own), _busy_s(own))
        for own in by_slot.values()
    ]
    return sum(i / s for i, _, s in spent), sum(o / s for _, o, s in spent)


def _busy_s(timings: Sequence[RequestTiming]) -> float:
    return max(t.ended_s for t in timings) - min(t.sent_s for t in timings)


def ttft_ms(timing: RequestTiming) -> float | None:
    """Return the time to first token: first content minus send, ms; None if no content came."""
    return None if timing.first_token_s is None else (timing.first_token_s - timing.sent_s) * 1e3


def tpot_ms(timing: RequestTiming) -> float | None:
    """Return the time per output token after the first: (E2EL - TTFT) / (n - 1), ms; None under two tokens."""
    n = timing.completion_tokens
    if timing.first_token_s is None or n is None or n <= 1:
        return None
    return (timing.ended_s - timing.first_token_s) / (n - 1) * 1e3


def e2el_ms(timing: RequestTiming) -> float:
    """Return the end-to-end latency: end of the stream minus send, ms."""
    return (timing.ended_s - timing.sent_s) * 1e3


def spread(values: Iterable[float | None]) -> Spread:
    """
    Return mean and percentiles of the values that are there.

    Raises:
        ValueError: If none is.
    """
    there = [value for value in values if value is not None]
    if not there:
        raise ValueError("no value to take a percentile of")
    p50, p90, p99 = (float(p) for p in np.percentile(there, [50, 90, 99]))
    return Spread(mean=fmean(there), p50=p50, p90=p90, p99=p99)


def summarise(windows: Sequence[Sequence[RequestTiming]], *, concurrency: int, gpus: int) -> PointMetrics:
    """
    Return a point's metrics: rates are the median over windows, latencies pool all requests.

    Args:
        windows: For each window the whole requests inside it; none empty, none with an error.
    """
    rates = [tok_per_s(window) for window in windows]
    output = float(np.median([o for _, o in rates]))
    total = float(np.median([i + o for i, o in rates]))
    every = [timing for window in windows for timing in window]
    tpot = spread(map(tpot_ms, every))
    return PointMetrics(
        concurrency=concurrency,
        gpus=gpus,
        requests=len(every),
        input_tokens=fmean(t.prompt_tokens or 0 for t in every),
        output_tokens=fmean(t.completion_tokens or 0 for t in every),
        output_tok_per_s=output,
        total_tok_per_s=total,
        output_tok_per_s_per_gpu=output / gpus,
        total_tok_per_s_per_gpu=total / gpus,
        ttft_ms=spread(map(ttft_ms, every)),
        tpot_ms=tpot,
        e2el_ms=spread(map(e2el_ms, every)),
        intvty=1e3 / tpot.p50,
    )


def objective(points: Sequence[PointMetrics], metric: str, weights: Mapping[int, float]) -> float:
    """
    Return the weighted geometric mean of a metric over the ladder: one slow point can't hide behind a fast one.

    Args:
        metric: The name of a rate in `PointMetrics`.
        weights: By concurrency; a point without one weighs 1.
    """
    weighed = [(weights.get(p.concurrency, 1.0), math.log(getattr(p, metric))) for p in points]
    return math.exp(sum(w * log for w, log in weighed) / sum(w for w, _ in weighed))
