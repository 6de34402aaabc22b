"""
What an emulated MI355X does with a config: step times, latencies, throughput, memory. Pure, and without noise.

The mechanism is fitted to published effects of Kimi-K2.5 on MI355X and validated by nobody: it is for rehearsals.
Times are milliseconds, sizes 10^9 bytes, unless a name says otherwise.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trials.engines.emulated.config import Config, config

NAMES = ("L0", "L1", "L2")
FOR_SEARCH = ("L3", "L4")
"""Made by benchmarks/unseen.py to compare searches on: strong pairs, and a baseline that is nearly the best."""
LEAST_KV_TOKENS = 4 * 32768
"""Below that the engine does not start."""
PERSISTENT_TOKENS = (0.0, 1e5, 3e5, 8e5, 2e6)
PERSISTENT_FACTORS = (0.90, 0.92, 1.0, 1.30, 1.45)
"""Of attention's time with the persistent kernel, by tokens in the batch."""
OMP_HOST = {"unset": 0.25, "8": 0.08, "1": 0.0}
AITER_FLAGS = ("rms", "linear", "fse", "mxint", "bypass", "bmm")
"""These need aiter; `OWN_FLAGS` don't."""
OWN_FLAGS = ("skinny", "scratch")
GB = 1e9
PREEMPTED = 1.02
"""Requests of KV cache that fit before the first is preempted: not all are at their longest at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a flag that is on does to a step and a prefill."""

    fixed_ms: float
    per_log2_batch_ms: float
    moe_factor: float
    prefill_factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """
    One landscape's parameters, as its file has them.

    Attributes:
        isl: Tokens of a prompt.
        osl: Tokens of an answer.
        gap_ms: Launch gap by cudagraph mode at each of `gap_log2_batch`.
        crash_pairs: Two parameters and their values that together crash at the start.
        hang_pair: Two that hang.
        accuracy_pairs: Two that cost accuracy, and how much.
        pair_effects: Two that together are faster or slower: what they add to the logarithm of every rate.
        block_crash: The block size that crashes with fp8 and the persistent kernel.
    """

    name: str
    isl: int
    osl: int
    concurrency: tuple[int, ...]
    gate: float
    space: Mapping[str, tuple[Any, ...]]
    baseline: Config
    constants: Mapping[str, float]
    quick_reduce: Mapping[str, float]
    gap_log2_batch: tuple[float, ...]
    gap_ms: Mapping[str, tuple[float, ...]]
    effects: Mapping[str, Effect]
    block_factor: Mapping[int, float]
    crash_pairs: tuple[tuple[str, Any, str, Any], ...]
    hang_pair: tuple[str, Any, str, Any]
    accuracy_pairs: tuple[tuple[str, Any, str, Any, float], ...]
    pair_effects: tuple[tuple[str, Any, str, Any, float], ...]
    block_crash: int
    best: Config
    best_objective: float


class Point(NamedTuple):
    """
    One concurrency of a config.

    Attributes:
        batch: Sequences that run at once.
        cycle_s: From the start of a request in a full batch to the start of the next one in its place.
        slowdown: By preemption; 1 without.
    """

    batch: float
    prefill_ms: float
    step_ms: float
    slowdown: float
    total_tok_per_s_per_gpu: float
    ttft_ms: float
    tpot_ms: float
    cycle_s: float


@cache
def load(name: str) -> Landscape:
    """
    Return a landscape by its name.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in (known := (*NAMES, *FOR_SEARCH)):
        raise ValueError(f"no landscape is called {name!r}: there are {', '.join(known)}")
    return parse(json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8")))


def parse(said: Mapping[str, Any]) -> Landscape:
    """Return the landscape that a file says."""
    gaps = said["launch_gap_ms"]
    return Landscape(
        name=said["name"],
        isl=said["isl"],
        osl=said["osl"],
        concurrency=tuple(said["concurrency"]),
        gate=said["gate"],
        space={parameter: tuple(values) for parameter, values in said["space"].items()},
        baseline=config(said["baseline"]),
        constants=said["constants"],
        quick_reduce=said["quick_reduce_factor"],
        gap_log2_batch=tuple(math.log2(batch) for batch in gaps["batch"]),
        gap_ms={mode: tuple(values) for mode, values in gaps.items() if mode != "batch"},
        effects={flag: Effect(**dict(zip(EFFECT, row, strict=True))) for flag, row in said["flag_effects"].items()},
        block_factor={int(size): factor for size, factor in said["block_factor"].items()},
        crash_pairs=tuple(tuple(pair) for pair in said["crash_pairs"]),
        hang_pair=tuple(said["hang_pair"]),
        accuracy_pairs=tuple(tuple(pair) for pair in said["accuracy_pairs"]),
        pair_effects=tuple(tuple(pair) for pair in said.get("pair_effects", ())),
        block_crash=said["block_crash"],
        best=config(said["best"]["config"]),
        best_objective=said["best"]["objective"],
    )


EFFECT = tuple(Effect.__dataclass_fields__)


def objective(landscape: Landscape, chosen: Config) -> float:
    """Return the geometric mean over the landscape's concurrencies of total tok/s/GPU."""
    logs = (math.log(point(landscape, chosen, each).total_tok_per_s_per_gpu) for each in landscape.concurrency)
    return math.exp(math.fsum(logs) / len(landscape.concurrency))


