"""The stamping transport against a server that frames, splits and breaks its answers as told."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx
import pytest
import uvloop

from tests.fakes.stream_server import CHUNKED, HEAD, Answer, chunk, serving
from trials.load.meter import Drains
from trials.load.transport import StampTransport, encoded

TWO = CHUNKED + chunk("data: a\n\n") + chunk("data: b\n\n") + "0\r\n\r\n"
LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return a server that answers with the bytes it is asked for."""
    with serving() as url:
        yield url


def post(url: str, *answers: Answer, new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> list[bytes]:
    """Return the body of each answer, asked one after another on one transport."""

    async def asked() -> list[bytes]:
        async with httpx.AsyncClient(transport=StampTransport()) as client:
            return [(await client.post(url, json={"prompt": answer.prompt})).content for answer in answers]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(asked())


def broken(url: str, answer: Answer) -> httpx.TransportError:
    """Return how an answer fails."""
    with pytest.raises(httpx.TransportError) as caught:
        post(url, answer)
    return caught.value


@LOOPS
def test_an_answer_is_the_same_wherever_it_is_cut(url: str, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    cuts = [Answer(pieces=(TWO[:at], TWO[at:])) for at in range(1, len(TWO))]
    assert set(post(url, *cuts, new_loop=new_loop)) == {b"data: a\n\ndata: b\n\n"}


def test_an_answer_may_come_byte_by_byte(url: str) -> None:
    assert post(url, Answer(pieces=tuple(TWO), pause_s=0.0)) == [b"data: a\n\ndata: b\n\n"]


@pytest.mark.parametrize("payload", ["0\r\n\r\n", "\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "data: a\r\n\r\n"])
def test_a_payload_that_looks_like_an_end_is_none(url: str, payload: str) -> None:
    pieces = (CHUNKED, chunk(payload), chunk("more"), "0\r\n\r\n")
    assert post(url, Answer(pieces=pieces)) == [payload.encode() + b"more"]


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        pytest.param((HEAD, "Content-Length: 4\r\n\r\nab", "cd"), b"abcd", id="a length"),
        pytest.param((HEAD, "Content-Length: 0\r\n\r\n"), b"", id="nothing"),
        pytest.param(("HTTP/1.1 204 No Content\r\n\r\n",), b"", id="no content"),
        pytest.param((CHUNKED, "4;name=value\r\nabcd\r\n", "0\r\nTrailer: x\r\n\r\n"), b"abcd", id="a trailer"),
    ],
)
def test_an_answer_ends_as_its_head_says_and_the_connection_lives_on(
    url: str, pieces: tuple[str, ...], body: bytes
) -> None:
    assert post(url, Answer(pieces=pieces), Answer(pieces=pieces)) == [body, body]


@pytest.mark.parametrize("head", [HEAD, HEAD + "Connection: close\r\n", "HTTP/1.0 200 OK\r\n"])
def test_an_answer_without_a_length_ends_with_its_connection(url: str, head: str) -> None:
    answer = Answer(pieces=(head + "\r\n", "data: a\n\n", "0\r\n\r\n"), then="close")
    assert post(url, answer, answer) == [b"data: a\n\n0\r\n\r\n"] * 2


def test_an_error_is_an_answer(url: str) -> None:
    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=StampTransport()) as client:
            pieces = ("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nX-Why: load\r\n\r\nbusy",)
            return await client.post(url, json={"prompt": Answer(pieces=pieces).prompt})

    response = asyncio.run(asked())
    assert (response.status_code, response.headers["x-why"], response.text) == (503, "load", "busy")


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        pytest.param((), "without an answer", id="at once"),
        pytest.param((HEAD,), "within its answer", id="in the head"),
        pytest.param((CHUNKED, chunk("a")), "within its answer", id="in a stream"),
        pytest.param((HEAD, "Content-Length: 4\r\n\r\nab"), "within its answer", id="before its length"),
        pytest.param(("220 mail.example ESMTP\r\n",), "not an HTTP answer", id="another protocol"),
        pytest.param((CHUNKED, "zz\r\n"), "not an HTTP answer", id="no chunk"),
    ],
)
def test_what_is_no_whole_answer_is_a_protocol_error(url: str, pieces: tuple[str, ...], words: str) -> None:
    error = broken(url, Answer(pieces=pieces, then="close"))
    assert isinstance(error, httpx.RemoteProtocolError)
    assert words in str(error)


def test_a_reset_is_a_read_error(url: str) -> None:
    assert isinstance(broken(url, Answer(pieces=(CHUNKED,), then="reset")), httpx.ReadError)


