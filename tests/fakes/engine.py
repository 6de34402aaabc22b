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
    parser.add_argument("--say-env", metavar="NAME", help="print a variable of the environment")
    parser.add_argument("--exit-at-start", type=int, metavar="CODE")
    parser.add_argument("--exit-on-completion", type=int, metavar="N", help="end by SIGKILL at the Nth completion")
    parser.add_argument("--exit-on-prompt", metavar="TEXT", help="end by SIGKILL at a completion of it")
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
    parser.add_argument("--word", default=" word", metavar="TEXT", help="what every other answer is made of")
    parser.add_argument("--token-s", type=float, default=0.0, metavar="SECONDS", help="how long a streamed token takes")
    parser.add_argument("--answer-s", type=float, default=0.0, metavar="SECONDS", help="how long a question takes")
    parser.add_argument("--drip-s", type=float, default=0.0, metavar="SECONDS", help="between two bytes of an answer")
    parser.add_argument("--context", type=int, default=1 << 20, metavar="TOKENS", help="of prompt and answer together")
    parser.add_argument("--status", type=int, metavar="CODE", help="answer every completion with this HTTP error")
    parser.add_argument("--body", metavar="JSON", help="answer every GET and plain completion with this")
    parser.add_argument("--hang-up", choices=["announced", "silent", "reused", "always"], help="; ".join(HANG_UPS))
    parser.add_argument("--stream", choices=STREAM_FAULTS, default="whole", help="what goes wrong in every stream")


@dataclass
class Seen:
    """What the server was asked: all completions in order, the connections that brought any, the most at once."""

    completions: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    peak: int = 0
    current: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

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

    def do_GET(self) -> None:
        """List the one model, or tell what was seen."""
        if self.path == "/seen":
            seen = self.seen
            self.answer({"completions": seen.completions, "connections": seen.connections, "peak": seen.peak})
        else:
            self.answer(self.told.body or {"data": [{"id": self.told.report_model or self.told.alias}]})

    def do_POST(self) -> None:
        """Complete a prompt, unless told to hang up."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked += 1
        with self.seen.one(body, first=self.asked == 1) as number:
            if self.told.hang_completions:
                time.sleep(600)
            if number == self.told.exit_on_completion or body["prompt"] == self.told.exit_on_prompt:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.told.hang_up == "always" or (self.told.hang_up == "reused" and self.asked > 1):
                self.close_connection = True
            else:
                self.complete(body)
        if self.told.hang_up in {"announced", "silent"}:
            self.close_connection = True

    def complete(self, body: dict[str, Any]) -> None:
        """Answer a prompt, whole or streamed."""
        prompt = body["prompt"]
        known = None if body.get("ignore_eos") else self.answers.get(prompt)
        known = self.told.answer_all if self.told.answer_all is not None and not body.get("ignore_eos") else known
        room = self.told.context - len(prompt.split())
        words = [self.told.word] * max(0, min(body["max_tokens"], room)) if known is None else [known]
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(words)}
        if self.told.status or room <= 0:
            error = {"message": f"{len(prompt.split())} tokens of a context of {self.told.context}"}
            self.answer({"error": error}, status=self.told.status or 400)
        elif body.get("stream"):
            self.stream(words, usage)
        else:
            time.sleep(0.0 if body.get("ignore_eos") else self.told.answer_s)
            choice = {"text": "".join(words), "finish_reason": "length" if known is None else "stop"}
            self.answer(self.told.body or {"choices": [choice], "usage": usage})

    def stream(self, words: list[str], usage: dict[str, int]) -> None:
        """Send a token at a time as server-sent events, with the fault that was asked for after the first."""
        fault = self.told.stream
        if fault == "silence":
            time.sleep(600)
        self.start(200, "text/event-stream", ("Transfer-Encoding", "chunked"))
        words = words[1:] if fault == "short" else words
        for place, word in enumerate(words):
            time.sleep(self.told.token_s)
            self.event(json.dumps({"choices": [{"text": word}]}, ensure_ascii=False))
            if place == 0 and self.broken_off(fault):
                return
        if fault != "no-usage":
            self.event(json.dumps({"choices": [], "usage": {**usage, "completion_tokens": len(words)}}))
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
        server = ThreadingHTTPServer((told.host, told.port), Api)
        server.daemon_threads = True
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
