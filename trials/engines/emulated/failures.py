"""Which configs of a landscape fail and when, how accurate the others are, how long all of it takes. Pure."""

from dataclasses import dataclass
from typing import Literal

from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import LEAST_KV_TOKENS, Landscape, kv_tokens, point

Kind = Literal["oom_start", "oom_run", "crash_start", "hang"]
LOADED_SHARE = 0.7
"""Of a trial's load that an engine survives which runs out of memory under it."""
QUICK_REDUCE_LOSS = {"NONE": 0.0, "FP": 0.0, "INT8": 0.0005, "INT6": 0.001, "INT4": 0.002}
CRASHES = 4.0, 3.0, 6.0
"""Minutes until a crash: of a pair of flags, without aiter, of a block size."""


@dataclass(frozen=True, slots=True)
class Failure:
    """
    How a config fails, every time.

    Attributes:
        minutes: From its launch; None under load.
    """

    kind: Kind
    minutes: float | None


def failure(landscape: Landscape, chosen: Config) -> Failure | None:
    """Return how a config fails; None if it serves."""
    if kv_tokens(landscape, chosen) < LEAST_KV_TOKENS:
        return Failure("oom_start", 5.0)
    if (minutes := _crash_minutes(landscape, chosen)) is not None:
        return Failure("crash_start", minutes)
    if _pair(chosen, *landscape.hang_pair):
        return Failure("hang", 40.0)
    if _peak_gb(chosen) > (1 - chosen.gmu) * landscape.constants["HBM"]:
        return Failure("oom_run", None)
    return None


def accuracy(landscape: Landscape, chosen: Config) -> float:
    """Return the probability that a question of GSM8K is answered right."""
    right = 0.970 - QUICK_REDUCE_LOSS[chosen.qr]
    right -= 0.0005 if chosen.kv == "fp8" else 0.0
    right -= 0.002 if chosen.mxint else 0.0
    return right - sum(loss for *pair, loss in landscape.accuracy_pairs if _pair(chosen, *pair))


def start_minutes(chosen: Config) -> float:
    """Return how long a start takes that succeeds."""
    graphs = 1.5 if chosen.cg != "PIECEWISE" else 0.0
    return 6 + graphs + 2 * chosen.mns / 1024 + (chosen.tp == 8) + chosen.aiter  # noqa: PLR2004 the wide layout


def bench_minutes(landscape: Landscape, chosen: Config, *, cycles: int) -> float:
    """Return how long the load of a trial takes that sends `cycles` requests a slot at each concurrency."""
    points = [point(landscape, chosen, concurrency) for concurrency in landscape.concurrency]
    return sum(cycles * each.cycle_s / 60 + 0.3 for each in points)


def gate_minutes(questions: int) -> float:
    """Return how long so many questions of GSM8K take."""
    return 0.5 + 3.5 * questions / 1319


def _crash_minutes(landscape: Landscape, chosen: Config) -> float | None:
    of_a_pair, without_aiter, of_a_block = CRASHES
    if any(_pair(chosen, *pair) for pair in landscape.crash_pairs):
        return of_a_pair
    if not chosen.aiter and (chosen.kv == "fp8" or chosen.block == 1):
        return without_aiter
    if chosen.block == landscape.block_crash and chosen.kv == "fp8" and chosen.persist:
        return of_a_block
    return None


def _peak_gb(chosen: Config) -> float:
    """Return what a GPU needs under load beside what was planned for."""
    full = chosen.cg != "PIECEWISE"
    peak = 4 + (2.2 if full else 0.8) + 0.0035 * chosen.mns * (1.0 if full else 0.4)
    return peak + (1.5 if chosen.qr != "NONE" else 0.0) + 70e-6 * chosen.mnbt + chosen.ep


def _pair(chosen: Config, first: str, first_value: object, second: str, second_value: object) -> bool:
    return bool(getattr(chosen, first) == first_value and getattr(chosen, second) == second_value)
