"""The words of a measured request: what is sent, and what its stamped answer means. Pure; msgspec's one door."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from trials.load.framing import NOT_HTTP, Body

SHOWN = 200  # characters of a server's words in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """
    What a stream of server-sent events says. A chunk is an event with text; its time is that of the piece it ended in.

    Attributes:
        first_s: When the first chunk came, on the clock of the pieces, or None without any.
        last_s: When the last one came.
        chunks: How many came.
        gaps_s: Between each and the next.
        prompt_tokens: The server's own count, and so are the next two; None where it told none.
        error: What is wrong with the answer, or None.
        refused: True if the server says it will never answer this (HTTP 4xx).
    """

    first_s: float | None = None
    last_s: float | None = None
    chunks: int = 0
    gaps_s: tuple[float, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    refused: bool = False


def body(model: str, prompt: str | Sequence[int], output_tokens: int) -> bytes:
    """Return the JSON that asks for a streamed completion of a fixed length, with its usage."""
    return msgspec.json.encode(
        {
            "model": model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    )


def read(pieces: Sequence[tuple[int, bytes]], *, stamped: bool = False) -> Streamed:
    """
    Return what an answer says, as far as it came: a text completion or a chat, or the server's words of refusal.

    Args:
        pieces: Nanoseconds and the bytes that came then: an HTTP answer, cut anywhere.
        stamped: Its events say their times themselves, as an emulated endpoint's do.
    """
    framing = Body()
    try:
        for framing.stamp_ns, data in pieces:
            framing.feed(data)
    except NOT_HTTP as error:
        return Streamed(error=f"not an HTTP answer: {error}")
    parts = framing.taken()
    if framing.status is not None and framing.status // 100 != 2:  # noqa: PLR2004 HTTP's own classes
        text = b"".join(part for _, part in parts).decode(errors="replace")
        return Streamed(error=f"HTTP {framing.status}: {text:.{SHOWN}}", refused=framing.status // 100 == 4)  # noqa: PLR2004
    return _read_events(parts, stamped=stamped)


def failed(pieces: Sequence[tuple[int, bytes]], status: int | None) -> bool:
    """
    Return whether an answer is an error, without parsing one that shows no sign of it.

    An error in a stream ends it, so only the last pieces are looked at; inside JSON's own strings a quote is escaped.
    """
    if status is None or status // 100 != 2:  # noqa: PLR2004 HTTP's own classes
        return True
    return any(b'"error"' in data for _, data in pieces[-4:]) and read(pieces).error is not None


class _PromptDetails(msgspec.Struct, gc=False):
    """Of `usage.prompt_tokens_details`, what is read."""

    cached_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    """Of `usage`, what is read."""

    prompt_tokens: int
    completion_tokens: int
    prompt_tokens_details: _PromptDetails | None = None


class _Delta(msgspec.Struct, gc=False):
    """Of a piece of a chat, what is read: words of the answer, or of the reasoning under one of its names."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct, gc=False):
    """Of one of `choices`, what is read: `text` of a completion, `delta` of a chat."""

    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Event(msgspec.Struct, gc=False):
    """Of an event, what is read. The rest is skipped: half the time of orjson, which makes objects of all of it."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    emulated_ns: int | None = None


_event = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class _Seen:
    """What the events of a stream have said so far."""

    stamps_ns: list[int] = field(default_factory=list)
    usage: _Usage | None = None
    finish_reason: str | None = None
    error: str | None = None

    def take(self, stamp_ns: int, event: _Event) -> None:
        """Note one event."""
        for choice in event.choices or ():
            if choice.text or _said(choice.delta):
                self.stamps_ns.append(stamp_ns)
            if choice.finish_reason:
                self.finish_reason = choice.finish_reason
        if event.usage:
            self.usage = event.usage
        if event.error:
            self.error = self.error or f"error in the stream: {event.error!r:.{SHOWN}}"

    def told(self) -> Streamed:
        """Return what it comes to."""
        stamps, usage = self.stamps_ns, self.usage
        details = usage.prompt_tokens_details if usage else None
        return Streamed(
            first_s=stamps[0] / 1e9 if stamps else None,
            last_s=stamps[-1] / 1e9 if stamps else None,
            chunks=len(stamps),
            gaps_s=tuple((after - before) / 1e9 for before, after in itertools.pairwise(stamps)),
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            cached_tokens=details.cached_tokens if details else None,
            finish_reason=self.finish_reason,
            error=self.error or (None if usage else "the stream ended without usage"),
        )


def _read_events(parts: Iterable[tuple[int, bytes]], *, stamped: bool) -> Streamed:
    """Read a stream line by line, as far as its lines are whole and make sense."""
    seen, rest = _Seen(), b""
    for stamp_ns, part in parts:
        lines = (rest + part).split(b"\n")
        rest = lines.pop()
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if not data or data == b"[DONE]":
                continue
            try:
                event = _event(data)
            except ValueError:  # msgspec's own are
                seen.error = seen.error or f"not a piece of a completion: {data.decode(errors='replace'):.{SHOWN}}"
                return seen.told()
            own_ns = event.emulated_ns if stamped else None
            seen.take(stamp_ns if own_ns is None else own_ns, event)
    return seen.told()


def _said(delta: _Delta | None) -> bool:
    """Return whether a piece of a chat brings text."""
    return delta is not None and bool(delta.content or delta.reasoning_content or delta.reasoning)
