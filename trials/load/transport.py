"""An httpx transport that stamps: one keep-alive connection, each piece of an answer with the time of its coming."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from time import perf_counter_ns
from typing import cast

import httpx

from trials.load.framing import NOT_HTTP, Body, Framing
from trials.load.meter import Drains

Piece = tuple[int, bytes]
"""When it came, in nanoseconds of `time.perf_counter_ns`, and the bytes, framing and all."""

Address = httpx.URL
Unanswered = httpx.TransportError
"""What a request raises that gets no whole answer."""
DROPPED = (httpx.NetworkError, httpx.RemoteProtocolError)
"""What it raises when the connection ends, or brings what is no HTTP."""


class Reply:
    """
    One answer as it comes. It is stamped and framed here, and parsed by whoever wants to, whenever they want to.

    Attributes:
        reused: Whether its connection had carried an answer before.
        sent_ns: Just before the first byte of the request was written.
        pieces: What came until now.
        ended_ns: When the last piece came or the connection ended; None until then.
    """

    def __init__(self, *, reused: bool) -> None:
        """Start its clock."""
        self.reused = reused
        self.pieces: list[Piece] = []
        self.framing = Framing()
        self.ended_ns: int | None = None
        self.arrival: asyncio.Future[None] | None = None
        self._ended = asyncio.get_running_loop().create_future()
        self._error: httpx.TransportError | None = None
        self.sent_ns = perf_counter_ns()

    def finish(self, now_ns: int, error: httpx.TransportError | None = None) -> None:
        """Note how it ended, once."""
        if self.ended_ns is None:
            self.ended_ns, self._error = now_ns, error
            for waiting in (self._ended, self.arrival):
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)

    async def end(self) -> None:
        """
        Wait until it has ended.

        Raises:
            httpx.TransportError: It did not end whole.
        """
        if self.ended_ns is None:
            await self._ended
        if self._error is not None:
            raise self._error

    async def live(self) -> AsyncGenerator[bytes]:
        """
        Yield what has come and what comes, as it comes.

        Raises:
            httpx.TransportError: It did not end whole.
        """
        seen = 0
        while seen < len(self.pieces) or self.ended_ns is None:
            if seen == len(self.pieces):
                self.arrival = asyncio.get_running_loop().create_future()
                await self.arrival
            for _, data in self.pieces[seen:]:
                seen += 1
                yield data
        await self.end()


class StampTransport(httpx.AsyncBaseTransport):
    """
    One connection, one request at a time, plain HTTP without proxies.

    Its responses carry their `Reply` as the extension "reply". It keeps no timeouts, whatever the client's are: put
    `asyncio.timeout` around a request.
    """

    def __init__(self, drains: Drains | None = None) -> None:
        """
        Connect to nothing yet.

        Args:
            drains: Is told of each chunk.
        """
        self._drains = drains
        self._origin: tuple[str, int] | None = None
        self._connection: _Connection | None = None

    async def connect(self, url: Address) -> None:
        """
        Open the connection, unless it is open and idle.

        Raises:
            httpx.ConnectError: Nothing answers there.
        """
        await self._connected(url)

    async def send(self, url: Address, request: bytes) -> Reply:
        """
        Write a request, see `encoded`, and return the answer to come.

        Raises:
            httpx.ConnectError: Nothing answers there. Whatever else goes wrong is told by the reply.
        """
        return (await self._connected(url)).send(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """
        Send a request and wait for the head of its answer.

        Raises:
            httpx.TransportError: No answer, or none that is HTTP.
        """
        if request.url.scheme != "http" or request.method in {"HEAD", "CONNECT"}:
            raise httpx.UnsupportedProtocol(f"{request.method} {request.url}: this transport speaks plain http:// only")
        await request.aread()
        reply = await self.send(request.url, encoded(request))
        content = _Content(reply, self)
        try:
            status = await content.head()
        except BaseException:
            await self.aclose()
            raise
        return httpx.Response(status, headers=content.headers, stream=content, extensions={"reply": reply})

    async def _connected(self, url: Address) -> "_Connection":
        origin = (url.host, url.port or 80)
        if self._connection is not None and self._connection.idle and origin == self._origin:
            return self._connection
        await self.aclose()
        loop = asyncio.get_running_loop()
        try:
            _, self._connection = await loop.create_connection(lambda: _Connection(self._drains), *origin)
        except OSError as error:
            raise httpx.ConnectError(f"{url.host}:{origin[1]}: {error}") from error
        self._origin = origin
        return self._connection

    async def aclose(self) -> None:
        """Close the connection; an answer that was coming has then failed."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None


