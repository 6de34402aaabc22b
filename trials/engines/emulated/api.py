"""vLLM's HTTP API in bytes: requests as they are read, answers, errors and counters as it words them. Pure."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trials.engines.emulated.answers import count

VERSION = "0.25.1"
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
DEFAULT_TOKENS = 16
LARGEST_ID = 163840
"""Of Kimi-K2.5's vocabulary. Source: its config.json, vocab_size."""
IDS = b'"prompt":['
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 503: "Service Unavailable"}


class BadRequest(Exception):
    """
    A request that is refused.

    Attributes:
        status: HTTP's.
        kind: vLLM's name for what is wrong.
        param: Which field is.
    """

    def __init__(
        self, message: str, *, kind: str = "BadRequestError", param: str | None = None, status: int = 400
    ) -> None:
        """Keep what the answer needs beside the message."""
        super().__init__(message)
        self.status, self.kind, self.param = status, kind, param

    @property
    def body(self) -> bytes:
        """The answer's body."""
        return error_body(str(self), kind=self.kind, param=self.param, status=self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where a request of a synchronised load stands.

    Attributes:
        run: Of the load; another name is another run.
        slot: Which of `slots` sends it.
        arrival_ns: When it arrives, virtual, from the start of its run.
    """

    run: str
    slot: int
    slots: int
    arrival_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """
    A completion that is asked for.

    Attributes:
        text: The prompt, or the last message of a chat; None where ids were sent.
        place: None outside a synchronised load.
    """

    chat: bool
    text: str | None
    prompt_tokens: int
    max_tokens: int
    ignore_eos: bool
    stream: bool
    usage: bool
    stops: tuple[str, ...]
    place: Place | None


def posted(path: str, body: bytes, *, model: str, max_model_len: int) -> Posted:
    """
    Read a request for a completion.

    Raises:
        BadRequest: It is refused.
    """
    said, ids = _parsed(body)
    if said.get("model", model) != model:
        problem = f"The model `{said['model']}` does not exist."
        raise BadRequest(problem, kind="NotFoundError", param="model", status=404)
    chat = path == CHAT
    text, prompt_tokens = _prompt(said, chat=chat, ids=ids)
    asked = said.get("max_completion_tokens") or said.get("max_tokens")
    max_tokens = _whole(asked, "max_tokens") if asked is not None else _unasked(chat, max_model_len - prompt_tokens)
    _fits(prompt_tokens, max_tokens, max_model_len)
    return Posted(
        chat=chat,
        text=text,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        ignore_eos=bool(said.get("ignore_eos")),
        stream=bool(said.get("stream")),
        usage=bool((said.get("stream_options") or {}).get("include_usage")),
        stops=_stops(said.get("stop")),
        place=place(said["emulated"]) if said.get("emulated") else None,
    )


def leaving(body: bytes) -> Place:
    """
    Read which slot sends nothing more.

    Raises:
        BadRequest: It does not say so.
    """
    return place(_parsed(body)[0])


def place(said: Mapping[str, Any]) -> Place:
    """
    Read where a request of a synchronised load stands.

    Raises:
        BadRequest: It does not say so.
    """
    try:
        read = Place(
            run=str(said["run"]),
            slot=int(said["slot"]),
            slots=int(said["slots"]),
            arrival_ns=int(said.get("arrival_ns", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRequest(f"not a place in a load: {said!r:.100}", param="emulated") from error
    if not 0 <= read.slot < read.slots or read.arrival_ns < 0:
        raise BadRequest(f"no such place in a load: {said!r:.100}", param="emulated")
    return read


def _parsed(body: bytes) -> tuple[dict[str, Any], int | None]:
    """Return what a body says, and how many ids it has: a long list of them is counted and left out."""
    start = body.find(IDS)
    end = body.find(b"]", start)
    ids = None
    if start >= 0 and end > start:
        begin = start + len(IDS)
        ids = body.count(b",", begin, end) + 1 if end > begin else 0
        body = body[:begin] + body[max(begin, body.rfind(b",", begin, end) + 1) :]
    try:
        said = json.loads(body)
    except ValueError as error:
        raise _invalid("json_invalid", "body", "JSON decode error", str(error)) from error
    if not isinstance(said, dict):
        raise _invalid("model_attributes_type", "body", "Input should be a valid dictionary", body[:40].decode())
    return said, ids


def _prompt(said: Mapping[str, Any], *, chat: bool, ids: int | None) -> tuple[str | None, int]:
    """Return a request's text, if it has one, and its tokens."""
    if chat:
        messages = said.get("messages") or []
        texts = [str(message.get("content") or "") for message in messages if isinstance(message, dict)]
        return (texts[-1] if texts else ""), sum(count(text) + 4 for text in texts)
    prompt = said.get("prompt")
    if isinstance(prompt, list):
        if any(isinstance(each, int) and each >= LARGEST_ID for each in prompt):
            raise BadRequest(f"Token id {max(prompt)} is out of vocabulary")
        return None, ids if ids is not None else len(prompt)
    return str(prompt or ""), count(str(prompt or ""))


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        problem = "Input should be a valid integer, unable to parse string as an integer"
        raise _invalid("int_parsing", f"body.{name}", problem, str(value))
    return value


def _unasked(chat: bool, left: int) -> int:  # noqa: FBT001 which of two endpoints
    """Return how long an answer may be where nobody says: a chat's as long as fits."""
    return max(1, left) if chat else DEFAULT_TOKENS


def _fits(prompt: int, output: int, longest: int) -> None:
    if output > longest:
        raise BadRequest(
            f"max_tokens={output} cannot be greater than max_model_len=max_total_tokens={longest}. Please request "
            f"fewer output tokens. (parameter=max_tokens, value={output})",
            param="max_tokens",
        )
    if prompt + output > longest:
        raise BadRequest(
            f"This model's maximum context length is {longest} tokens. However, you requested {output} output tokens "
            f"and your prompt contains {prompt} input tokens, for a total of {prompt + output} tokens. Please reduce "
            f"the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, "
            f"value={prompt})",
            param="input_tokens",
        )


def _stops(said: object) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(map(str, said)) if isinstance(said, list) else ()


def _invalid(kind: str, where: str, problem: str, value: str) -> BadRequest:
    """Return what pydantic's refusal of a body looks like."""
    detail = {"type": kind, "loc": tuple(where.split(".")), "msg": problem, "input": value}
    return BadRequest(f"1 validation error:\n  {detail}", kind="Bad Request", param=where)


def error_body(message: str, *, kind: str, param: str | None, status: int) -> bytes:
    """Return the body of an error."""
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": status}}).encode()


DEAD = error_body(
    "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    kind="InternalServerError",
    param=None,
    status=500,
)


def response(status: int, body: bytes, kind: str = "application/json") -> bytes:
    """Return an HTTP answer."""
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\nserver: uvicorn\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def models(model: str, root: str, max_model_len: int, emulated: Mapping[str, Any]) -> bytes:
    """Return the list of models: the one, and that it is emulated."""
    one = {
        "id": model,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "vllm",
        "root": root,
        "parent": None,
        "max_model_len": max_model_len,
        "permission": [],
        "emulated": True,
    }
    return json.dumps({"object": "list", "data": [one], **emulated}).encode()


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """Return the usage of an answer."""
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def whole(model: str, asked: Posted, text: str, tokens: int, *, finish: str, number: int, at_ns: int | None) -> bytes:
    """Return the body of an answer that is not streamed."""
    said = {"message": {"role": "assistant", "content": text}} if asked.chat else {"text": text}
    body = {
        "id": f"{'chatcmpl' if asked.chat else 'cmpl'}-{number}",
        "object": "chat.completion" if asked.chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, **said, "logprobs": None, "finish_reason": finish, "stop_reason": None}],
        "usage": usage(asked.prompt_tokens, tokens),
        "emulated": True,
    }
    return json.dumps(body if at_ns is None else {**body, "emulated_ns": at_ns}).encode()


