#!/usr/bin/env python3
"""
A server with llama-server's flags and OpenAI's API that behaves, or misbehaves, as told.

    engine.py --alias MODEL --host HOST --port PORT [--exit-at-start 3] [--say TEXT] [--never-listen] ...

It counts a word as a token, generates as many as it is asked for, and tells at /seen what it was asked.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
HANG_UPS = (
    "announced: close after each answer, and say so",
    "silent: close after each answer without a word",
    "reused: close at the second request of a connection",
    "always: close at every request",
)
STREAM_FAULTS = ("whole", "short", "no-usage", "error", "misshapen", "drop", "stall", "silence")
SLOW = ["--token-s", "0.01"]  # so that it looks no better than an engine without a fault
FAULTS = {
    "none": [],
    "exits": ["--exit-at-start", "3"],
    "out-of-memory": ["--say", "failed to initialize the context: std::bad_alloc", "--exit-at-start", "1"],
    "forks-and-exits": ["--fork-and-exit"],
    "answers-nothing": ["--answer-all", ""],
    "answers-garbage": ["--answer-all", "!!!!"],
    "drops-streams": ["--stream", "drop"],
    "stalls": ["--stream", "stall"],
    "never-ready": ["--never-listen"],
    "floods-its-log": ["--flood", "10", *SLOW],
    "leaves-children": ["--child", "--orphan", *SLOW],
    "ignores-sigterm": ["--ignore-sigterm", *SLOW],
}


def flags() -> argparse.Namespace:
    """Read the command line; each flag after the first three is one way to misbehave."""
    parser = argparse.ArgumentParser(prog="llama-server")
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help="print a line first")
    parser.add_argument("--threads", metavar="N", help="ignored, as by an engine that lost the flag")
    parser.add_argument("--say-env", metavar="NAME", help="print a variable of the environment")
    parser.add_argument("--exit-at-start", type=int, metavar="CODE")
    parser.add_argument("--exit-on-completion", type=int, metavar="N", help="end by SIGKILL at the Nth completion")
    parser.add_argument("--exit-on-prompt", metavar="TEXT", help="end by SIGKILL at a completion of it")
    parser.add_argument(
        "--say-on-completion", nargs=2, metavar=("N", "TEXT"), help="print a line at the Nth completion"
    )
    parser.add_argument("--say-each", metavar="TEXT", help="print a line at each completion; {max_tokens} is its own")
    parser.add_argument("--never-listen", action="store_true")
    parser.add_argument("--hang-completions", action="store_true", help="healthy, but answers no completion")
    parser.add_argument("--report-model", metavar="ID", help="report another model id")
    parser.add_argument("--ignore-sigterm", action="store_true")
    parser.add_argument("--drain", type=float, default=0.0, metavar="SECONDS", help="how long SIGTERM takes")
    parser.add_argument("--child", action="store_true", help="leave a child behind")
    parser.add_argument("--orphan", action="store_true", help="leave a double-forked daemon behind")
    parser.add_argument(
        "--fork-and-exit", action="store_true", help="serve from a daemon, as if to be in the background"
    )
    parser.add_argument("--flood", type=int, default=0, metavar="MIB", help="print so much first")
    parser.add_argument("--fault", choices=FAULTS, default="none", help="misbehave by name: one knob for all of it")
    speech(parser)
    told = parser.parse_args()
    return parser.parse_args([*sys.argv[1:], *FAULTS[told.fault]])


def speech(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how completions are answered."""
    parser.add_argument("--answers", type=Path, metavar="FILE", help="JSON: what to answer to which prompt")
    parser.add_argument("--answer-all", metavar="TEXT", help="answer every question with this")
    parser.add_argument("--answer-chats", metavar="TEXT", help="answer every chat with this")
    parser.add_argument("--word", default=" word", metavar="TEXT", help="what every other answer is made of")
    parser.add_argument("--token-s", type=float, default=0.0, metavar="SECONDS", help="how long a streamed token takes")
    parser.add_argument("--answer-s", type=float, default=0.0, metavar="SECONDS", help="how long a question takes")
    parser.add_argument("--slow-answer", nargs=2, metavar=("TEXT", "SECONDS"), help="how long one with this takes")
    parser.add_argument("--cut", type=int, metavar="WORDS", help="cut longer answers to questions here")
    parser.add_argument("--drip-s", type=float, default=0.0, metavar="SECONDS", help="between two bytes of an answer")
    parser.add_argument("--context", type=int, default=1 << 20, metavar="TOKENS", help="of prompt and answer together")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="tell the context, and refuse what exceeds it instead of cutting the answer",
    )
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="answer the first N completions with HTTP 429")
    parser.add_argument("--busy-after", type=int, default=0, metavar="N", help="but let so many pass before")
    parser.add_argument("--status", type=int, metavar="CODE", help="answer every completion with this HTTP error")
    parser.add_argument("--body", metavar="JSON", help="answer every GET and plain completion with this")
    parser.add_argument("--hang-up", choices=["announced", "silent", "reused", "always"], help="; ".join(HANG_UPS))
    parser.add_argument("--metrics", action="store_true", help="tell its counters at /metrics")
    parser.add_argument("--miscount", type=int, default=0, metavar="TOKENS", help="count so many more each time")
    parser.add_argument("--cached", type=int, default=0, metavar="TOKENS", help="of each prompt, from the prefix cache")
    parser.add_argument("--prefix-cache", action="store_true", help="know the beginning of each prompt from then on")
    parser.add_argument("--added", type=int, default=0, metavar="TOKENS", help="count so many more in each prompt")
    streaming(parser)


