"""What a run of the load leaves behind: every request as the client saw it, and what it cost the client itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTiming:
    """
    One request as the client saw it. Times are seconds on one monotonic clock, the same in every process of the host.

    Attributes:
        number: Its place in the run, from 0.
        slot: Which of the run's clients sent it, from 0.
        due_s: When it could have been sent: its slot was free, its pause over, or its time of arrival had come.
        sent_s: When its bytes were written.
        first_token_s: When the first chunk with content arrived, or None if none did.
        last_token_s: When the last chunk with content arrived, or None if none did.
        ended_s: When the stream ended.
        asked_input_tokens: The ids that were sent, or None where text was.
        prompt_tokens: From the server's usage, or None if it sent none.
        completion_tokens: From the server's usage, or None if it sent none.
        cached_tokens: Prompt tokens from the prefix cache, from the server's usage, or None if it does not say.
        chunks: Chunks with content.
        gaps_s: Between successive chunks with content.
        error: What went wrong, or None.
        refused: True if what went wrong is that the server will never answer it (HTTP 4xx).
        timed_out: True if what went wrong is that no answer came in time.
        resent: True if a dropped keep-alive connection made the client send it once more.
    """

    number: int
    slot: int
    due_s: float
    sent_s: float
    first_token_s: float | None
    last_token_s: float | None
    ended_s: float
    asked_input_tokens: int | None
    asked_output_tokens: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None
    chunks: int
    gaps_s: tuple[float, ...] = ()
    finish_reason: str | None = None
    error: str | None = None
    refused: bool = False
    timed_out: bool = False
    resent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientUse:
    """
    What a run cost the client: each figure is that of the worst of its processes, as `trials.load.meter` defines it.

    Attributes:
        cpu_share: Of one core.
        drain_p99_s: None if no chunk came.
        virtual: Whether the endpoint kept the clock of the timings: then nothing that the client does disturbs them.
    """

    processes: int
    cpu_share: float
    lag_p99_s: float
    lag_max_s: float
    drain_p99_s: float | None
    virtual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """
    One run.

    Attributes:
        timings: Every request that was sent, by number.
        begun_s: When the first one was sent.
        ended_s: When the last one had ended.
    """

    timings: tuple[RequestTiming, ...]
    begun_s: float
    ended_s: float
    client: ClientUse
