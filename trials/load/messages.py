"""
What the generator and its shards say to each other, in this order.

It imports next to nothing: a shard starts with it.
"""

from dataclasses import dataclass

from trials.load.timing import ClientUse, RequestTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """
    First to a shard: whom to ask.

    Attributes:
        slots: The numbers of its slots.
        request_s: Seconds that one request may take.
        beat_s: Seconds between its beats in a run.
        virtual_slots: Slots of the whole load, where the endpoint keeps a virtual clock; None: the clock is ours.
    """

    url: str
    slots: tuple[int, ...]
    request_s: float
    beat_s: float
    virtual_slots: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request to send; its body is `stream.body`'s."""

    number: int
    body: bytes
    input_tokens: int | None
    output_tokens: int
    pause_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """
    To a shard: what to send in the next run.

    Attributes:
        arrivals: Seconds after the start, one a session, or None: each as soon as a slot is free.
        run: What it is called; no other run of the endpoint is.
    """

    sessions: tuple[tuple[Turn, ...], ...]
    arrivals: tuple[float, ...] | None
    run: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """From a shard: its requests are encoded, its connections open."""


@dataclass(frozen=True, slots=True)
class Start:
    """To a shard: begin at this moment of `time.perf_counter`."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Stop:
    """To a shard: send nothing more; with a reason, give up what is in flight too."""

    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """
    From a shard, now and then during a run.

    Attributes:
        token_s: When one of its tokens came since the beat before; its last one, where none has; 0 before the first.
        busy_since_s: Since when it has had requests in flight, or None while it has none.
        failed: Whether a request has failed.
    """

    token_s: float
    busy_since_s: float | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Done:
    """From a shard, last of a run: its requests, and what they cost it."""

    timings: tuple[RequestTiming, ...]
    use: ClientUse
