"""When a run is steady, and how fast it then is: pure functions from timings to stretches of time, rates and slopes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from trials.load.timing import RequestTiming

FULL = 0.95
"""Share of the concurrency that must be active. Source: docs/decisions/0006-windows.md."""
SMALLEST_DRIFT = 0.01
"""Of tok/s between two runs, below which nobody asks for more. Source: docs/decisions/0006-windows.md."""
SD_OF_A_DIFFERENCE = 2.8
"""1.96 x √2: two values of one distribution differ by less than so many of its deviations in 95 of 100 pairs."""
SLICES = 8
"""Parts of a stretch that a slope is drawn through; fewer would leave its standard error to chance."""

Interval = tuple[float, float]
"""Begin and end, seconds on the clock of the timings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Tokens a second."""

    input: float
    output: float

    @property
    def total(self) -> float:
        """Input and output together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """By how much total tok/s rises over a stretch, relative to its mean, and the standard error of that."""

    change: float
    standard_error: float


def steady_stretch(timings: Sequence[RequestTiming], concurrency: int, *, open_loop: bool) -> Interval | None:
    """
    Return the stretch in which the load is what it is meant to be; None if there is none.

    It begins when as many requests have ended as there are slots: the burst in which all begin at once is over. In a
    closed loop it ends when fewer than 95 % of the slots have anything left to do, at a request rate with the last
    request that is sent.
    """
    ended = sorted(timing.ended_s for timing in timings)
    if len(ended) <= concurrency:
        return None
    if open_loop:
        end_s = max(timing.sent_s for timing in timings)
    else:
        last_s: dict[int, float] = {}
        for timing in timings:
            last_s[timing.slot] = max(timing.ended_s, last_s.get(timing.slot, timing.ended_s))
        spare = concurrency - math.ceil(FULL * concurrency)
        end_s = sorted(last_s.values())[min(spare, len(last_s) - 1)]
    start_s = ended[concurrency - 1]
    return (start_s, end_s) if start_s < end_s else None


def cut(stretch: Interval, count: int) -> tuple[Interval, ...]:
    """Return so many equal parts of a stretch."""
    start_s, end_s = stretch
    edges = [start_s + (end_s - start_s) * n / count for n in range(count + 1)]
    return tuple(pairwise(edges))


def share(timing: RequestTiming, interval: Interval) -> float:
    """Return which share of its time a request spent inside an interval; of one that took no time, whether it did."""
    start_s, end_s = interval
    if timing.ended_s <= timing.sent_s:
        return float(start_s <= timing.sent_s < end_s)
    inside_s = min(timing.ended_s, end_s) - max(timing.sent_s, start_s)
    return max(0.0, inside_s) / (timing.ended_s - timing.sent_s)


def rates(timings: Iterable[RequestTiming], interval: Interval) -> Rates:
    """
    Return tokens a second in an interval, each request's tokens spread evenly over its time.

    In a stationary loop that is without bias wherever the edges fall, and no request is counted whole or not at all.
    Counts are the server's; a count that it did not send adds nothing. In an interval of no length nothing is done.
    """
    seconds = interval[1] - interval[0]
    if not seconds:
        return Rates(input=0.0, output=0.0)
    counted = [(share(timing, interval), timing) for timing in timings]
    return Rates(
        input=sum(part * (timing.prompt_tokens or 0) for part, timing in counted) / seconds,
        output=sum(part * (timing.completion_tokens or 0) for part, timing in counted) / seconds,
    )


def drift(previous_tok_per_s: float, latest_tok_per_s: float) -> float:
    """Return by how much the later of two runs was faster, relative to the earlier."""
    return latest_tok_per_s / previous_tok_per_s - 1


def steady(change: float, window_sd: float | None) -> bool:
    """
    Say whether two runs in a row differ by no more than runs of a warm engine do.

    Args:
        change: As `drift` returns it.
        window_sd: Relative standard deviation between windows of one launch, or None where it is not known.
    """
    return abs(change) < max(SMALLEST_DRIFT, SD_OF_A_DIFFERENCE * (window_sd or 0.0))


def slope(timings: Sequence[RequestTiming], stretch: Interval) -> Slope | None:
    """
    Return the trend of total tok/s over a stretch, the least-squares line through the rates of 8 equal slices.

    None where a slice is shorter than half of the requests: neighbours then share most of their requests, and the
    standard error, which takes slices to be independent, would be far too small.
    """
    start_s, end_s = stretch
    lasting_s = median(timing.ended_s - timing.sent_s for timing in timings)
    values = [rates(timings, part).total for part in cut(stretch, SLICES)]
    mean = fmean(values)
    if end_s - start_s < SLICES * lasting_s or not mean:
        return None
    places = [(n + 0.5) / SLICES - 0.5 for n in range(SLICES)]
    spread = sum(place**2 for place in places)
    rise = sum(place * value for place, value in zip(places, values, strict=True)) / spread
    left = [value - mean - rise * place for place, value in zip(places, values, strict=True)]
    error = math.sqrt(sum(each**2 for each in left) / (SLICES - 2) / spread)
    return Slope(change=rise / mean, standard_error=error / mean)
