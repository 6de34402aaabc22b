"""What a stamped answer means: pure, on answers cut anywhere, real ones of vLLM among them."""

import json
from pathlib import Path

import pytest

from tests.fakes.stream_server import CHUNKED, HEAD, chunk, event
from trials.load.stream import Streamed, body, failed, read

CAPTURES = Path(__file__).parents[2] / "captures" / "vllm-0.25.1"
USAGE = event(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 2})
DONE = "data: [DONE]\n\n"


def text(word: str, **fields: object) -> str:
    """Return the event of one piece of a text completion."""
    return event(choices=[{"text": word, **fields}])


def chat(**delta: str) -> str:
    """Return the event of one piece of a chat."""
    return event(choices=[{"delta": delta}])


def streamed(*parts: str, head: str = CHUNKED) -> Streamed:
    """Return what a chunked answer says whose parts came a second apart, the first at 1 s."""
    pieces = [chunk(part) if head == CHUNKED else part for part in parts]
    pieces[0] = head + pieces[0]
    pieces[-1] += "0\r\n\r\n" if head == CHUNKED else ""
    return read([(second * 10**9, piece.encode("latin-1")) for second, piece in enumerate(pieces, 1)])


def test_a_request_asks_for_a_stream_of_fixed_length_with_its_usage() -> None:
    assert json.loads(body("m", "one two", 5)) == {
        "model": "m",
        "prompt": "one two",
        "max_tokens": 5,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_prompt_may_be_the_ids_of_its_tokens() -> None:
    assert json.loads(body("m", (1, 2, 3), 5))["prompt"] == [1, 2, 3]


def test_a_stream_is_timed_by_its_chunks_and_counted_by_the_servers_usage() -> None:
    assert streamed(text(" a"), text(" b"), USAGE + DONE) == Streamed(
        first_s=1.0, last_s=2.0, chunks=2, gaps_s=(1.0,), prompt_tokens=3, completion_tokens=2
    )


def test_a_stream_says_the_same_wherever_it_is_cut() -> None:
    whole = (CHUNKED + chunk(text(" a")) + chunk(text("\u00e9")) + chunk(USAGE + DONE) + "0\r\n\r\n").encode("latin-1")
    expected = read([(0, whole)])
    assert expected.chunks == 2
    for at in range(1, len(whole)):
        assert read([(0, whole[:at]), (0, whole[at:])]) == expected
    assert read([(0, whole[at : at + 1]) for at in range(len(whole))]) == expected


def test_a_chunk_came_when_its_line_was_whole() -> None:
    first, rest = text(" a")[:20], text(" a")[20:]
    said = streamed(first, rest, text(" b"), USAGE)
    assert (said.first_s, said.last_s) == (2.0, 3.0)


def test_chunks_that_came_in_one_piece_came_at_one_time() -> None:
    said = streamed(text(" a") + text(" b") + text(" c"), text(" d"), USAGE)
    assert (said.chunks, said.gaps_s) == (4, (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    "spelt",
    [
        pytest.param(lambda events: events.replace("\n", "\r\n"), id="carriage returns"),
        pytest.param(lambda events: events.replace("data: ", "data:"), id="no space"),
        pytest.param(lambda events: events.replace("data: ", ": ping\n\ndata: "), id="comments"),
        pytest.param(lambda events: events.replace("data: ", "event: message\nid: 1\ndata: "), id="other fields"),
        pytest.param(lambda events: events.replace("\n\n", "\n"), id="no blank lines"),
    ],
)
def test_an_event_may_be_spelt_as_the_standard_allows_and_a_little_beyond(spelt) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    said = streamed(spelt(text(" a")), spelt(text(" b")), spelt(USAGE + DONE))
    assert (said.chunks, said.completion_tokens, said.error) == (2, 2, None)


def test_a_line_separator_inside_a_token_does_not_break_the_stream() -> None:
    raw = "data: " + json.dumps({"choices": [{"text": "\u2028\u0085"}]}, ensure_ascii=False) + "\n\n"
    said = streamed(raw.encode().decode("latin-1"), USAGE)
    assert (said.chunks, said.error) == (1, None)


FULL = '{"index":0,"text":"%s","logprobs":null,"finish_reason":%s}'


def alike(words: str, finish_reason: str = "null", more: str = "") -> str:
    """Return an event in the form of an engine, whose neighbours differ in their words alone."""
    return 'data: {"id":"m","object":"text_completion","choices":[' + FULL % (words, finish_reason) + f"]{more}}}\n\n"


UNLIKE = {
    "longer words": alike(" a much longer word than any before it, so that the size of its chunk has more digits" * 3),
    "an escaped quote": alike(r"\"a\""),
    "an escaped line": alike(r"\n"),
    "a quote that is words": alike(r"\",\"logprobs\":null"),
    "no words": alike(""),
    "its name": alike("m"),
    "the end": alike(" a", '"length"'),
    "an error": alike(" a", more=',"error":"full"'),
    "usage": alike(" a", more=',"usage":{"prompt_tokens":3,"completion_tokens":9}'),
    "another form": text(" a"),
    "two events": alike(" a") + alike(" b"),
    "a comment": ": ping\n\n" + alike(" a"),
    "nothing but a comment": ": ping\n\n",
    "no JSON": "data: {\n\n",
    "half a line": "data: {",
}


@pytest.mark.parametrize("other", UNLIKE.values(), ids=UNLIKE)
def test_an_event_among_others_of_one_form_says_what_it_says_alone(other: str) -> None:
    """Read byte by byte, no piece is like another, and each is parsed."""
    events = [alike(f" {word}") for word in ("a", "bc", "def", "a")]
    parts = [*map(chunk, [*events, *events, other, *events, USAGE + DONE]), "0\r\n\r\n"]
    pieces = [(second * 10**9, part.encode()) for second, part in enumerate([CHUNKED, *parts])]
    singly = [(stamp_ns, data[at : at + 1]) for stamp_ns, data in pieces for at in range(len(data))]
    assert read(pieces) == read(singly)
    assert read(pieces).chunks >= 8


def test_events_of_one_form_say_the_same_wherever_one_is_cut() -> None:
    one, usage = chunk(alike(" abc")).encode(), chunk(USAGE + DONE).encode()
    for at in range(1, len(one)):
        said = read([(0, CHUNKED.encode()), *[(0, one)] * 4, (0, one[:at]), (0, one[at:]), (0, one), (0, usage)])
        assert (said.chunks, said.completion_tokens, said.error) == (6, 2, None)


def test_events_of_one_form_are_counted_however_long_their_words_are() -> None:
    parts = [CHUNKED, *(chunk(alike("a" * length)) for length in range(1, 300)), chunk(USAGE)]
    assert read([(0, part.encode()) for part in parts]).chunks == 299


@pytest.mark.parametrize("size", ["00%x\r\n%s\r\n", "%X\r\n%s\r\n", "%x;name=value\r\n%s\r\n"])
def test_the_size_of_a_chunk_may_be_spelt_otherwise(size: str) -> None:
    parts = [size % (len(event), event) for event in [*[alike(f" {'abc' * n}") for n in range(9)], USAGE]]
    assert read([(0, part.encode()) for part in (CHUNKED, *parts)]).chunks == 9


def test_chunks_without_text_are_none() -> None:
    said = streamed(chat(role="assistant", content=""), chat(content="a"), text(""), USAGE)
    assert (said.chunks, said.first_s, said.last_s) == (1, 2.0, 2.0)


@pytest.mark.parametrize("name", ["content", "reasoning_content", "reasoning"])
def test_a_chats_words_and_thoughts_are_text(name: str) -> None:
    assert streamed(chat(**{name: "a"}), USAGE).chunks == 1


def test_a_stream_without_text_has_no_first_chunk() -> None:
    assert streamed(text(""), USAGE) == Streamed(prompt_tokens=3, completion_tokens=2)


def test_usage_may_come_with_text_and_the_last_one_counts() -> None:
    usages = [{"prompt_tokens": 3, "completion_tokens": n, "prompt_tokens_details": None} for n in (1, 2)]
    said = streamed(*(event(choices=[{"text": " a"}], usage=usage) for usage in usages))
    assert (said.chunks, said.completion_tokens, said.cached_tokens) == (2, 2, None)


def test_cached_tokens_are_those_the_usage_tells() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    assert streamed(event(choices=[], usage=usage)).cached_tokens == 1


def test_the_finish_reason_is_kept() -> None:
    assert streamed(text(" a", finish_reason=None), text(" b", finish_reason="length"), USAGE).finish_reason == "length"


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        pytest.param((text(" a"), DONE), "the stream ended without usage", id="no usage"),
        pytest.param((text(" a"), event(error={"message": "full"}), USAGE), "{'message': 'full'}", id="an error"),
        pytest.param((text(" a"), "data: []\n\n"), "not a piece of a completion: []", id="a list"),
        pytest.param((text(" a"), "data: {\n\n"), "not a piece of a completion: {", id="no JSON"),
        pytest.param((text(" a"), event(usage={"tokens": 1})), "not a piece of a completion: ", id="another usage"),
        pytest.param((text(" a"), event(choices=[None])), "not a piece of a completion: ", id="no choice"),
        pytest.param((text(" a"), event(choices=[{"text": 5}])), "not a piece of a completion: ", id="no text"),
    ],
)
def test_what_is_wrong_with_a_stream_is_said_and_what_came_before_it_kept(parts: tuple[str, ...], error: str) -> None:
    said = streamed(*parts)
    assert said.error is not None
    assert error in said.error
    assert (said.first_s, said.chunks, said.refused) == (1.0, 1, False)


