"""Heads and ends of answers; how they arrive is tested with the transport, and how they read with the streams."""

import pytest

from trials.load.framing import NOT_HTTP, Body, Framing


def test_the_head_is_known_when_it_is_whole() -> None:
    framing = Framing()
    stages = []
    for data in (b"HTTP/1.1 404 No\r\nX-Why: gone\r\n", b"Content-Length: 0\r\n\r\n"):
        framing.feed(data)
        stages.append((framing.status, framing.whole, framing.keep_alive))
    assert stages == [(None, False, False), (404, True, True)]
    assert framing.headers == [(b"X-Why", b"gone"), (b"Content-Length", b"0")]


@pytest.mark.parametrize(
    ("head", "without_length"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-length: 3\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: chunked\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n", False),
    ],
)
def test_a_head_says_whether_its_end_is_the_connections(head: bytes, without_length: bool) -> None:  # noqa: FBT001
    framing = Framing()
    framing.feed(head)
    assert framing.ends_with_connection is without_length


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
    ],
)
def test_an_answer_says_whether_its_connection_lives_on(head: bytes, kept: bool) -> None:  # noqa: FBT001
    framing = Framing()
    framing.feed(head + b"Content-Length: 1\r\n\r\na")
    assert (framing.whole, framing.keep_alive) == (True, kept)


def test_a_body_is_taken_piece_by_piece() -> None:
    body = Body()
    body.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na")
    assert body.taken() == [(0, b"a")]
    for body.stamp_ns, data in ((1, b"b\r\n1\r"), (2, b"\nc\r\n0\r\n\r\n")):
        body.feed(data)
    assert body.taken() == [(1, b"b"), (2, b"c")]
    assert body.taken() == []
    assert body.whole


@pytest.mark.parametrize(
    "data", [b"220 mail.example\r\n", b"HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"]
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(NOT_HTTP):
        Framing().feed(data)


@pytest.mark.parametrize("interim", [b"100 Continue\r\n", b"103 Early Hints\r\nLink: </a>\r\n"])
def test_an_interim_answer_is_none(interim: bytes) -> None:
    body = Body()
    body.feed(b"HTTP/1.1 " + interim + b"\r\n")
    assert (body.status, body.whole) == (None, False)
    body.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
    assert (body.status, body.whole, body.taken()) == (200, True, [(0, b"a")])
    assert body.headers == [(b"Content-Length", b"1")]


@pytest.mark.parametrize("more", [b"HTTP/1.1 500 Late\r\nContent-Length: 1\r\n\r\nb", b"\x00", b"data: b\n\n"])
def test_what_comes_after_the_end_is_refused_and_changes_nothing(more: bytes) -> None:
    body = Body()
    with pytest.raises(NOT_HTTP):
        body.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na" + more)
    assert (body.status, body.whole, body.taken()) == (200, True, [(0, b"a")])
    assert body.headers == [(b"Content-Length", b"1")]
