"""The calibrated server as the program it is, asked with sockets."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from trials.load import calibrated
from trials.load.selftest import ask_seen, served

STEP_S = 0.005


@pytest.fixture
def url() -> Iterator[str]:
    with served(STEP_S) as running:
        yield running


def connected(url: str) -> socket.socket:
    where = urlsplit(url)
    return socket.create_connection((where.hostname, where.port or 0), timeout=10)


def request(prompt: object, tokens: int) -> bytes:
    body = json.dumps({"model": "m", "prompt": prompt, "max_tokens": tokens, "stream": True}).encode()
    return b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def answer(connection: socket.socket) -> str:
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        got = connection.recv(1 << 16)
        assert got, data
        data += got
    return data.decode()


def events(text: str) -> list[dict[str, object]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def test_every_token_is_an_event_and_the_usage_comes_last(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(request("12 words of a prompt", 3))
        text = answer(connection)
    *tokens, usage = events(text)
    assert [event["choices"][0]["finish_reason"] for event in tokens] == [None, None, "length"]  # type: ignore[index]
    assert usage["usage"]["completion_tokens"] == 3  # type: ignore[index]
    assert text.startswith("HTTP/1.1 200 OK\r\n")
    assert "data: [DONE]" in text


def test_the_server_knows_when_it_sent_each_event(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(request("12 words of a prompt", 3))
        told = [event["sent_ns"] for event in events(answer(connection))[:-1]]
    peak, (only,) = ask_seen(url)
    assert peak == 1
    assert only.number == 12
    assert [round(moment * 1e9) for moment in only.sent_s] == pytest.approx(told, abs=2)
    assert only.received_s <= only.sent_s[0]
    assert only.sent_s == tuple(sorted(only.sent_s))


def test_streams_get_their_tokens_in_the_same_steps(url: str) -> None:
    with connected(url) as one, connected(url) as other:
        one.sendall(request([1, 17], 40))
        other.sendall(request([2, 17], 40))
        answer(one)
        answer(other)
    peak, answers = ask_seen(url)
    assert peak == 2
    assert sorted(each.number for each in answers) == [1, 2]
    assert [len(each.sent_s) for each in answers] == [40, 40]


def test_a_connection_is_kept_for_the_next_request(url: str) -> None:
    with connected(url) as connection:
        for number in range(3):
            connection.sendall(request(f"{number} words", 2))
            answer(connection)
    assert [each.number for each in ask_seen(url)[1]] == [0, 1, 2]


def test_a_request_may_come_in_pieces(url: str) -> None:
    whole = request("4 " + "word " * 1000, 2)
    with connected(url) as connection:
        for piece in (whole[:10], whole[10:80], whole[80:3000], whole[3000:]):
            connection.sendall(piece)
        answer(connection)
    assert [each.number for each in ask_seen(url)[1]] == [4]


def test_what_was_told_once_is_not_told_again(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(request("4 words", 2))
        answer(connection)
    assert len(ask_seen(url)[1]) == 1
    assert ask_seen(url) == (0, ())


def test_a_client_that_goes_leaves_the_others_their_streams(url: str) -> None:
    with connected(url) as stays:
        with connected(url) as goes:
            goes.sendall(request("1 words", 10_000))
            stays.sendall(request("2 words", 20))
            goes.recv(1)
        answer(stays)
    assert [each.number for each in ask_seen(url)[1]] == [2]


def test_a_prompt_without_a_number_is_answered_too(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(request("words", 2))
        answer(connection)
    assert [each.number for each in ask_seen(url)[1]] == [-1]


def test_any_other_question_lists_the_one_model(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        text = connection.recv(1 << 16).decode()
    assert json.loads(text.partition("\r\n\r\n")[2])["data"] == [{"id": "m"}]


def test_the_server_ends_when_its_owner_does() -> None:
    argv = [sys.executable, "-P", calibrated.__file__, str(STEP_S)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline().startswith(b"port ")
        process.stdin.close()
        assert process.wait(10) == 0
