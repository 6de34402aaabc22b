"""
A calibrated server: it streams at a known rate and knows when it sent each chunk, so that a client can be tested.

A program, `python calibrated.py STEP_S`. It listens on a port of 127.0.0.1 that it says first, and ends when its
standard input does. Every stream gets its next token at the same instant, as from an engine's step. It stands alone
(the standard library) and sends by the socket itself: an event loop's transport may gather what is written and send
it later, and the server would not know when.
"""

import json
import re
import select
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field

HOST = "127.0.0.1"
READ = 1 << 18
BACKLOG = 4096
END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
MAX_TOKENS = re.compile(rb'"max_tokens":\s*(\d+)')
NUMBER = re.compile(rb'"prompt":\s*["\[]\s*(\d+)')
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'data: {"object":"text_completion","choices":[{"index":0,"text":" tok","finish_reason":%s}],"sent_ns":%d}\n\n'
USAGE = b'data: {"object":"text_completion","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n'


class Gone(Exception):
    """The client has closed its connection, or is behind by a whole socket buffer."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """
    One request being answered.

    Attributes:
        number: What its prompt begins with; -1 if that is no number.
        received_ns: When the first of the request was here.
        sent_ns: When each of its chunks was sent.
    """

    number: int
    prompt_tokens: int
    tokens: int
    received_ns: int
    sent_ns: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Connection:
    """
    A client's connection.

    Attributes:
        since_ns: When the first of that was here; 0 while there is none.
        held: What it has sent and is not answered yet.
        head: Bytes of the head of the request that is coming, once that is whole.
        needed: Bytes of all of it; 0 while that is not known.
    """

    sock: socket.socket
    since_ns: int = 0
    held: bytearray = field(default_factory=bytearray)
    head: int = 0
    needed: int = 0
    answer: Answer | None = None

    def receive(self) -> bool:
        """
        Hold what has come, a buffer of it at most; return whether there may be more.

        Raises:
            Gone: The client will send no more.
        """
        try:
            data = self.sock.recv(READ, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        self.held += data
        return len(data) == READ

    def take(self) -> tuple[bytes, bytes] | None:
        """Take the next whole request, its head and its body; None if it has not all come."""
        if not self.needed:
            head = self.held.find(END)
            if head < 0:
                return None
            length = LENGTH.search(self.held, 0, head + len(END))
            self.head = head + len(END)
            self.needed = self.head + (int(length[1]) if length else 0)
        if len(self.held) < self.needed:
            return None
        whole = bytes(self.held[: self.head]), bytes(self.held[self.head : self.needed])
        del self.held[: self.needed]
        self.needed = 0
        return whole

    def send(self, data: bytes) -> None:
        """
        Send a part of a stream at once.

        Raises:
            Gone: The client has gone, or is behind by a whole socket buffer.
        """
        try:
            sent = self.sock.send(data, socket.MSG_DONTWAIT)
        except OSError as error:
            raise Gone from error
        if sent < len(data):
            raise Gone

    def answer_whole(self, data: bytes) -> None:
        """
        Send a whole answer, which may take a while: nothing streams while somebody asks.

        Raises:
            Gone: The client has gone.
        """
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise Gone from error


@dataclass(slots=True)
class Server:
    """
    The server's state: who is connected, whose answer is under way, and what was answered since /seen was asked.

    Attributes:
        step_s: Seconds between two tokens of a stream.
        ready: Connections that have something to say, in the order of its coming.
        under_way: Answers that are.
        peak: The most of them at once.
    """

    step_s: float
    door: socket.socket
    poll: select.epoll = field(default_factory=select.epoll)
    connections: dict[int, Connection] = field(default_factory=dict)
    answered: list[Answer] = field(default_factory=list)
    ready: deque[int] = field(default_factory=deque)
    under_way: int = 0
    peak: int = 0

    def serve(self) -> None:
        """
        Serve until the end of the standard input.

        One connection is heard between two looks at all: a request's arrival is noted at once, whoever is before it.
        """
        owner = sys.stdin.fileno()
        for fd in (owner, self.door.fileno()):
            self.poll.register(fd, select.EPOLLIN)
        begun_s = time.monotonic()
        steps = 1
        while True:
            left_s = 0.0 if self.ready else begun_s + steps * self.step_s - time.monotonic()
            for fd, _ in self.poll.poll(max(0.0, left_s)):
                if fd == owner:
                    return
                self.meet() if fd == self.door.fileno() else self.note(fd)
            if self.ready:
                self.hear(self.ready.popleft())
            if (passed_s := time.monotonic() - begun_s) >= steps * self.step_s:
                self.step()
                steps = int(passed_s / self.step_s) + 1

    def meet(self) -> None:
        """Take a new connection; it is told of once for whatever comes at once."""
        sock, _ = self.door.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections[sock.fileno()] = Connection(sock)
        self.poll.register(sock.fileno(), select.EPOLLIN | select.EPOLLET)

    def note(self, fd: int) -> None:
        """Note that a connection has something to say, and since when."""
        connection = self.connections[fd]
        connection.since_ns = connection.since_ns or time.monotonic_ns()
        self.ready.append(fd)

    def hear(self, fd: int) -> None:
        """Take what a connection has sent; answer what is whole, drop one that has ended."""
        connection = self.connections.get(fd)
        if connection is None:  # dropped since it was noted
            return
        try:
            if connection.receive():
                self.ready.append(fd)
            while request := connection.take():
                self.reply(connection, *request)
        except Gone:
            self.drop(fd)

    def reply(self, connection: Connection, head: bytes, body: bytes) -> None:
        """Begin a stream with the next step; tell at once what was seen, or which model is served."""
        if head.startswith(b"POST"):
            connection.answer = asked(body, received_ns=connection.since_ns)
            self.under_way += 1
            self.peak = max(self.peak, self.under_way)
        else:
            plain = self.seen() if head.startswith(b"GET /seen") else {"object": "list", "data": [{"id": "m"}]}
            text = json.dumps(plain).encode()
            start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
            connection.answer_whole(start + text)
        connection.since_ns = 0

    def seen(self) -> dict[str, object]:
        """Return what was answered since this was last asked, and forget it."""
        requests = [
            {"number": answer.number, "received_ns": answer.received_ns, "sent_ns": answer.sent_ns}
            for answer in self.answered
        ]
        told: dict[str, object] = {"peak": self.peak, "requests": requests}
        self.answered, self.peak = [], self.under_way
        return told

    def step(self) -> None:
        """Send each stream its next token."""
        for fd, connection in list(self.connections.items()):
            if connection.answer:
                try:
                    self.advance(connection, connection.answer)
                except Gone:
                    self.drop(fd)

    def advance(self, connection: Connection, answer: Answer) -> None:
        """Send one token, and after the last one the usage and the end."""
        last = len(answer.sent_ns) + 1 == answer.tokens
        head = b"" if answer.sent_ns else STREAM_HEAD
        now_ns = time.monotonic_ns()
        connection.send(head + chunk(EVENT % (b'"length"' if last else b"null", now_ns)))
        answer.sent_ns.append(now_ns)
        if last:
            end = USAGE % (answer.prompt_tokens, answer.tokens)
            connection.send(chunk(end) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            connection.answer = None
            self.under_way -= 1
            self.answered.append(answer)

    def drop(self, fd: int) -> None:
        """Forget a connection."""
        self.poll.unregister(fd)
        connection = self.connections.pop(fd)
        self.under_way -= connection.answer is not None
        connection.sock.close()


def asked(body: bytes, *, received_ns: int) -> Answer:
    """
    Return the answer that a request asks for, with nothing sent.

    It is searched for what matters here and not parsed: a long prompt must not hold up the streams.
    """
    number, tokens = NUMBER.search(body), MAX_TOKENS.search(body)
    return Answer(
        number=int(number[1]) if number else -1,
        prompt_tokens=max(body.count(b" "), body.count(b",")) + 1,
        tokens=int(tokens[1]) if tokens else 1,
        received_ns=received_ns,
    )


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked HTTP body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def main(step_s: str) -> None:
    """Listen, say where, serve."""
    with socket.create_server((HOST, 0), backlog=BACKLOG) as door:
        sys.stdout.write(f"port {door.getsockname()[1]}\n")
        sys.stdout.flush()
        Server(float(step_s), door).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