@pytest.mark.parametrize(("status", "refused"), [(400, True), (404, True), (500, False), (503, False), (307, False)])
def test_an_http_error_is_told_in_the_servers_words(status: int, refused: bool) -> None:  # noqa: FBT001
    said = streamed('{"message": "too long"}', head=f"HTTP/1.1 {status} No\r\n\r\n")
    assert (said.error, said.refused) == (f'HTTP {status}: {{"message": "too long"}}', refused)


def test_an_answer_that_was_cut_off_tells_what_came() -> None:
    pieces = [(10**9, (CHUNKED + chunk(text(" a"))).encode()), (2 * 10**9, b"1f\r\ndata: {")]
    said = read(pieces)
    assert (said.first_s, said.chunks, said.completion_tokens) == (1.0, 1, None)


def test_no_answer_at_all_tells_nothing() -> None:
    assert read([]) == Streamed(error="the stream ended without usage")


@pytest.mark.parametrize("more", ["HTTP/1.1 500 Late\r\n\r\nx", "?"])
def test_an_answer_stands_whatever_comes_with_its_end(more: str) -> None:
    whole = CHUNKED + chunk(text(" a")) + chunk(USAGE + DONE) + "0\r\n\r\n"
    assert read([(10**9, (whole + more).encode())]) == read([(10**9, whole.encode())])
    assert read([(10**9, whole.encode())]).error is None


