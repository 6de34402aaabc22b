"""
The published effects of Kimi-K2.5 on MI355X beside the emulator's, measured through HTTP by our own load generator.

    python -m benchmarks.landscape [--short]

Noise is off. Each figure stands beside what the landscape's pure function says; 3 % apart fail. What is measured is
how well the emulated engine follows its landscape; how well that follows the hardware, nobody has measured.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from search_spaces import Workload
from tests.fakes.emulated import MODEL, Emulated, running, spelled
from trials.deadline import Deadline
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape, kv_tokens, load, point
from trials.engines.vllm import Vllm
from trials.load import metrics
from trials.load.generator import Generator
from trials.load.metrics import PointMetrics, Warmth
from trials.load.workload import sessions

ALLOWED = 0.03
LIMIT_S = 120.0
WAVES = 4
LONG, SHORT = (8192, 1024), (1024, 1024)
LANDSCAPE = load("L0")
RECIPE = LANDSCAPE.baseline._replace(qr="INT4", scratch=1, rms=0, prefix=0, skinny=0)
"""What the published comparisons were made with, as far as is known."""
GRAPHS = RECIPE._replace(cg="FULL_AND_PIECEWISE")
FOUR = GRAPHS._replace(kv="fp8", mnbt=32768, mns=256)
"""The flags of InferenceX #2301; the fourth, no prefix caching, is in `RECIPE` already."""
MERGED = GRAPHS._replace(kv="fp8", mnbt=16384, mns=512, async_=1, fse=1, mxint=1, omp="1")
"""InferenceX #2213."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """
    A published comparison.

    Attributes:
        before: None where the figures are no comparison but values.
        figure: A field of the landscape's `Point`.
        published: By concurrency: percent, or the value.
    """

    name: str
    before: Config | None
    after: Config
    figure: str = "total_tok_per_s_per_gpu"
    lengths: tuple[int, int] = LONG
    published: Mapping[int, float] = field(default_factory=dict)


EFFECTS = (
    Effect(
        name="FULL_AND_PIECEWISE against PIECEWISE",
        before=RECIPE,
        after=GRAPHS,
        published={1: 15.9, 4: 11.1, 16: 12.6, 64: 1.7},
    ),
    Effect(
        name="FULL_DECODE_ONLY against PIECEWISE",
        before=RECIPE,
        after=RECIPE._replace(cg="FULL_DECODE_ONLY"),
        published={1: 18.5, 4: 13.6, 16: 11.9, 64: 1.5},
    ),
    Effect(
        name="fp8 KV cache",
        before=GRAPHS,
        after=GRAPHS._replace(kv="fp8"),
        published={16: 9.7, 64: 16.1, 128: 20.5},
    ),
    Effect(name="all four flags", before=GRAPHS, after=FOUR, published={16: 16.2, 64: 19.1, 128: 27.4}),
    Effect(name="all four flags, TTFT", before=GRAPHS, after=FOUR, figure="ttft_ms", published={128: -18.0}),
    Effect(name="all four flags, TPOT", before=GRAPHS, after=FOUR, figure="tpot_ms", published={128: -22.0}),
    Effect(
        name="experts in parallel at TP8",
        before=GRAPHS._replace(tp=8),
        after=GRAPHS._replace(tp=8, ep=1),
        published={4: -14.0, 64: -27.0},  # "14 to 27 % slower", at its ends
    ),
    Effect(
        name="#2213 at 1k/1k, tok/s/GPU",
        before=None,
        after=MERGED,
        lengths=SHORT,
        published={4: 227.7, 16: 591.1, 32: 843.1, 128: 1736.5},
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """
    One figure.

    Attributes:
        apart: How far the measured value is from the pure function's, the worse of both sides of a comparison.
    """

    name: str
    published: float
    pure: float
    measured: float
    apart: float

    def __str__(self) -> str:
        """Return it as a line of the table."""
        said = f"{self.name:46} {self.published:12,.1f} {self.pure:12,.1f} {self.measured:12,.1f}"
        return f"{said} {100 * self.apart:8.2f} %" + ("  TOO FAR" if self.apart > ALLOWED else "")


def main() -> int:
    """Measure and print; return 1 if anything is too far from the pure function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="the first concurrency of each effect only")
    short = parser.parse_args().short
    print(f"EMULATED. {'':36} {'published':>12} {'function':>12} {'measured':>12} {'apart':>10}")
    rows = []
    for row in (*_rows(short=short), *_kv_rows()):
        print(row, flush=True)
        rows.append(row)
    return int(any(row.apart > ALLOWED for row in rows))


