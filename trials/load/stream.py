"""The words of a measured request: what is sent, and what its stamped answer means. Pure; msgspec's one door."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from trials.load.framing import NOT_HTTP, Body

SHOWN = 200  # characters of a server's words in a message
BACKSLASH = ord("\\")
NO_CHUNK = b"\r\n"  # with which none begins


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
    answer = _Answer(stamped=stamped)
    try:
        for stamp_ns, data in pieces:
            if answer.template is not None and answer.template.fits(data):
                answer.stamps_ns.append(stamp_ns)
            else:
                answer.take(stamp_ns, data)
    except NOT_HTTP as error:
        return Streamed(error=f"not an HTTP answer: {error}")
    return answer.told()


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


class _Template:
    """
    The bytes around the words of a piece that is one HTTP chunk with one event.

    Engines' events differ in little but the words. A piece with other words between the same bytes means what the first
    one did, so that it needs no parsing: a fifth of the time.
    """

    def __init__(self, before: bytes, after: bytes) -> None:
        """
        Take the bytes of a chunk up to the words, without its size, and from there on.

        Args:
            before: Ends with the quote that opens the words.
            after: Begins with the quote that closes them.
        """
        self._before, self._after = before, after
        self._openings: dict[int, bytes] = {}

    @classmethod
    def of(cls, piece: bytes, words: str) -> "_Template | None":
        """Return that of a piece whose words were read; None where it is no whole chunk, or they are hard to find."""
        quoted = b'"%s"' % words.encode()
        if piece.count(quoted) != 1:
            return None
        begin, end = piece.index(b"\r\n") + 2, piece.index(quoted)
        template = cls(piece[begin : end + 1], piece[end + len(quoted) - 1 :])
        return template if template.fits(piece) else None

    def fits(self, piece: bytes) -> bool:
        """Return whether a piece that begins with a chunk is one whole chunk of this kind, with words."""
        size = len(piece)
        opening = self._openings.get(size) or self._opening(size)
        end = size - len(self._after)
        return (
            piece.startswith(opening)
            and piece.find(b'"', len(opening)) == end > len(opening)
            and piece[end - 1] != BACKSLASH
            and piece.endswith(self._after)
        )

    def _opening(self, size: int) -> bytes:
        """Return what a piece of a length begins with where it is a chunk: its own length, then ours."""
        lengths = {digits: size - digits - len(b"\r\n\r\n") for digits in range(1, 9)}
        fitting = [length for digits, length in lengths.items() if length > 0 and len(f"{length:x}") == digits]
        opening = self._openings[size] = b"%x\r\n%s" % (fitting[0], self._before) if fitting else NO_CHUNK
        return opening


@dataclass(slots=True)
class _Answer:
    """
    What an answer has said so far.

    Attributes:
        template: Of the pieces that come, while they begin where a chunk and a line begin.
    """

    stamped: bool
    stamps_ns: list[int] = field(default_factory=list)
    template: _Template | None = None
    _framing: Body = field(default_factory=Body)
    _usage: _Usage | None = None
    _finish_reason: str | None = None
    _error: str | None = None
    _rest: bytes = b""
    _aligned: bool = False
    _senseless: bool = False

    def take(self, stamp_ns: int, data: bytes) -> None:
        """
        Note what a piece says, whatever its bytes are.

        Raises:
            httptools.HttpParserError: It is no HTTP, see `NOT_HTTP`.
        """
        framing, aligned = self._framing, self._aligned
        framing.stamp_ns = stamp_ns
        try:
            framing.feed(data)
        except NOT_HTTP:
            if not framing.whole:  # what comes after the end takes nothing from it
                raise
        if self._senseless or framing.status is None or framing.status // 100 != 2:  # noqa: PLR2004 HTTP's own classes
            return
        events = self._events(framing.taken())
        self._aligned = framing.between_chunks and data.endswith(b"\n") and not self._rest and not self._senseless
        if not self._aligned:
            self.template = None
        elif aligned and len(events) == 1 and (words := _words_alone(events[0])):
            self.template = _Template.of(data, words) or self.template

    def told(self) -> Streamed:
        """Return what it comes to."""
        status = self._framing.status
        if status is not None and status // 100 != 2:  # noqa: PLR2004 HTTP's own classes
            text = b"".join(part for _, part in self._framing.taken()).decode(errors="replace")
            return Streamed(error=f"HTTP {status}: {text:.{SHOWN}}", refused=status // 100 == 4)  # noqa: PLR2004
        stamps, usage = self.stamps_ns, self._usage
        details = usage.prompt_tokens_details if usage else None
        return Streamed(
            first_s=stamps[0] / 1e9 if stamps else None,
            last_s=stamps[-1] / 1e9 if stamps else None,
            chunks=len(stamps),
            gaps_s=tuple([(after - before) / 1e9 for before, after in itertools.pairwise(stamps)]),
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            cached_tokens=details.cached_tokens if details else None,
            finish_reason=self._finish_reason,
            error=self._error or (None if usage else "the stream ended without usage"),
        )

    def _events(self, parts: Iterable[tuple[int, bytes]]) -> list[_Event]:
        """Read line by line, as far as lines are whole and make sense; note and return the events."""
        events: list[_Event] = []
        for stamp_ns, part in parts:
            lines = (self._rest + part).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                data = line[5:].strip() if line.startswith(b"data:") else b""
                if not data or data == b"[DONE]":
                    continue
                try:
                    events.append(_event(data))
                except ValueError:  # msgspec's own are
                    self._senseless = True
                    words = data.decode(errors="replace")
                    self._error = self._error or f"not a piece of a completion: {words:.{SHOWN}}"
                    return events
                self._note(stamp_ns, events[-1])
        return events

    def _note(self, stamp_ns: int, event: _Event) -> None:
        own_ns = event.emulated_ns if self.stamped else None
        for choice in event.choices or ():
            if _words(choice):
                self.stamps_ns.append(stamp_ns if own_ns is None else own_ns)
            if choice.finish_reason:
                self._finish_reason = choice.finish_reason
        if event.usage:
            self._usage = event.usage
        if event.error:
            self._error = self._error or f"error in the stream: {event.error!r:.{SHOWN}}"


def _words(choice: _Choice) -> str | None:
    """Return the text that a piece of a completion or of a chat brings, if it does."""
    delta = choice.delta
    return choice.text or (delta and (delta.content or delta.reasoning_content or delta.reasoning)) or None


def _words_alone(event: _Event) -> str | None:
    """Return the text of an event that says nothing else."""
    match event:
        case _Event(choices=[_Choice(finish_reason=None) as choice], usage=None, error=None, emulated_ns=None):
            return _words(choice)
        case _:
            return None