@pytest.mark.parametrize("pieces", [(TWO, TWO), (TWO + TWO,), (TWO + "?",)], ids=["after", "with", "senseless"])
def test_a_connection_on_which_something_comes_unasked_is_not_used_again(url: str, pieces: tuple[str, ...]) -> None:
    async def asked() -> bool:
        transport, where = StampTransport(), httpx.URL(url)
        request = encoded(httpx.Request("POST", url, json={"prompt": Answer(pieces=pieces).prompt}))
        await (await transport.send(where, request)).end()
        while transport._connection is not None and transport._connection.idle:  # noqa: ASYNC110 the server's doing
            await asyncio.sleep(0.001)
        reply = await transport.send(where, request)
        await reply.end()
        await transport.aclose()
        return reply.reused

    assert not asyncio.run(asked())


def test_an_answer_stands_whatever_comes_with_its_end(url: str) -> None:
    for more in (TWO, "?"):
        assert post(url, Answer(pieces=(TWO + more,)), Answer(pieces=(TWO,))) == [b"data: a\n\ndata: b\n\n"] * 2


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        with pytest.raises(httpx.ConnectError, match=f"^127.0.0.1:{port}: "):
            post(f"http://127.0.0.1:{port}", Answer())


@pytest.mark.parametrize(("method", "url"), [("GET", "https://localhost/"), ("HEAD", "http://localhost/")])
def test_what_it_does_not_speak_is_refused(method: str, url: str) -> None:
    async def asked() -> None:
        async with httpx.AsyncClient(transport=StampTransport()) as client:
            await client.request(method, url)

    with pytest.raises(httpx.UnsupportedProtocol, match=r"plain http:// only"):
        asyncio.run(asked())


@LOOPS
def test_a_large_request_is_written_whole(url: str, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def asked() -> bytes:
        async with httpx.AsyncClient(transport=StampTransport(), timeout=60) as client:
            content = {"prompt": Answer(pieces=(TWO,)).prompt, "padding": "x" * 8_000_000}
            return (await client.post(url, json=content)).content

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(asked()) == b"data: a\n\ndata: b\n\n"


def test_a_request_of_unknown_length_is_sent_with_its_length(url: str) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b'{"prompt": '
        yield httpx.Request("POST", url, json=Answer(pieces=(TWO,)).prompt).content + b"}"

    async def asked() -> bytes:
        async with httpx.AsyncClient(transport=StampTransport()) as client:
            return (await client.post(url, content=content())).content

    assert asyncio.run(asked()) == b"data: a\n\ndata: b\n\n"


def with_client(use: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """Run something that needs a client on the stamping transport."""

    async def run() -> None:
        async with httpx.AsyncClient(transport=StampTransport()) as client:
            await use(client)

    asyncio.run(run())


def test_a_body_is_read_while_it_comes_and_its_reply_is_stamped(url: str) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        before_ns = time.perf_counter_ns()
        pieces = (CHUNKED, chunk("data: a\n\n"), chunk("data: b\n\n"), "0\r\n\r\n")
        content = {"prompt": Answer(pieces=pieces, pause_s=0.02).prompt}
        async with client.stream("POST", url, json=content) as response:
            reply = response.extensions["reply"]
            parts = response.aiter_raw()
            assert await anext(parts) == b"data: a\n\n"
            assert reply.ended_ns is None
            assert [part async for part in parts] == [b"data: b\n\n"]
        stamps = [stamp for stamp, _ in reply.pieces]
        assert b"".join(data for _, data in reply.pieces) == "".join(pieces).encode()
        assert stamps == sorted(stamps)
        assert before_ns < reply.sent_ns < stamps[0] < stamps[-1] == reply.ended_ns

    with_client(use)


def test_an_answer_that_is_left_early_costs_its_connection_and_nothing_else(url: str) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        endless = Answer(pieces=(CHUNKED, *[chunk("a")] * 1000), pause_s=0.01)
        async with client.stream("POST", url, json={"prompt": endless.prompt}) as response:
            assert await anext(response.aiter_raw()) == b"a"
        after = await client.post(url, json={"prompt": Answer(pieces=(TWO,)).prompt})
        assert not after.extensions["reply"].reused

    with_client(use)


def test_a_connection_is_opened_before_it_is_needed_and_then_used(url: str) -> None:
    async def asked() -> list[bool]:
        drains, where = Drains(), httpx.URL(url)
        transport = StampTransport(drains)
        await transport.connect(where)
        request = encoded(httpx.Request("POST", url, json={"prompt": Answer(pieces=(TWO,)).prompt}))
        replies = []
        for _ in range(3):
            replies.append(await transport.send(where, request))
            await replies[-1].end()
        await transport.aclose()
        await asyncio.sleep(0)
        assert sum(chunks for _, chunks in drains.polls) == sum(len(reply.pieces) for reply in replies)
        return [reply.reused for reply in replies]

    assert asyncio.run(asked()) == [False, True, True]


def test_small_packets_are_not_held_back(url: str) -> None:
    async def option() -> int:
        transport = StampTransport()
        await transport.connect(httpx.URL(url))
        assert transport._connection is not None
        sock = transport._connection._transport.get_extra_info("socket")
        held_back = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await transport.aclose()
        return int(held_back)

    assert asyncio.run(option()) != 0
