"""How a gate's questions travel: through either endpoint, with patience for a busy server and none for a refusal."""

from dataclasses import replace

import pytest

from evals import Answer, Message, Request
from tests.fakes.running import running, seen
from trials.load.client import RequestFailed, asker, complete, served_context

CHAT = Request(
    prompt=(Message("system", "Count."), Message("user", "1 + 1 =")),
    until=("Question:",),
    max_tokens=8,
    temperature=0.0,
    seed=1234,
    extra=(("top_p", 1),),
)
TEXT = replace(CHAT, prompt="1 + 1 =")


def test_a_chat_is_sent_as_messages_and_its_answer_is_their_content() -> None:
    with running("--answer-all", " 2") as url:
        assert asker(url, "m", timeout_s=30)(CHAT) == Answer(text=" 2", finish_reason="stop", completion_tokens=1)
        assert seen(url).completions == [
            {
                "model": "m",
                "messages": [{"role": "system", "content": "Count."}, {"role": "user", "content": "1 + 1 ="}],
                "max_tokens": 8,
                "temperature": 0.0,
                "stop": ["Question:"],
                "seed": 1234,
                "top_p": 1,
            }
        ]


def test_a_chat_without_content_is_an_empty_answer() -> None:
    body = '{"choices": [{"message": {"content": null}, "finish_reason": "length"}], "usage": {"prompt_tokens": 1, '
    with running("--body", f'{body}"completion_tokens": 8}}}}') as url:
        answer = asker(url, "m", timeout_s=30)(CHAT)
    assert (answer.text, answer.finish_reason, answer.error) == ("", "length", None)


@pytest.mark.parametrize("body", ["[]", '{"choices": [{"message": {}}]}', '{"choices": [{"text": "2"}], "usage": {}}'])
def test_what_is_no_chat_is_shown(body: str) -> None:
    with running("--body", body) as url, pytest.raises(RequestFailed, match="/v1/chat/completions: not a completion"):
        complete(url, "m", (Message("user", "1 + 1 ="),), max_tokens=1, timeout_s=30)


def test_token_ids_are_sent_as_they_are() -> None:
    with running() as url:
        assert complete(url, "m", (5, 6, 7), max_tokens=2, timeout_s=30).prompt_tokens == 3
        assert seen(url).completions[0]["prompt"] == [5, 6, 7]


def test_a_busy_server_is_asked_again_and_it_is_counted() -> None:
    with running("--busy", "3", "--answer-all", "2") as url:
        answer = asker(url, "m", timeout_s=30)(TEXT)
        assert len(seen(url).completions) == 4
    assert (answer.text, answer.error, answer.retries) == ("2", None, 3)


def test_a_server_that_stays_busy_is_an_error_when_the_time_is_up() -> None:
    with running("--busy", "1000") as url:
        answer = asker(url, "m", timeout_s=0.3)(TEXT)
    assert (answer.status, answer.refused) == (429, False)
    assert answer.retries >= 1


@pytest.mark.parametrize("status", [400, 404, 422, 500, 503])
def test_other_errors_are_not_asked_again(status: int) -> None:
    with running("--status", str(status)) as url:
        answer = asker(url, "m", timeout_s=30)(CHAT)
        assert len(seen(url).completions) == 1
    assert (answer.status, answer.retries, answer.refused) == (status, 0, status < 500)


def test_the_context_is_what_the_server_says_beside_its_model() -> None:
    with running("--context", "9472", "--strict") as url:
        assert served_context(url, "m", timeout_s=30) == 9472
        assert served_context(url, "another", timeout_s=30) is None


def test_the_context_of_a_slot_is_read_from_the_properties_of_llama_cpp() -> None:
    """The body answers every GET: a list of models without a length, and llama-server's properties."""
    with running("--body", '{"data": [{"id": "m"}], "default_generation_settings": {"n_ctx": 512}}') as url:
        assert served_context(url, "m", timeout_s=30) == 512


@pytest.mark.parametrize("body", ['{"data": [{"id": "m"}]}', '{"data": [{"id": "m", "max_model_len": "9472"}]}'])
def test_a_server_that_does_not_say_its_context_is_not_guessed_at(body: str) -> None:
    with running("--body", body) as url:
        assert served_context(url, "m", timeout_s=30) is None


def test_what_is_no_list_of_models_says_no_context() -> None:
    with running("--body", "[1]") as url, pytest.raises(RequestFailed, match="not a list of models"):
        served_context(url, "m", timeout_s=30)


def test_a_budget_beyond_the_context_is_refused_at_once_in_the_servers_words() -> None:
    """The lengths of SemiAnalysisAI/InferenceX#2247, where 4,203 requests were sent again."""
    with running("--context", "9472", "--strict") as url:
        with pytest.raises(RequestFailed, match="maximum context length is 9472 tokens") as caught:
            complete(url, "m", (Message("user", "1 + 1 ="),), max_tokens=12288, timeout_s=30, ignore_eos=True)
        assert len(seen(url).completions) == 1
    assert caught.value.refused
    assert "you requested 12288 output tokens" in str(caught.value)
