"""The client against a real server, a well-behaved one and each kind of bad one."""

import json
import socket
from pathlib import Path

import pytest

from evals import Answer, Request
from tests.fakes.running import running, seen
from trials.load.client import Completion, RequestFailed, asker, complete, reported_models

QUESTION = Request(prompt="1 + 1 =", until=("\n\n", "Question:"), max_tokens=3, temperature=0.5, seed=1234)


def ask(*flags: str, timeout_s: float = 30.0) -> Answer:
    """Return what a gate hears from a fake engine with these flags."""
    with running(*flags) as url:
        return asker(url, "m", timeout_s=timeout_s)(QUESTION)


def unused_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_completion_is_the_servers_text_and_counts() -> None:
    with running() as url:
        assert complete(url, "m", "one two three", max_tokens=2, timeout_s=30) == Completion(
            text=" word word", finish_reason="length", prompt_tokens=3, completion_tokens=2
        )
        assert seen(url).completions == [
            {"model": "m", "prompt": "one two three", "max_tokens": 2, "temperature": 0, "ignore_eos": False}
        ]


def test_a_server_says_which_models_it_serves() -> None:
    with running() as url:
        assert reported_models(url, timeout_s=30) == ("m",)


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"data": [{}]}', '{"data": null}'])
def test_what_is_no_list_of_models_is_shown(body: str) -> None:
    with running("--body", body) as url, pytest.raises(RequestFailed, match="/v1/models: not ") as caught:
        reported_models(url, timeout_s=30)
    assert caught.value.status is None


@pytest.mark.parametrize(
    "body", ["word", "[]", "null", '{"choices": []}', '{"choices": [{"text": ""}]}', '{"choices": [{}], "usage": {}}']
)
def test_what_is_no_completion_is_shown(body: str) -> None:
    with running("--body", body) as url, pytest.raises(RequestFailed, match="/v1/completions: not "):
        complete(url, "m", "1 + 1 =", max_tokens=1, timeout_s=30)


@pytest.mark.parametrize(("status", "refused"), [(400, True), (422, True), (500, False), (503, False)])
def test_an_http_error_keeps_its_status_and_the_servers_words(status: int, refused: bool) -> None:  # noqa: FBT001
    with running("--status", str(status)) as url, pytest.raises(RequestFailed) as caught:
        complete(url, "m", "1 + 1 =", max_tokens=1, timeout_s=30)
    assert (caught.value.status, caught.value.refused) == (status, refused)
    assert f"/v1/completions: HTTP {status}: " in str(caught.value)
    assert "tokens of a context" in str(caught.value)


def test_a_server_that_is_not_there_is_named() -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    with pytest.raises(RequestFailed, match=f"^POST {url}/v1/completions: ConnectError: ") as caught:
        complete(url, "m", "1 + 1 =", max_tokens=1, timeout_s=30)
    assert not caught.value.refused


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    with running("--hang-completions") as url, pytest.raises(RequestFailed, match="ReadTimeout"):
        complete(url, "m", "1 + 1 =", max_tokens=1, timeout_s=0.2)


def test_an_answer_that_trickles_is_not_waited_for_either() -> None:
    with running("--drip-s", "0.1") as url, pytest.raises(RequestFailed, match=r"no whole answer within 0\.5 s$"):
        complete(url, "m", "1 + 1 =", max_tokens=1, timeout_s=0.5)


def test_a_gate_asks_what_its_task_says(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"1 + 1 =": " 2"}))
    with running("--answers", str(answers)) as url:
        assert asker(url, "m", timeout_s=30)(QUESTION) == Answer(text=" 2", finish_reason="stop", completion_tokens=1)
        assert seen(url).completions == [
            {
                "model": "m",
                "prompt": "1 + 1 =",
                "max_tokens": 3,
                "temperature": 0.5,
                "stop": ["\n\n", "Question:"],
                "seed": 1234,
            }
        ]


@pytest.mark.parametrize(
    ("status", "refused"), [(400, True), (404, True), (408, False), (409, False), (429, False), (500, False)]
)
def test_a_gate_hears_which_errors_would_come_again(status: int, refused: bool) -> None:  # noqa: FBT001
    answer = ask("--status", str(status), timeout_s=2.0)
    assert (answer.text, answer.finish_reason, answer.completion_tokens, answer.refused) == ("", None, None, refused)
    assert answer.error is not None
    assert f"HTTP {status}" in answer.error


def test_a_gate_hears_of_a_timeout_as_an_error_that_may_pass() -> None:
    answer = ask("--hang-completions", timeout_s=0.2)
    assert answer.error is not None
    assert "ReadTimeout" in answer.error
    assert not answer.refused


def test_the_environments_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://127.0.0.1:{unused_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running() as url:
        assert reported_models(url, timeout_s=30) == ("m",)
        assert asker(url, "m", timeout_s=30)(QUESTION).error is None
