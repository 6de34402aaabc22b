"""Every HTTP word that autotune speaks outside a load: an OpenAI-like API, asked directly and never through a proxy."""

import json
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx

from evals import Answer, Message, Request
from trials.deadline import Deadline

# Engines speak plain HTTP. A context that trusts nobody costs nothing; httpx's own reads every authority for each
# client, 30 ms of a processor that the engine may need.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
BUSY = frozenset({408, 409, 429})
"""HTTP errors that pass by themselves; every other 4xx would be said again."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


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
        """Whether the server understood the request and says it will never answer it (HTTP 4xx, unless it is busy)."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in BUSY  # noqa: PLR2004 HTTP's


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


def keeps_a_clock(url: str, *, timeout_s: float) -> bool:
    """Say whether the server at `url` declares that it is emulated, on a virtual clock; silence is no such word."""
    try:
        said = _json("GET", f"{url}/v1/models", timeout_s=timeout_s)
    except RequestFailed:
        return False
    return isinstance(said, dict) and said.get("emulated") is True and said.get("clock") == "virtual"


def text(url: str, *, timeout_s: float) -> str:
    """
    Return what a page says.

    Raises:
        RequestFailed: It is not there, or does not come in time.
    """
    return _body("GET", url, timeout_s=timeout_s).decode(errors="replace")


def served_context(url: str, model: str, *, timeout_s: float) -> int | None:
    """
    Return how many tokens of prompt and answer together one request may take, or None where the server does not say.

    vLLM and SGLang say it beside the model, llama.cpp in its properties: there it is that of one slot.

    Raises:
        RequestFailed: It has no list of models.
    """
    answer = _json("GET", f"{url}/v1/models", timeout_s=timeout_s)
    try:
        said = next((one.get("max_model_len") for one in answer["data"] if one.get("id") == model), None)
    except (AttributeError, KeyError, TypeError) as error:
        raise RequestFailed(f"GET {url}/v1/models: not a list of models: {answer!r:.200}") from error
    return said if isinstance(said, int) else _slot_context(url, timeout_s=timeout_s)


def _slot_context(url: str, *, timeout_s: float) -> int | None:
    try:
        said = _json("GET", f"{url}/props", timeout_s=timeout_s)["default_generation_settings"]["n_ctx"]
    except (RequestFailed, KeyError, TypeError):
        return None
    return said if isinstance(said, int) else None


Prompt = str | tuple[int, ...] | tuple[Message, ...]
"""A text, the ids of its tokens, or the messages of a chat: the last goes to the chat endpoint."""


def complete(
    url: str, model: str, prompt: Prompt, *, max_tokens: int, timeout_s: float, ignore_eos: bool = False
) -> Completion:
    """
    Return the greedy completion of one prompt.

    Args:
        timeout_s: Seconds until the whole answer.
        ignore_eos: Go on to `max_tokens` whatever the model says.

    Raises:
        RequestFailed: No answer, or none that says what was generated.
    """
    settings = {"max_tokens": max_tokens, "temperature": 0, "ignore_eos": ignore_eos}
    return _completion(url, model, prompt, settings, timeout_s=timeout_s)


def _completion(url: str, model: str, prompt: Prompt, settings: dict[str, Any], *, timeout_s: float) -> Completion:
    path, asked = _door(prompt)
    answer = _json("POST", f"{url}{path}", timeout_s=timeout_s, body={"model": model, **asked, **settings})
    try:
        choice, usage = answer["choices"][0], answer["usage"]
        return Completion(
            text=(choice["message"]["content"] or "") if path == CHAT else choice["text"],
            finish_reason=choice.get("finish_reason"),
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
        )
    except (KeyError, IndexError, TypeError) as error:
        raise RequestFailed(f"POST {url}{path}: not a completion: {answer!r:.200}") from error


def _door(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    """Return the endpoint's path, and the prompt as its request has it."""
    if isinstance(prompt, str):
        return COMPLETIONS, {"prompt": prompt}
    messages = [{"role": one.role, "content": one.content} for one in prompt if isinstance(one, Message)]
    return (CHAT, {"messages": messages}) if messages else (COMPLETIONS, {"prompt": list(prompt)})


def asker(url: str, model: str, *, timeout_s: float) -> Callable[[Request], Answer]:
    """
    Return the function that a gate asks with: one request, one answer; trouble is an answer with an error.

    A server that is busy (HTTP 408, 409 or 429) is asked again after a short pause, as long as there is time. The
    connection is closed after each answer: a gate has time, and a dropped keep-alive would look like an error.

    Args:
        timeout_s: Seconds that one question may take in all.
    """

    def ask(request: Request) -> Answer:
        deadline = Deadline("a question", timeout_s)
        retries, pause_s = 0, FIRST_PAUSE_S
        while True:
            answer = _asked_once(url, model, request, timeout_s=deadline.left_s)
            if answer.status not in BUSY or deadline.left_s <= pause_s:
                return replace(answer, retries=retries)
            time.sleep(pause_s)
            retries, pause_s = retries + 1, min(2 * pause_s, LONGEST_PAUSE_S)

    return ask


def _asked_once(url: str, model: str, request: Request, *, timeout_s: float) -> Answer:
    settings = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.until),
        "seed": request.seed,
        **dict(request.extra),
    }
    try:
        got = _completion(url, model, request.prompt, settings, timeout_s=timeout_s)
    except RequestFailed as error:
        return Answer(
            text="",
            finish_reason=None,
            completion_tokens=None,
            error=str(error),
            status=error.status,
            refused=error.refused,
        )
    return Answer(text=got.text, finish_reason=got.finish_reason, completion_tokens=got.completion_tokens)


def _json(method: str, url: str, *, timeout_s: float, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 JSON
    data = _body(method, url, timeout_s=timeout_s, body=body)
    try:
        return json.loads(data)
    except ValueError as error:
        raise RequestFailed(f"{method} {url}: not JSON: {error}") from error


def _body(method: str, url: str, *, timeout_s: float, body: dict[str, Any] | None = None) -> bytes:
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
            return data
    except TimeoutError as error:
        raise RequestFailed(f"{method} {url}: no whole answer within {timeout_s:g} s") from error
    except httpx.HTTPError as error:
        raise RequestFailed(f"{method} {url}: {type(error).__name__}: {error}") from error


def _in_time(chunks: Iterator[bytes], deadline: Deadline) -> Iterator[bytes]:
    """Pass on what arrives; a server that trickles resets each wait for a byte, but not the deadline."""
    for chunk in chunks:
        if not deadline.left_s:
            raise TimeoutError
        yield chunk