def encoded(request: httpx.Request) -> bytes:
    """Return the bytes of a request whose content has been read."""
    content = request.content
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"transfer-encoding"]
    if "transfer-encoding" in request.headers:
        headers.append((b"Content-Length", b"%d" % len(content)))
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in headers]
    return b"\r\n".join([*lines, b"", content])


def posted(url: Address, body: bytes) -> bytes:
    """Return the bytes of a request that posts JSON."""
    return encoded(httpx.Request("POST", url, content=body, headers={"content-type": "application/json"}))


class _Connection(asyncio.Protocol):
    """Stamps what comes and finds the end of each answer."""

    def __init__(self, drains: Drains | None) -> None:
        self._drains = drains
        self._reply: Reply | None = None

    @property
    def idle(self) -> bool:
        """Whether a request can be sent now."""
        return not self._transport.is_closing() and (self._reply is None or self._reply.framing.whole)

    def send(self, request: bytes) -> Reply:
        """
        Write at once.

        uvloop's own `write` would wait for the end of the loop's turn, in which others send too: the clock would run
        before the request does.
        """
        reply = self._reply = Reply(reused=self._reply is not None)
        try:
            written = os.write(self._fd, request)
        except BlockingIOError:
            written = 0
        except OSError as error:
            reply.finish(perf_counter_ns(), httpx.WriteError(str(error)))
            self.abort()
            return reply
        if written < len(request):
            self._transport.write(memoryview(request)[written:])
        return reply

    def abort(self) -> None:
        """Close without a farewell."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send small requests at once, too."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._fd = sock.fileno()

    def data_received(self, data: bytes) -> None:
        """Stamp first; the framing costs a tenth of a microsecond."""
        now_ns = perf_counter_ns()
        if self._drains is not None:
            self._drains.chunk(now_ns)
        reply = self._reply
        if reply is None or reply.ended_ns is not None:  # nothing was asked
            self.abort()
            return
        reply.pieces.append((now_ns, data))
        try:
            reply.framing.feed(data)
        except NOT_HTTP as error:
            unasked = reply.framing.whole  # it stands, but nothing more can be asked on this connection
            reply.finish(now_ns, None if unasked else httpx.RemoteProtocolError(f"not an HTTP answer: {error}"))
            self.abort()
            return
        if reply.framing.whole:
            if not reply.framing.keep_alive:
                self._transport.close()
            reply.finish(now_ns)
        elif reply.arrival is not None and not reply.arrival.done():
            reply.arrival.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell an answer that was coming; for one without a length, this is its end."""
        if self._reply is not None:
            self._reply.finish(perf_counter_ns(), _loss(self._reply, exc))


def _loss(reply: Reply, exc: Exception | None) -> httpx.TransportError | None:
    if exc is not None:
        return httpx.ReadError(str(exc))
    if reply.framing.ends_with_connection:
        return None
    return httpx.RemoteProtocolError(
        "the server closed the connection " + ("within its answer" if reply.pieces else "without an answer")
    )


class _Content(httpx.AsyncByteStream):
    """The body of an answer for httpx, parsed as it comes."""

    def __init__(self, reply: Reply, transport: StampTransport) -> None:
        self._reply = reply
        self._transport = transport
        self._live = reply.live()
        self._body = Body()
        self._parts: list[bytes] = []
        self.headers = self._body.headers

    async def head(self) -> int:
        """Wait for the head and return the status."""
        async for data in self._live:
            self._parts += await self._taken(data)
            if self._body.status is not None:
                return self._body.status
        raise httpx.RemoteProtocolError("an answer without a head")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        async for data in self._live:
            for part in await self._taken(data):
                yield part

    async def _taken(self, data: bytes) -> list[bytes]:
        try:
            self._body.feed(data)
        except NOT_HTTP:
            await self._reply.end()  # if it has failed by the same bytes, it says so in httpx's words
        return [part for _, part in self._body.taken()]

    async def aclose(self) -> None:
        """Close the connection under an answer that nobody reads to its end."""
        await self._live.aclose()
        if self._reply.ended_ns is None:
            await self._transport.aclose()