def test_what_is_no_http_is_shown() -> None:
    said = read([(0, b"220 mail.example ESMTP\r\n")])
    assert said.error is not None
    assert said.error.startswith("not an HTTP answer: ")


@pytest.mark.parametrize(
    ("parts", "status", "told"),
    [
        pytest.param((text(" a"), USAGE, DONE), 200, False, id="well"),
        pytest.param((text(" a"), event(error={"message": "full"}), DONE), 200, True, id="an error"),
        pytest.param((text('"error"'), USAGE, DONE), 200, False, id="the word"),
        pytest.param((text(" a", error=None), USAGE, DONE), 200, False, id="the name"),
        pytest.param((text(" a"), USAGE, DONE), 500, True, id="a status"),
        pytest.param((text(" a"), USAGE, DONE), 201, False, id="another good status"),
        pytest.param((), None, True, id="nothing"),
    ],
)
def test_a_failed_answer_is_known_without_parsing_the_others(
    parts: tuple[str, ...],
    status: int | None,
    told: bool,  # noqa: FBT001
) -> None:
    pieces = [(0, part.encode()) for part in (CHUNKED, *map(chunk, parts), "0\r\n\r\n")]
    assert failed(pieces, status) is told


@pytest.mark.parametrize(
    ("name", "chunks", "prompt_tokens", "completion_tokens", "finish_reason"),
    [
        ("default-cold.stream", 46, 5, 48, "length"),
        ("default-cold.chat-stream", 44, 33, 48, "length"),
        ("stream-interval-20.stream", 4, 5, 48, "length"),
        ("stream-interval-20.chat-stream", 4, 33, 48, "length"),
    ],
)
def test_a_real_stream_of_vllm_is_understood(
    name: str, chunks: int, prompt_tokens: int, completion_tokens: int, finish_reason: str
) -> None:
    """Two to four of its 48 tokens are held back, half a character each, and come as chunks without text."""
    _, _, events = (CAPTURES / f"{name}.http").read_text(encoding="utf-8").partition("\n\n")
    pieces = [(n * 10**9, line.encode()) for n, line in enumerate([HEAD + "\r\n", *events.splitlines(keepends=True)])]
    said = read(pieces)
    assert (said.chunks, said.prompt_tokens, said.completion_tokens) == (chunks, prompt_tokens, completion_tokens)
    assert (said.finish_reason, said.error) == (finish_reason, None)
