"""Every HTTP word that autotune speaks: an OpenAI-like API, asked directly and never through a proxy."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import httpx

from evals import Answer, Request
from trials.deadline import Deadline
from trials.load.metrics import RequestTiming

# Engines speak plain HTTP. A context that trusts nobody costs nothing; httpx's own reads every authority for each
# client, 30 ms of a processor that the engine may need.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class RequestFailed(Exception):
    """
    A request without a usable answer.

    Attributes:
        status: The HTTP status, or None where no answer came or it was no JSON of the expected shape.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status

    @property
    def refused(self) -> bool:
        """Whether the server understood the request and says it will never answer it (HTTP 4xx)."""
        return self.status is not None and 400 <= self.status < 500  # noqa: PLR2004 HTTP's own classes


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer; the counts are the server's own."""

    text: str
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int


def reported_models(url: str, *, timeout_s: float) -> tuple[str, ...]:
    """
    Return the model ids that the server at `url` says it serves.

    Raises:
        RequestFailed: It does not say.
    """
    answer = _json("GET", f"{url}/v1/models", timeout_s=timeout_s)
    try:
        return tuple(str(model["id"]) for model in answer["data"])
    except (KeyError, TypeError) as error:
        raise RequestFailed(f"GET {url}/v1/models: not a list of models: {answer!r:.200}") from error


def complete(
    url: str, model: str, prompt: str, *, max_tokens: int, timeout_s: float, ignore_eos: bool = False
) -> Completion:
    """
    Return the greedy completion of one prompt.

    Args:
        timeout_s: Seconds until the whole answer.
        ignore_eos: Go on to `max_tokens` whatever the model says.

    Raises:
        RequestFailed: No answer, or none that says what was generated.
    """
    body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": ignore_eos}
    return _completion(url, body, timeout_s=timeout_s)


def _completion(url: str, body: dict[str, Any], *, timeout_s: float) -> Completion:
    answer = _json("POST", f"{url}/v1/completions", timeout_s=timeout_s, body=body)
    try:
        choice, usage = answer["choices"][0], answer["usage"]
        return Completion(
            text=choice["text"],
            finish_reason=choice.get("finish_reason"),
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
        )
    except (KeyError, IndexError, TypeError) as error:
        raise RequestFailed(f"POST {url}/v1/completions: not a completion: {answer!r:.200}") from error


def asker(url: str, model: str, *, timeout_s: float) -> Callable[[Request], Answer]:
    """
    Return the function that a gate asks with: one request, one answer; trouble is an answer with an error.

    The connection is closed after each answer: a gate has time, and a dropped keep-alive would look like an error.
    """

    def ask(request: Request) -> Answer:
        body = {
            "model": model,
            "prompt": request.prompt,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stop": list(request.until),
        }
        try:
            got = _completion(url, body, timeout_s=timeout_s)
        except RequestFailed as error:
            transient = error.status in {408, 409, 429}
            return Answer(
                text="",
                finish_reason=None,
                completion_tokens=None,
                error=str(error),
                refused=error.refused and not transient,
            )
        return Answer(text=got.text, finish_reason=got.finish_reason, completion_tokens=got.completion_tokens)

    return ask