class Events:
    """The server-sent events of one streamed answer."""

    def __init__(self, model: str, asked: Posted, number: int) -> None:
        """Prepare what all events of the answer share."""
        kind, name = ("chat.completion.chunk", "chatcmpl") if asked.chat else ("text_completion", "cmpl")
        said = {"id": f"{name}-{number}", "object": kind, "created": int(time.time()), "model": model}
        self._asked = asked
        self._head = b"data: " + json.dumps(said, separators=(",", ":")).encode()[:-1]
        self._text = b'"delta":{"content":%s}' if asked.chat else b'"text":%s'

    def chunk(self, text: str, *, finish: str | None, at_ns: int | None) -> bytes:
        """Return the event of some tokens; `at_ns` is when the last of them came, where the clock is virtual."""
        end = b'"%s"' % finish.encode() if finish else b"null"
        said = self._text % json.dumps(text).encode()
        stamp = b"" if at_ns is None else b',"emulated_ns":%d' % at_ns
        return b'%s,"choices":[{"index":0,%s,"finish_reason":%s}],"emulated":true%s}\n\n' % (
            self._head,
            said,
            end,
            stamp,
        )

    def end(self, tokens: int) -> bytes:
        """Return the events after the last token."""
        if not self._asked.usage:
            return b"data: [DONE]\n\n"
        told = json.dumps(usage(self._asked.prompt_tokens, tokens), separators=(",", ":")).encode()
        return b'%s,"choices":[],"usage":%s,"emulated":true}\n\ndata: [DONE]\n\n' % (self._head, told)


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
STREAM_END = b"0\r\n\r\n"


def framed(data: bytes) -> bytes:
    """Return one chunk of a chunked HTTP body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def metrics(
    model: str, values: Mapping[str, float], finished: Iterable[tuple[str, int]], cache: Mapping[str, object]
) -> bytes:
    """
    Return Prometheus' page.

    Args:
        values: By vLLM's name; what ends in `_total` is a counter.
        finished: How many requests ended for each reason.
        cache: How the KV cache is configured, by vLLM's names.
    """
    told = ",".join(f'{name}="{value}"' for name, value in cache.items())
    lines = ["# TYPE vllm:cache_config_info gauge", f'vllm:cache_config_info{{engine="0",{told}}} 1.0']
    for name, value in values.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# TYPE {name} {kind}", f'{name}{{engine="0",model_name="{model}"}} {float(value)}']
    lines.append("# TYPE vllm:request_success_total counter")
    for reason, number in finished:
        labels = f'engine="0",finished_reason="{reason}",model_name="{model}"'
        lines.append(f"vllm:request_success_total{{{labels}}} {float(number)}")
    return ("\n".join(lines) + "\n").encode()
