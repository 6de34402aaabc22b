"""Values that several tests build."""

from evals import EvalProtocol, FilterResult, Identity, Verdict
from trials.load.metrics import ClientUse, FullRun, PointMetrics, Spread
from trials.outcome import Judgement, Measured

PROTOCOL = EvalProtocol(
    identity=Identity(
        task="sums",
        evaluator="lm-eval 0.4.13",
        endpoint="completions",
        task_sha256="0" * 64,
        questions_sha256="1" * 64,
        questions=200,
        order="gate-order-1",
        fewshot_seed=1234,
    ),
    max_tokens=64,
)
FLAT = Spread(mean=10.0, p50=10.0, p90=10.0, p95=10.0, p99=10.0)


def point(rate: float, *, concurrency: int = 1) -> PointMetrics:
    """Return a point whose every rate is `rate` tok/s."""
    return PointMetrics(
        concurrency=concurrency,
        gpus=1,
        requests=10,
        input_tokens=64.0,
        output_tokens=48.0,
        input_tok_per_s=rate,
        output_tok_per_s=rate,
        total_tok_per_s=rate,
        output_tok_per_s_per_gpu=rate,
        total_tok_per_s_per_gpu=rate,
        windows=(rate, rate, rate),
        full_run=FullRun(
            requests=10,
            seconds=5.0,
            input_tok_per_s=rate,
            output_tok_per_s=rate,
            total_tok_per_s=rate,
            tput_per_gpu=rate,
            output_tput_per_gpu=rate,
            intvty=100.0,
        ),
        ttft_ms=FLAT,
        tpot_ms=FLAT,
        itl_ms=FLAT,
        chunk_interval_ms=FLAT,
        e2el_ms=FLAT,
        queue_ms=FLAT,
        tokens_per_chunk=1.0,
        intvty=100.0,
        goodput=None,
        prefix_hit_share=0.0,
        steady=True,
        drift=0.0,
        warmup_runs=2,
        client=ClientUse(processes=1, cpu_share=0.1, lag_p99_s=0.001, lag_max_s=0.01, drain_p99_s=0.0001),
        power_w=None,
        tok_per_s_per_watt=None,
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
            most_lost=None,
            losses=0,
            wins=0,
            pairs=0,
        ),
    )
    reasons = () if result == "pass" else (f"{correct} of {asked} right",)
    return Verdict(
        result=result,  # type: ignore[arg-type]  # a test says which
        reasons=reasons,
        filters=filters,
        threshold=0.97,
        asked=asked,
        total=asked,
        unanswered=0,
        http_errors=0,
        truncated=0,
        empty=0,
        retries=0,
        reached="all",
        e_value=None,
        alpha=None,
        violation=0.97 if result == "invalid" else 0.97 - correct / asked,
        protocol=PROTOCOL,
    )


def judgement(judged: Verdict | None = None) -> Judgement:
    """Return what a gate says, asked four questions at once."""
    return Judgement(concurrency=4, verdict=judged or verdict(), correct={"strict-match": (True,) * 64})


def measured(*rates: float, gate: Verdict | None = None) -> Measured:
    """Return an outcome with a rate for each concurrency 1, 2, 4, ..., passing its gate unless told otherwise."""
    return Measured(
        points=tuple(point(rate, concurrency=2**n) for n, rate in enumerate(rates)),
        judged=(judgement(gate),),
        seconds={"start": 1.0, "load": 8.0, "judge": 20.0},
    )
