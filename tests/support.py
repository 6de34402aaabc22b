"""Values that several tests build."""

from evals import FilterResult, Verdict
from trials.load.metrics import PointMetrics, Spread
from trials.outcome import Measured

FLAT = Spread(mean=10.0, p50=10.0, p90=10.0, p99=10.0)


def point(rate: float, *, concurrency: int = 1) -> PointMetrics:
    """Return a point whose every rate is `rate` tok/s."""
    return PointMetrics(
        concurrency=concurrency,
        gpus=1,
        requests=10,
        input_tokens=64.0,
        output_tokens=48.0,
        output_tok_per_s=rate,
        total_tok_per_s=rate,
        output_tok_per_s_per_gpu=rate,
        total_tok_per_s_per_gpu=rate,
        ttft_ms=FLAT,
        tpot_ms=FLAT,
        e2el_ms=FLAT,
        intvty=100.0,
    )


def verdict(correct: int = 64, *, asked: int = 64, result: str = "pass") -> Verdict:
    """Return a verdict on one filter."""
    filters = (
        FilterResult(
            name="strict-match",
            correct=correct,
            answered=asked,
            accuracy=correct / asked,
            low=0.9,
            high=1.0,
            worse_p=None,
            losses=0,
            wins=0,
        ),
    )
    reasons = () if result == "pass" else (f"{correct} of {asked} right",)
    return Verdict(
        result=result,  # type: ignore[arg-type]  # a test says which
        reasons=reasons,
        filters=filters,
        threshold=0.97,
        asked=asked,
        unanswered=0,
        truncated=0,
    )


def measured(*rates: float, gate: Verdict | None = None) -> Measured:
    """Return an outcome with a rate for each concurrency 1, 2, 4, ..., passing its gate unless told otherwise."""
    return Measured(
        points=tuple(point(rate, concurrency=2**n) for n, rate in enumerate(rates)),
        verdict=gate or verdict(),
        correct={"strict-match": (True,) * 64},
        seconds={"start": 1.0, "load": 8.0, "judge": 20.0},
    )