def point(
    landscape: Landscape, chosen: Config, concurrency: int, *, isl: float | None = None, osl: float | None = None
) -> Point:
    """
    Return what a closed loop at a concurrency comes to; at other lengths than the landscape's where they are given.

    A batch that the KV cache can't hold runs with as many as fit, slower for each that is preempted.
    """
    isl, osl = isl or landscape.isl, osl or landscape.osl
    batch: float = min(concurrency, chosen.mns)
    fits = PREEMPTED * kv_tokens(landscape, chosen) / (isl + osl)
    slowdown = 1.0
    if batch > fits:
        slowdown, batch = 1 + 0.25 * (batch / fits - 1), fits
    prefill = prefill_ms(landscape, chosen, isl, waiting_tokens=concurrency * isl)
    step = step_ms(landscape, chosen, batch, isl + osl / 2)
    cycle_s = (batch * prefill + osl * step) * slowdown / 1e3
    queue_ms = max(0.0, concurrency / batch - 1) * cycle_s * 1e3
    return Point(
        batch=batch,
        prefill_ms=prefill,
        step_ms=step,
        slowdown=slowdown,
        total_tok_per_s_per_gpu=batch * (isl + osl) / cycle_s / chosen.tp,
        ttft_ms=first_token_ms(prefill, batch) + queue_ms,
        tpot_ms=step + batch * prefill / osl,
        cycle_s=cycle_s * max(1.0, concurrency / batch),
    )


def first_token_ms(prefill: float, batch: float) -> float:
    """Return how long the first token takes of a request that runs: its own prefill, and on average half of others'."""
    return prefill * (0.5 * min(batch, 8) + 0.5)


def step_ms(landscape: Landscape, chosen: Config, batch: float, context: float) -> float:
    """
    Return the time of one decode step.

    Args:
        context: Tokens that a sequence has, on average.
    """
    constant, log_batch = landscape.constants, math.log2(max(batch, 1.0))
    flags = _on(landscape, chosen)
    moe = _moe_ms(constant, chosen, batch, [effect.moe_factor for effect in flags])
    dense = (
        constant["W_dense_GB"] / chosen.tp / (constant["BW"] * constant["eta_dense"] * _efficiency(constant, chosen))
    )
    reduce = (constant["ar_fix"] + constant["ar_seq"] * batch * landscape.quick_reduce[chosen.qr]) * _wide(
        constant, chosen
    )
    flagged = sum(effect.fixed_ms + effect.per_log2_batch_ms * log_batch for effect in flags)
    layers = constant["t_layer"] + constant["t_seq"] * batch
    alone = (
        moe
        + dense
        + _attention_ms(landscape, chosen, batch, context)
        + reduce
        + layers
        + flagged
        + _kernels_ms(chosen, log_batch)
        + _gap_ms(landscape, chosen, log_batch)
        + _host_ms(constant, chosen, batch)
    )
    return alone * _paired(landscape, chosen)


def prefill_ms(landscape: Landscape, chosen: Config, tokens: float, *, waiting_tokens: float) -> float:
    """
    Return the time that the prefill of one prompt takes.

    Args:
        tokens: Of the prompt.
        waiting_tokens: Of all prompts that a batch could be filled from.
    """
    constant = landscape.constants
    per_token = constant["pf_tok"] * (4 / chosen.tp) / _efficiency(constant, chosen)
    per_token *= 1.5 if not chosen.aiter else 1.0 if chosen.moe else 1.2
    per_token *= constant["ep_pf"] if chosen.ep else 1.0
    for effect in _on(landscape, chosen) if chosen.aiter else ():
        per_token *= effect.prefill_factor
    per_token *= 1.02 if chosen.mnbt == 65536 else 1.0  # noqa: PLR2004 the landscape's own step
    reduce = constant["pf_ar_tok"] * landscape.quick_reduce[chosen.qr] * _wide(constant, chosen)
    chunks = min(1.0, tokens / min(waiting_tokens, chosen.mnbt)) if tokens <= chosen.mnbt else tokens / chosen.mnbt
    return (tokens * (per_token + reduce) + constant["pf_chunk"] * chunks) * _paired(landscape, chosen)


def kv_tokens(landscape: Landscape, chosen: Config) -> float:
    """Return how many tokens the KV cache holds; below 0 where nothing is left for it."""
    bytes_a_token = landscape.constants["kv_B"] * (0.5 if chosen.kv == "fp8" else 1.0)
    return kv_gb(landscape, chosen) * GB / bytes_a_token


