"""The client against a real server, a well-behaved one and each kind of bad one."""

import asyncio
import json
import socket
from pathlib import Path

import pytest

from evals import Answer, Request
from tests.fakes.running import running, seen
from trials.load.client import Completion, Connection, RequestFailed, asker, complete, reported_models
from trials.load.metrics import RequestTiming, tpot_ms, ttft_ms

QUESTION = Request(prompt="1 + 1 =", until=("\n\n", "Question:"), max_tokens=3, temperature=0.5)


def stream(url: str, *prompts: str, output_tokens: int = 4, request_s: float = 30.0) -> list[RequestTiming]:
    """Send prompts one after another on one connection."""

    async def sent() -> list[RequestTiming]:
        async with Connection(url, "m", request_s=request_s) as connection:
            return [await connection.request(7, prompt, output_tokens=output_tokens) for prompt in prompts]

    return asyncio.run(sent())


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
            }
        ]


@pytest.mark.parametrize(
    ("status", "refused"), [(400, True), (404, True), (408, False), (409, False), (429, False), (500, False)]
)
def test_a_gate_hears_which_errors_would_come_again(status: int, refused: bool) -> None:  # noqa: FBT001
    answer = ask("--status", str(status))
    assert (answer.text, answer.finish_reason, answer.completion_tokens, answer.refused) == ("", None, None, refused)
    assert answer.error is not None
    assert f"HTTP {status}" in answer.error


def test_a_gate_hears_of_a_timeout_as_an_error_that_may_pass() -> None:
    answer = ask("--hang-completions", timeout_s=0.2)
    assert answer.error is not None
    assert "ReadTimeout" in answer.error
    assert not answer.refused


def test_a_stream_is_asked_for_with_its_usage_and_a_fixed_length() -> None:
    with running() as url:
        stream(url, "one two", output_tokens=5)
        assert seen(url).completions == [
            {
                "model": "m",
                "prompt": "one two",
                "max_tokens": 5,
                "temperature": 0,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ]


def test_a_stream_is_timed_and_counted_by_the_servers_usage() -> None:
    with running("--token-s", "0.02") as url:
        (timing,) = stream(url, "one two three", output_tokens=5)
    assert (timing.slot, timing.prompt_tokens, timing.completion_tokens) == (7, 3, 5)
    assert (timing.error, timing.timed_out, timing.resent) == (None, False, False)
    to_first_ms, between_ms = ttft_ms(timing), tpot_ms(timing)
    assert to_first_ms is not None
    assert between_ms is not None
    assert to_first_ms >= 20
    assert between_ms > 0
    assert timing.sent_s < timing.first_token_s < timing.ended_s  # type: ignore[operator]  # it is not None


def test_a_connection_is_kept_alive() -> None:
    with running() as url:
        assert [timing.error for timing in stream(url, "a", "b", "c")] == [None] * 3
        assert seen(url).connections == 1


def test_a_line_separator_inside_a_token_does_not_break_the_stream() -> None:
    with running("--word", "\u2028\u0085\n") as url:
        (timing,) = stream(url, "a", output_tokens=3)
    assert (timing.completion_tokens, timing.error) == (3, None)


def test_tokens_without_text_are_no_first_token() -> None:
    with running("--word", "") as url:
        (timing,) = stream(url, "a")
    assert (timing.first_token_s, timing.completion_tokens, timing.error) == (None, 4, None)


def test_a_connection_that_is_closed_as_announced_is_opened_anew_and_nothing_sent_again() -> None:
    with running("--hang-up", "announced") as url:
        timings = stream(url, "a", "b", "c")
        assert seen(url).connections == 3
    assert [(timing.error, timing.resent) for timing in timings] == [(None, False)] * 3


def test_a_connection_that_is_closed_without_a_word_costs_no_request() -> None:
    with running("--hang-up", "silent") as url:
        assert [timing.error for timing in stream(url, "a", "b", "c")] == [None] * 3
        assert seen(url).prompts == ["a", "b", "c"]


def test_a_request_on_a_dropped_keep_alive_is_sent_again_and_marked() -> None:
    with running("--hang-up", "reused") as url:
        timings = stream(url, "a", "b", "c")
        assert seen(url).prompts == ["a", "b", "b", "c", "c"]
    assert [timing.error for timing in timings] == [None] * 3
    assert [timing.resent for timing in timings] == [False, True, True]


def test_a_new_connection_that_is_dropped_is_an_error() -> None:
    with running("--hang-up", "always") as url:
        (timing,) = stream(url, "a")
        assert seen(url).prompts == ["a"]
    assert timing.error is not None
    assert timing.error.startswith("RemoteProtocolError: ")
    assert not timing.resent


def test_a_drop_in_the_middle_of_a_stream_is_an_error_and_not_sent_again() -> None:
    with running("--stream", "drop") as url:
        (timing,) = stream(url, "a")
        assert seen(url).prompts == ["a"]
    assert timing.error is not None
    assert timing.error.startswith("RemoteProtocolError: ")
    assert timing.first_token_s is not None
    assert timing.completion_tokens is None
    assert (timing.resent, timing.timed_out) == (False, False)


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        pytest.param(("--stream", "error"), "error in the stream: {'message': 'out of slots'}", id="in the stream"),
        pytest.param(("--stream", "misshapen"), "not a piece of a completion: []", id="misshapen"),
        pytest.param(("--stream", "no-usage"), "the stream ended without usage", id="without usage"),
        pytest.param(("--status", "400"), "HTTP 400: ", id="refused"),
        pytest.param(("--status", "503"), "HTTP 503: ", id="unavailable"),
    ],
)
def test_what_goes_wrong_stands_in_the_timing(flags: tuple[str, ...], error: str) -> None:
    with running(*flags) as url:
        (timing,) = stream(url, "a")
        assert seen(url).prompts == ["a"]
    assert timing.error is not None
    assert error in timing.error
    assert (timing.resent, timing.timed_out) == (False, False)


@pytest.mark.parametrize("fault", ["silence", "stall"])
def test_a_request_out_of_time_is_marked(fault: str) -> None:
    with running("--stream", fault) as url:
        (timing,) = stream(url, "a", request_s=0.3)
    assert (timing.error, timing.timed_out) == ("no whole answer within 0.3 s", True)
    assert (timing.first_token_s is None) == (fault == "silence")


def test_a_stream_that_moves_but_does_not_end_is_out_of_time_too() -> None:
    with running("--token-s", "0.05") as url:
        (timing,) = stream(url, "a", output_tokens=1000, request_s=0.3)
    assert timing.timed_out
    assert timing.first_token_s is not None


def test_a_server_that_is_not_there_stands_in_the_timing() -> None:
    (timing,) = stream(f"http://127.0.0.1:{unused_port()}", "a")
    assert timing.error is not None
    assert timing.error.startswith("ConnectError: ")
    assert not timing.resent


def test_the_environments_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://127.0.0.1:{unused_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running() as url:
        assert reported_models(url, timeout_s=30) == ("m",)
        assert asker(url, "m", timeout_s=30)(QUESTION).error is None
        assert [timing.error for timing in stream(url, "a", "b")] == [None, None]