def streaming(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how streams come."""
    parser.add_argument("--stream", choices=STREAM_FAULTS, default="whole", help="what goes wrong in every stream")
    parser.add_argument("--chunk", type=int, default=1, metavar="TOKENS", help="that come at once")
    parser.add_argument("--uncounted", type=int, default=0, metavar="TOKENS", help="send so many more than usage says")
    parser.add_argument("--tire", type=float, default=0.0, metavar="SECONDS", help="a token takes longer each time")
    parser.add_argument("--pause", nargs=2, metavar=("N", "SECONDS"), help="stand still within each Nth completion")


TOO_LONG = "However, you requested {1[max_tokens]} output tokens and your prompt contains {0} input tokens."


def question(body: dict[str, Any]) -> Any:  # noqa: ANN401 a text or token ids
    """Return the prompt of a completion, or the last message of a chat."""
    return body["messages"][-1]["content"] if "messages" in body else body["prompt"]


@dataclass
class Seen:
    """What the server was asked: all completions in order, the connections that brought any, the most at once."""

    completions: list[dict[str, Any]] = field(default_factory=list)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    connections: int = 0
    peak: int = 0
    current: int = 0
    known: set[tuple[Any, ...]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, usage: dict[str, Any], *, miscount: int) -> None:
        """Count the tokens of an answer."""
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        with self.lock:
            self.prompt_tokens += usage["prompt_tokens"] - cached
            self.cached_tokens += cached
            self.generated_tokens += usage["completion_tokens"] + miscount

    def known_tokens(self, tokens: list[Any]) -> int:
        """Return with how many of its first tokens an earlier prompt began; know all its beginnings from now on."""
        beginnings = [tuple(tokens[: length + 1]) for length in range(len(tokens))]
        with self.lock:
            hits = sum(beginning in self.known for beginning in beginnings)
            self.known.update(beginnings)
        return hits

    @property
    def metrics(self) -> str:
        """The counters as llama-server tells them."""
        counters = {
            "prompt_tokens_total": self.prompt_tokens,
            "prompt_tokens_cached_total": self.cached_tokens,
            "tokens_predicted_total": self.generated_tokens,
            "requests_processing": self.current,
        }
        return "".join(f"llamacpp:{name} {value}\n" for name, value in counters.items())

    @contextlib.contextmanager
    def one(self, asked: dict[str, Any], *, first: bool) -> Iterator[int]:
        """Count a completion for as long as it takes; yield its number, from 1."""
        with self.lock:
            self.completions.append(asked)
            self.connections += first
            self.current += 1
            self.peak = max(self.peak, self.current)
            number = len(self.completions)
        try:
            yield number
        finally:
            with self.lock:
                self.current -= 1


class Api(BaseHTTPRequestHandler):
    """The requests that matter; an instance is one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    told: argparse.Namespace
    answers: dict[str, str]
    seen: Seen
    asked = 0
    number = 0

    def do_GET(self) -> None:
        """List the one model, or tell what was seen."""
        if self.path == "/seen":
            seen = self.seen
            self.answer({"completions": seen.completions, "connections": seen.connections, "peak": seen.peak})
        elif self.path == "/metrics":
            self.answer(self.seen.metrics, status=200 if self.told.metrics else 404)
        else:
            served = {"max_model_len": self.told.context} if self.told.strict else {}
            self.answer(self.told.body or {"data": [{"id": self.told.report_model or self.told.alias, **served}]})

    def do_POST(self) -> None:
        """Complete a prompt, unless told to hang up."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked += 1
        with self.seen.one(body, first=self.asked == 1) as number:
            self.number = number
            if self.told.say_on_completion and number == int(self.told.say_on_completion[0]):
                say(self.told.say_on_completion[1])
            if self.told.say_each:
                say(self.told.say_each.format_map(body))
            if self.told.hang_completions:
                time.sleep(600)
            if number == self.told.exit_on_completion or question(body) == self.told.exit_on_prompt:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.told.hang_up == "always" or (self.told.hang_up == "reused" and self.asked > 1):
                self.close_connection = True
            elif 0 < number - self.told.busy_after <= self.told.busy:
                self.answer({"error": {"message": "busy"}}, status=429)
            else:
                self.complete(body)
        if self.told.hang_up in {"announced", "silent"}:
            self.close_connection = True

    def complete(self, body: dict[str, Any]) -> None:
        """Answer a prompt, whole or streamed."""
        prompt = question(body)
        known = None if body.get("ignore_eos") else self.answers.get(str(prompt))
        for told in (self.told.answer_all, self.told.answer_chats if "messages" in body else None):
            known = told if told is not None and not body.get("ignore_eos") else known
        tokens = prompt.split() if isinstance(prompt, str) else prompt
        asked = len(tokens) + self.told.added
        cached = self.seen.known_tokens(tokens) if self.told.prefix_cache else min(asked, self.told.cached)
        room = self.told.context - asked
        words = [self.told.word] * max(0, min(body["max_tokens"], room)) if known is None else [known]
        usage = {
            "prompt_tokens": asked,
            "completion_tokens": len(words),
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        if self.told.strict and body["max_tokens"] > room:
            error = {"message": f"maximum context length is {self.told.context} tokens. {TOO_LONG.format(asked, body)}"}
            self.answer({"error": error}, status=400)
        elif self.told.status or room <= 0:
            error = {"message": f"{asked} tokens of a context of {self.told.context}"}
            self.answer({"error": error}, status=self.told.status or 400)
        elif body.get("stream"):
            self.stream(words, usage)
        else:
            answer, cut = ("".join(words), True) if known is None else self.cut(known)
            self.take_time(answer, 0.0 if body.get("ignore_eos") else self.told.answer_s)
            self.seen.count(usage, miscount=self.told.miscount)
            text = {"message": {"content": answer}} if "messages" in body else {"text": answer}
            choice = {**text, "index": 0, "finish_reason": "length" if cut else "stop"}
            self.answer(self.told.body or {"choices": [choice], "usage": usage})

    def cut(self, answer: str) -> tuple[str, bool]:
        """Return an answer as far as it goes, and whether it was cut."""
        words = answer.split(" ")
        return " ".join(words[: self.told.cut]), len(words) > (self.told.cut or len(words))

    def take_time(self, answer: str, seconds: float) -> None:
        """Sleep as long as an answer takes."""
        text, slow_s = self.told.slow_answer or (None, seconds)
        time.sleep(float(slow_s) if text is not None and text in answer else seconds)

    def stream(self, words: list[str], usage: dict[str, Any]) -> None:
        """Send a token at a time as server-sent events, with the fault that was asked for after the first."""
        fault = self.told.stream
        if fault == "silence":
            time.sleep(600)
        self.start(200, "text/event-stream", ("Transfer-Encoding", "chunked"))
        words = words[1:] if fault == "short" else words
        counted, uncounted = len(words), self.told.uncounted
        words = words[:uncounted] if uncounted < 0 else words + [self.told.word] * uncounted
        for place in range(0, len(words), self.told.chunk):
            chunk = words[place : place + self.told.chunk]
            time.sleep((self.told.token_s + self.told.tire * self.number) * len(chunk))
            finish = "length" if place + len(chunk) == len(words) else None
            self.event(json.dumps({"choices": [{"text": "".join(chunk), "finish_reason": finish}]}, ensure_ascii=False))
            if place == 0 and self.broken_off(fault):
                return
        if fault != "no-usage":
            usage = {**usage, "completion_tokens": counted}
            self.seen.count(usage, miscount=self.told.miscount + uncounted)
            self.event(json.dumps({"choices": [], "usage": usage}))
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def broken_off(self, fault: str) -> bool:
        """Do what goes wrong in the middle of a stream; return whether nothing more is to come."""
        if fault == "error":
            self.event(json.dumps({"error": {"message": "out of slots"}}))
        if fault == "misshapen":
            self.event(json.dumps({"choices": None, "usage": []}))
            self.event(json.dumps([]))
        if fault == "stall":
            time.sleep(600)
        every, seconds = self.told.pause or (0, 0.0)
        if every and self.number % int(every) == 0:
            time.sleep(float(seconds))
        self.close_connection = self.close_connection or fault == "drop"
        return fault == "drop"

    def event(self, data: str) -> None:
        """Send one server-sent event as one chunk."""
        line = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def answer(self, body: object, *, status: int = 200) -> None:
        """Send JSON; a text is sent as it is."""
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.start(status, "application/json", ("Content-Length", str(len(data))))
        if not self.told.drip_s:
            self.wfile.write(data)
            return
        for byte in data:
            time.sleep(self.told.drip_s)
            self.wfile.write(bytes([byte]))

    def start(self, status: int, kind: str, length: tuple[str, str]) -> None:
        """Send the headers."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header(*length)
        if self.told.hang_up == "announced":
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the log for the engine's own words."""


class Server(ThreadingHTTPServer):
    """Keeps as many connections waiting as a gate opens at once."""

    request_queue_size = 256
    daemon_threads = True


def say(line: str) -> None:
    """Print at once."""
    print(line, flush=True)


def leave_behind(told: argparse.Namespace) -> None:
    """Start processes that do not end with this one, and say their pids."""
    if told.child:
        say(f"child {subprocess.Popen(SLEEPER).pid}")
    if told.orphan:
        shell = f"setsid {sys.executable} -c 'import time; time.sleep(600)' & echo orphan $!"
        subprocess.run(["/bin/sh", "-c", shell], check=True)


def serve(told: argparse.Namespace) -> int:
    """Serve until SIGTERM, then drain."""
    done = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if told.ignore_sigterm else lambda *_: done.set())
    Api.told, Api.seen = told, Seen()
    Api.answers = json.loads(told.answers.read_text()) if told.answers else {}
    if not told.never_listen:
        server = Server((told.host, told.port), Api)
        say(f"port {server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
    done.wait()
    say("SIGTERM: draining")
    time.sleep(told.drain)
    say("drained")
    return 0


def main() -> int:
    """Do as told."""
    told = flags()
    say(f"pid {os.getpid()}")
    for line in told.say:
        say(line)
    if told.say_env:
        say(f"{told.say_env}={os.environ.get(told.say_env)}")
    for _ in range(told.flood << 10):
        print("flood " * 170)
    leave_behind(told)
    if told.fork_and_exit and os.fork():
        return 0
    if told.exit_at_start is not None:
        return int(told.exit_at_start)
    return serve(told)


if __name__ == "__main__":
    sys.exit(main())
