#!/usr/bin/env python3
"""
A server that answers each request with the very bytes that its prompt asks for.

The prompt of the JSON it is sent is an `Answer` as JSON. Each piece is sent by itself, as far as TCP keeps them apart.
"""

import asyncio
import contextlib
import dataclasses
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + "Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What to answer.

    Attributes:
        pieces: Bytes as latin-1.
        then: What becomes of the connection: keep, close, or reset it.
        pause_s: Seconds after each piece.
    """

    pieces: tuple[str, ...] = ()
    then: str = "keep"
    pause_s: float = 0.001

    @property
    def prompt(self) -> str:
        """What asks for it."""
        return json.dumps(dataclasses.asdict(self))


def chunk(data: str) -> str:
    """Return the bytes of one chunk."""
    return f"{len(data.encode('latin-1')):x}\r\n{data}\r\n"


def event(**fields: object) -> str:
    """Return one server-sent event."""
    return f"data: {json.dumps(fields)}\n\n"


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Run the server; yield its URL."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection."""
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        then = "keep"
        while then == "keep":
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            asked = Answer(**json.loads(json.loads(await reader.readexactly(length))["prompt"]))
            for piece in asked.pieces:
                writer.write(piece.encode("latin-1"))
                await writer.drain()
                await asyncio.sleep(asked.pause_s)
            then = asked.then
        if then == "reset":
            linger = struct.pack("ii", 1, 0)  # a close that discards is a reset
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.close()


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