class Connection:
    """One client of a closed loop: a keep-alive connection of its own, a request at a time, answers streamed."""

    def __init__(self, url: str, model: str, *, request_s: float) -> None:
        """
        Open nothing yet.

        Args:
            request_s: Seconds that one request may take in all.
        """
        self._url = f"{url}/v1/completions"
        self._model = model
        self._request_s = request_s
        self._kept_alive = False
        self._deadline: asyncio.Timeout | None = None
        self._given_up: str | None = None
        self.token_s: float | None = None
        """When the newest token came, on the clock of the timings."""
        self._client = httpx.AsyncClient(
            trust_env=False,
            verify=NO_TLS,
            timeout=None,  # noqa: S113 `request` has the one deadline
        )

    async def __aenter__(self) -> Self:
        """Open the client."""
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def request(self, slot: int, prompt: str, *, output_tokens: int) -> RequestTiming:
        """
        Send one prompt and read its stream to the end; what goes wrong stands in the timing.

        A server may drop an idle keep-alive connection just as it is used again. Such a request failed before any byte
        came back, so it is sent once more on a new connection, and its clock starts again. A new connection that is
        dropped is an error.
        """
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        content = json.dumps(body).encode()
        reading = _Reading(slot)
        try:
            async with asyncio.timeout(self._request_s) as self._deadline:
                try:
                    await self._stream(content, reading)
                except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                    if reading.answered or not self._kept_alive:
                        raise
                    reading.resent = True
                    await self._stream(content, reading)
        except TimeoutError:
            return reading.timing(self._given_up or f"no whole answer within {self._request_s:g} s", timed_out=True)
        except (httpx.HTTPError, RequestFailed, ValueError) as error:
            return reading.timing(f"{type(error).__name__}: {error}")
        finally:
            self._deadline = None
        return reading.timing(None if reading.completion_tokens is not None else "the stream ended without usage")

    def give_up(self, why: str) -> None:
        """End the request in flight, if there is one, as out of time; its timing says why."""
        if self._deadline is not None and not self._deadline.expired():
            self._given_up = why
            self._deadline.reschedule(asyncio.get_running_loop().time())

    async def _stream(self, content: bytes, reading: "_Reading") -> None:
        reading.sent_s = time.perf_counter()
        headers = {"content-type": "application/json"}
        async with self._client.stream("POST", self._url, content=content, headers=headers) as response:
            reading.answered = self._kept_alive = True
            if response.is_error:
                text = (await response.aread()).decode(errors="replace")
                raise RequestFailed(f"HTTP {response.status_code}: {text:.200}", status=response.status_code)
            async for chunk in response.aiter_bytes():
                reading.feed(chunk)
                self.token_s = reading.token_s or self.token_s


@dataclass(slots=True)
class _Reading:
    """What was seen so far of one stream."""

    slot: int
    sent_s: float = 0.0
    first_token_s: float | None = None
    token_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    answered: bool = False
    resent: bool = False
    rest: bytes = b""

    def feed(self, chunk: bytes) -> None:
        """Read the lines that are whole by now; httpx's own would end one at U+2028 too, which JSON may hold."""
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        """Read one line of server-sent events."""
        name, _, data = line.partition(b":")
        if name != b"data" or data.strip() == b"[DONE]":
            return
        event = json.loads(data)
        try:
            self._event(event)
        except (AttributeError, KeyError, TypeError) as error:
            raise RequestFailed(f"not a piece of a completion: {event!r:.200}") from error

    def _event(self, event: dict[str, Any]) -> None:
        if error := event.get("error"):
            raise RequestFailed(f"error in the stream: {error!r:.200}")
        if choices := event.get("choices"):
            self.token_s = time.perf_counter()
            if self.first_token_s is None and any(choice.get("text") for choice in choices):
                self.first_token_s = self.token_s
        if usage := event.get("usage"):
            self.prompt_tokens, self.completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]

    def timing(self, error: str | None, *, timed_out: bool = False) -> RequestTiming:
        """Return the request as it ended now."""
        return RequestTiming(
            slot=self.slot,
            sent_s=self.sent_s,
            first_token_s=self.first_token_s,
            ended_s=time.perf_counter(),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            error=error,
            timed_out=timed_out,
            resent=self.resent,
        )


def _json(method: str, url: str, *, timeout_s: float, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 JSON
    """Ask once, on a connection of its own; a request that fails is never half of another's keep-alive."""
    deadline = Deadline(f"{method} {url}", timeout_s)
    try:
        with (
            httpx.Client(trust_env=False, verify=NO_TLS, timeout=timeout_s) as client,
            client.stream(method, url, json=body) as response,
        ):
            data = b"".join(_in_time(response.iter_bytes(), deadline))
            if response.is_error:
                message = f"{method} {url}: HTTP {response.status_code}: {data.decode(errors='replace'):.200}"
                raise RequestFailed(message, status=response.status_code)
            return json.loads(data)
    except TimeoutError as error:
        raise RequestFailed(f"{method} {url}: no whole answer within {timeout_s:g} s") from error
    except httpx.HTTPError as error:
        raise RequestFailed(f"{method} {url}: {type(error).__name__}: {error}") from error
    except ValueError as error:
        raise RequestFailed(f"{method} {url}: not JSON: {error}") from error


def _in_time(chunks: Iterator[bytes], deadline: Deadline) -> Iterator[bytes]:
    """Pass on what arrives; a server that trickles resets each wait for a byte, but not the deadline."""
    for chunk in chunks:
        if not deadline.left_s:
            raise TimeoutError
        yield chunk
