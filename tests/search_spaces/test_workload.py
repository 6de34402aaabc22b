"""The load of a space: its shapes, the short form of fixed lengths, and what does not go together."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from search_spaces import File, Lengths, Prompts, SearchSpace, SharedPrefix, Trace, load, schema, source

Data = dict[str, Any]
PREFIX = {"kind": "shared_prefix", "prefix_tokens": 40, "input_tokens": 10, "output_tokens": 8}
TRACE = {"kind": "trace", "file": {"space": "a.jsonl"}}
PROMPTS = {"kind": "prompts", "file": {"data": "b.jsonl"}, "nonce": False}


def shaped(data: Data, shape: Mapping[str, object], **keys: object) -> Data:
    """Return data whose workload has this shape and these keys."""
    workload = {"concurrency": [1, 4], "shape": shape, **keys}
    return {**data, "workload": workload, "deadlines": {**data["deadlines"], "load_s": 60}}


def test_lengths_alone_are_a_shape(data: Data, loaded: Callable[[Data], SearchSpace]) -> None:
    assert loaded(data).workload.shape == Lengths(input_tokens=8, output_tokens=8)


def test_a_workload_is_what_inferencex_runs_unless_it_says_otherwise(
    data: Data, loaded: Callable[[Data], SearchSpace]
) -> None:
    workload = loaded(data).workload
    assert (workload.waves, workload.warmup_waves, workload.windows) == (10, 2, 3)
    assert (workload.range_ratio, workload.request_rate, workload.token_ids, workload.slo) == (1.0, None, None, None)


@pytest.mark.parametrize(
    ("shape", "read", "words"),
    [
        (
            PREFIX,
            SharedPrefix(kind="shared_prefix", prefix_tokens=40, input_tokens=10, output_tokens=8),
            "one prefix of 40 tokens and 10 of its own in, 8 out",
        ),
        (TRACE, Trace(kind="trace", file=File(space="a.jsonl")), "sessions of a.jsonl, turn by turn"),
        (PROMPTS, Prompts(kind="prompts", file=File(data="b.jsonl"), nonce=False), "prompts of b.jsonl, as they are"),
    ],
)
def test_a_shape_is_read_says_itself_and_survives_being_written(
    data: Data, loaded: Callable[[Data], SearchSpace], shape: Data, read: object, words: str
) -> None:
    space = loaded(shaped(data, shape))
    assert space.workload.shape == read
    assert space.workload.shape.words == words
    assert SearchSpace.model_validate_json(space.model_dump_json()) == space
    path = space.folder / "small.yaml"
    path.write_text(source(space), encoding="utf-8")
    assert load(path) == space


def test_lengths_say_themselves() -> None:
    assert Lengths(input_tokens=8, output_tokens=4).words == "8 tokens in, 4 out, unique prompts"


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"concurrency": [4, 4]}, "workload: a concurrency is listed twice"),
        ({"input_tokens": None}, "workload: write input_tokens and output_tokens, or a shape"),
        ({"shape": PREFIX}, "workload: input_tokens and output_tokens belong inside the shape"),
        ({"output_tokens": 1}, "workload.output_tokens: 1: input should be greater than or equal to 2"),
        ({"waves": 3}, "workload.waves: 3: input should be greater than or equal to 4"),
        ({"windows": 2}, "workload.windows: 2: input should be greater than or equal to 3"),
        ({"warmup_waves": 0}, "workload.warmup_waves: 0: input should be greater than or equal to 1"),
        ({"range_ratio": 0}, "workload.range_ratio: 0: input should be greater than 0"),
        ({"range_ratio": 1.2}, "workload.range_ratio: 1.2: input should be less than or equal to 1"),
        ({"token_ids": [5, 200]}, "workload: token_ids: [first, last] must hold 256 ids at least"),
        ({"token_ids": [-1, 500]}, "workload.token_ids[0]: -1: input should be greater than or equal to 0"),
        ({"burstiness": 2}, "workload: burstiness needs a request_rate; without one nothing arrives by itself"),
        ({"request_rate": 0}, "workload.request_rate: 0: input should be greater than 0"),
        ({"window_sd": {3: 0.1}}, "workload.window_sd.3: not on the ladder 1, 4"),
        ({"slo": {}}, "workload.slo: write a limit: ttft_ms, tpot_ms or e2el_ms"),
        ({"window_s": 3}, "workload: unknown key 'window_s'; did you mean 'window_sd'?"),
    ],
)
def test_what_a_workload_cannot_mean_is_refused(
    data: Data, refusal: Callable[[Data], list[str]], keys: Data, line: str
) -> None:
    data["workload"].update(keys)
    [found] = refusal(data)
    assert found.startswith(f"small.yaml: {line}")


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        ({"kind": "trase"}, "workload.shape.kind: 'trase' is unknown; did you mean 'trace'?"),
        ({"file": {"space": "a.jsonl"}}, "workload.shape: missing key 'kind'"),
        ({"kind": "trace"}, "workload.shape: missing key 'file'"),
        ({**TRACE, "nonce": True}, "workload.shape: unknown key 'nonce'; "),
        ({"kind": "trace", "file": {"space": "../a"}}, "workload.shape.file.space: '../a' leaves its folder; "),
        ({**PREFIX, "prefix_token": 3}, "workload.shape: unknown key 'prefix_token'; did you mean 'prefix_tokens'?"),
    ],
)
def test_a_fault_of_a_shape_has_the_path_that_the_file_has(
    data: Data, refusal: Callable[[Data], list[str]], shape: Data, line: str
) -> None:
    [found] = refusal(shaped(data, shape))
    assert found.startswith(f"small.yaml: {line}")


@pytest.mark.parametrize(
    ("shape", "keys", "line"),
    [
        (TRACE, {"range_ratio": 0.8}, "range_ratio is of lengths that are drawn; those of a file are in the file"),
        (PROMPTS, {"range_ratio": 0.8}, "range_ratio is of lengths that are drawn; those of a file are in the file"),
        (PROMPTS, {"token_ids": [0, 900]}, "token_ids are of prompts that are drawn; those of a file are text"),
    ],
)
def test_what_a_file_says_cannot_be_drawn(
    data: Data, refusal: Callable[[Data], list[str]], shape: Data, keys: Data, line: str
) -> None:
    assert refusal(shaped(data, shape, **keys)) == [f"small.yaml: workload: {line}"]


def test_a_trace_needs_a_deadline_of_its_own(data: Data, refusal: Callable[[Data], list[str]]) -> None:
    whole = shaped(data, TRACE)
    del whole["deadlines"]["load_s"]
    assert refusal(whole) == [
        "small.yaml: deadlines: a trace lasts as long as its sessions; write load_s: seconds a point may take"
    ]


def test_an_editor_learns_every_key_of_a_workload() -> None:
    defined: Any = schema()["$defs"]
    assert {"input_tokens", "shape", "range_ratio", "token_ids", "waves"} <= set(defined["Workload"]["properties"])
    assert {"SharedPrefix", "Trace", "Prompts"} <= set(defined)