def kv_gb(landscape: Landscape, chosen: Config) -> float:
    """Return the memory of each GPU that is left for the KV cache."""
    constant = landscape.constants
    weights = (constant["W_exp_GB"] + constant["W_dense_GB"] + 24) / chosen.tp
    activations = constant["act_tok"] * chosen.mnbt * (1.0 if chosen.aiter and chosen.moe else 1.8)
    activations *= 1.0 if chosen.mxint else 1.25
    sequences = constant["seq_mem"] * chosen.mns
    return chosen.gmu * constant["HBM"] - weights - (2 + activations) - sequences - constant["mem_fix"]


def captures(chosen: Config) -> str:
    """Return the cudagraph mode that is really used: without aiter's MLA there is no full graph."""
    return chosen.cg if chosen.aiter and chosen.mla else "PIECEWISE"


def _on(landscape: Landscape, chosen: Config) -> list[Effect]:
    """Return the effects of the flags that are on."""
    flags = (*(AITER_FLAGS if chosen.aiter else ()), *OWN_FLAGS)
    return [landscape.effects[flag] for flag in flags if getattr(chosen, flag)]


def _paired(landscape: Landscape, chosen: Config) -> float:
    """Return what multiplies all times where two parameters act on each other."""
    gains = (
        gain
        for one, value, other, other_value, gain in landscape.pair_effects
        if getattr(chosen, one) == value and getattr(chosen, other) == other_value
    )
    return math.exp(-math.fsum(gains))


def _efficiency(constant: Mapping[str, float], chosen: Config) -> float:
    return constant["tp8_eff"] if chosen.tp == 8 else 1.0  # noqa: PLR2004 the landscape's wide layout


def _wide(constant: Mapping[str, float], chosen: Config) -> float:
    return constant["tp8_ar"] if chosen.tp == 8 else 1.0  # noqa: PLR2004 the landscape's wide layout


def _moe_ms(constant: Mapping[str, float], chosen: Config, batch: float, factors: Sequence[float]) -> float:
    """Return the time of the experts: as many are read as the batch's tokens touch."""
    experts = constant["E"] * (1 - (1 - constant["K"] / constant["E"]) ** (constant["skew"] * batch))
    size = constant["W_exp_GB"] / constant["E"]
    time: float = experts * size / chosen.tp / (constant["BW"] * constant["eta_moe"] * _efficiency(constant, chosen))
    time *= 1.6 if not chosen.aiter else 1.0 if chosen.moe else 1.22
    if chosen.ep:
        time = time * constant["ep_moe"] + 0.4
    for factor in factors:
        time *= factor
    return time


def _attention_ms(landscape: Landscape, chosen: Config, batch: float, context: float) -> float:
    """Return the time of reading the KV cache."""
    constant, fp8 = landscape.constants, chosen.kv == "fp8"
    size = batch * context * constant["kv_B"] * (0.5 if fp8 else 1.0) / GB
    time = size / (constant["BW"] * constant["eta_kv"]) / landscape.block_factor[chosen.block]
    time += 0.0 if fp8 else constant["kv_fix"]
    if not (chosen.aiter and chosen.mla):
        time = time * 1.35 + 0.5
    if chosen.persist:
        factor = _interpolated(batch * context, PERSISTENT_TOKENS, PERSISTENT_FACTORS)
        time *= 1 + 0.6 * (factor - 1) if fp8 else factor
    if chosen.bmm and fp8 and chosen.aiter:
        time = time * 0.95 - 0.1
    return time


def _kernels_ms(chosen: Config, log_batch: float) -> float:
    """Return what the expert sort and the rotary kernel add."""
    time = 0.0
    if chosen.aiter:
        time += {"auto": 0.0, "opus": 0.10 - 0.03 * log_batch, "triton": 0.15}[chosen.sort]
        time += (-0.18 if chosen.cg != "PIECEWISE" else 0.30) if chosen.rope else 0.0
    return time


def _gap_ms(landscape: Landscape, chosen: Config, log_batch: float) -> float:
    """Return how much longer launches take than with full and piecewise graphs."""
    gaps = landscape.gap_ms.get(captures(chosen))
    return 0.0 if gaps is None else _interpolated(log_batch, landscape.gap_log2_batch, gaps)


def _host_ms(constant: Mapping[str, float], chosen: Config, batch: float) -> float:
    """Return the scheduler's time; working ahead of the GPU hides most of it."""
    time = 0.30 + 0.006 * batch + constant["h_mns"] * chosen.mns + OMP_HOST[chosen.omp]
    time += 0.0015 * batch * chosen.prefix + (0.002 * batch if chosen.block == 1 else 0.0)
    if chosen.async_:
        time *= 0.6 if captures(chosen) == "PIECEWISE" else 0.25
    return time


def _interpolated(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the value at `x` of the line through points; outside of them that of the nearest."""
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    at = bisect_right(xs, x)
    share = (x - xs[at - 1]) / (xs[at] - xs[at - 1])
    return ys[at - 1] + share * (ys[at] - ys[at - 1])
