"""How far a client's stamps are from what a calibrated server knows: pure functions of both sides' times."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from trials.load.timing import RequestTiming

NS = 1e-9
APART = 0.25  # of a step without a send: the step before is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """
    An answer as its server knows it. Times are seconds on CLOCK_MONOTONIC.

    Attributes:
        number: What the prompt began with.
        received_s: When the first of the request had arrived.
        sent_s: When each chunk of the stream was sent.
    """

    number: int
    received_s: float
    sent_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """The same answer as a client saw it: when it sent the request, and its stamp of each chunk."""

    number: int
    sent_s: float
    stamps_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """
    What a client reports less what is true: medians and 99th percentiles of the absolute difference.

    Attributes:
        drain_p50_s: From a step's first send until its last chunk has been stamped; over steps. A server that takes
            long to send a step is part of it.
        late_p50_s: From a chunk's own send until its stamp, of the latest chunk of a step; over steps.
    """

    ttft_p50_ms: float
    ttft_p99_ms: float
    itl_p50_ms: float
    itl_p99_ms: float
    drain_p50_s: float
    drain_p99_s: float
    late_p50_s: float
    late_p99_s: float


def seen(text: str | bytes) -> tuple[int, tuple[Sent, ...]]:
    """Return what a calibrated server's /seen says: the most requests at once, and those that it has answered."""
    told = json.loads(text)
    answers = tuple(
        Sent(
            number=answer["number"],
            received_s=answer["received_ns"] * NS,
            sent_s=tuple(sent * NS for sent in answer["sent_ns"]),
        )
        for answer in told["requests"]
    )
    return told["peak"], answers


def stamped(timing: RequestTiming, number: int) -> Stamped:
    """Return a timing's stamps: the first chunk's, and each later one by its gap."""
    first = () if timing.first_token_s is None else tuple(accumulate(timing.gaps_s, initial=timing.first_token_s))
    return Stamped(number=number, sent_s=timing.sent_s, stamps_s=first)


def lost(pairs: Iterable[tuple[Stamped, Sent]]) -> int:
    """Return how many chunks were sent and not stamped, or stamped and never sent."""
    return sum(abs(len(ours.stamps_s) - len(truth.sent_s)) for ours, truth in pairs)


def paired(ours: Iterable[Stamped], truth: Iterable[Sent]) -> tuple[tuple[Stamped, Sent], ...]:
    """Return each answer that both sides know, by its number."""
    by_number: Mapping[int, Sent] = {answer.number: answer for answer in truth}
    return tuple((own, by_number[own.number]) for own in ours if own.number in by_number)


def errors(pairs: Sequence[tuple[Stamped, Sent]], *, step_s: float) -> Errors:
    """
    Return how wrong the client is.

    A time to first token is true from the request's arrival at the server to the first chunk's send; a gap between
    chunks is true between their sends.

    Args:
        pairs: Answers of which each chunk was stamped; at least one.
        step_s: Seconds between two sends of one stream.
    """
    ttft = [(own.stamps_s[0] - own.sent_s) - (true.sent_s[0] - true.received_s) for own, true in pairs]
    itl = [
        (stamp - before) - (sent - sent_before)
        for own, true in pairs
        for (before, stamp), (sent_before, sent) in zip(pairwise(own.stamps_s), pairwise(true.sent_s), strict=True)
    ]
    ttft_p50, ttft_p99 = _percentiles([abs(error) for error in ttft])
    itl_p50, itl_p99 = _percentiles([abs(error) for error in itl or [0.0]])
    drains_s, lates_s = zip(*_steps(pairs, step_s=step_s), strict=True)
    drain_p50, drain_p99 = _percentiles(drains_s)
    late_p50, late_p99 = _percentiles(lates_s)
    return Errors(
        ttft_p50_ms=ttft_p50 * 1e3,
        ttft_p99_ms=ttft_p99 * 1e3,
        itl_p50_ms=itl_p50 * 1e3,
        itl_p99_ms=itl_p99 * 1e3,
        drain_p50_s=drain_p50,
        drain_p99_s=drain_p99,
        late_p50_s=late_p50,
        late_p99_s=late_p99,
    )


def _steps(pairs: Iterable[tuple[Stamped, Sent]], *, step_s: float) -> list[tuple[float, float]]:
    """Return (drain, latest) of each step of the server, in seconds."""
    chunks = sorted((sent, stamp) for own, true in pairs for sent, stamp in zip(true.sent_s, own.stamps_s, strict=True))
    sent, stamps = np.array(chunks).T
    begins = np.flatnonzero(np.diff(sent, prepend=-np.inf) > APART * step_s)
    drains = np.maximum.reduceat(stamps, begins) - sent[begins]
    return list(zip(drains.tolist(), np.maximum.reduceat(stamps - sent, begins).tolist(), strict=True))


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    p50, p99 = np.percentile(values, [50, 99])
    return float(p50), float(p99)