def _rows(*, short: bool) -> Iterator[Row]:
    for effect in EFFECTS:
        for concurrency in list(effect.published)[: 1 if short else None]:
            yield _row(effect, concurrency)


def _row(effect: Effect, concurrency: int) -> Row:
    """Return a figure of an effect: of a comparison the change in percent."""
    name, published = f"{effect.name}, {concurrency}", effect.published[concurrency]
    pure, measured = _both(effect.after, effect, concurrency)
    apart = abs(measured / pure - 1)
    if effect.before is None:
        return Row(name, published, pure, measured, apart)
    pure_before, measured_before = _both(effect.before, effect, concurrency)
    change, seen = 100 * (pure / pure_before - 1), 100 * (measured / measured_before - 1)
    return Row(name, published, change, seen, max(apart, abs(measured_before / pure_before - 1)))


def _both(config: Config, effect: Effect, concurrency: int) -> tuple[float, float]:
    """Return a figure as the pure function says it, and as it is measured."""
    isl, osl = effect.lengths
    pure = getattr(point(LANDSCAPE, config, concurrency, isl=isl, osl=osl), effect.figure)
    seen = _measured(config, concurrency, effect.lengths)
    found = getattr(seen, effect.figure)
    return pure, found if isinstance(found, float) else found.mean


@cache
def _measured(config: Config, concurrency: int, lengths: tuple[int, int]) -> PointMetrics:
    flags, env = spelled(config)
    with running(flags, env) as emulated:
        return measure(emulated, config, concurrency, lengths)


def measure(emulated: Emulated, config: Config, concurrency: int, lengths: tuple[int, int]) -> PointMetrics:
    """Return what our load generator measures at one concurrency."""
    workload = Workload(
        input_tokens=lengths[0],
        output_tokens=lengths[1],
        concurrency=(concurrency,),
        token_ids=(1000, 100_000),
    )
    planned = sessions(workload, concurrency=concurrency, waves=WAVES, seed="landscape", contents="measured")
    with Generator(
        emulated.url, MODEL, concurrency=concurrency, processes=1, request_s=LIMIT_S, stall_s=LIMIT_S, virtual=True
    ) as generator:
        ran = generator.run(planned, arrivals=None, deadline=Deadline("the load", LIMIT_S))
    assert not any(timing.error for timing in ran.timings), ran.timings[0].error
    return metrics.summarise(
        ran,
        workload,
        concurrency=concurrency,
        gpus=config.tp,
        warmth=Warmth(steady=True, drift=None, runs=0),
        prefix_hit_share=0.0,
        power_w=None,
    )


def _kv_rows() -> Iterator[Row]:
    """Yield the tokens of the KV cache, as vLLM's log says them."""
    for name, config, published in (("auto", GRAPHS, 1_358_885.0), ("fp8, all four flags", FOUR, 2_730_007.0)):
        pure, said = kv_tokens(LANDSCAPE, config), _said(LANDSCAPE, config)
        yield Row(f"KV cache tokens, {name}", published, pure, said, abs(said / pure - 1))


def _said(landscape: Landscape, config: Config) -> float:
    flags, env = spelled(config)
    with running(flags, env, ("--landscape", landscape.name)) as emulated:
        emulated.process.terminate()
        _, log = emulated.ended()
    effective = Vllm().effective(log) or {}
    return float(effective["kv_cache_tokens"].replace(",", ""))


if __name__ == "__main__":
    sys.exit(main())
