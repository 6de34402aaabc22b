"""The sections of a space: what each refuses, and that a space survives being written down."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from search_spaces import Deadlines, File, SearchSpace, Workload

Data = dict[str, Any]


@pytest.mark.parametrize(
    ("place", "value", "line"),
    [
        (("workload", "concurrency"), [], "workload.concurrency: []: tuple should have at least 1 item"),
        (("workload", "concurrency"), [1, 0], "workload.concurrency[1]: 0: input should be greater than or equal to 1"),
        (("workload", "input_tokens"), "64", "workload.input_tokens: '64': input should be a valid integer"),
        (("workload", "windows"), True, "workload.windows: True: input should be a valid integer"),
        (("gate", "threshold"), 1.5, "gate[0].threshold: 1.5: input should be less than or equal to 1"),
        (("gate", "filters"), [], "gate[0].filters: []: tuple should have at least 1 item"),
        (("budget", "hours"), 0, "budget.hours: 0: input should be greater than 0"),
        (("deadlines", "ready"), 3, "deadlines: unknown key 'ready'; did you mean 'ready_s'?"),
        (("target", "model"), None, "target.model: None: input should be a valid string"),
        (("target", "launcher"), "docker", "target: docker needs an image: write image, or launcher: process"),
        (("serve", "args"), [None], "serve.args[0]: null is no value; write a number, a word, true or false"),
    ],
)
def test_a_section_says_what_is_wrong(
    data: Data, refusal: Callable[[Data], list[str]], place: tuple[str, str], value: object, line: str
) -> None:
    section, key = place
    data[section][key] = value
    [found] = refusal(data)
    assert found.startswith(f"small.yaml: {line}")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"because": "x"}, "a rule is one of forbid, require and imply, and not empty"),
        ({"forbid": {}, "because": "x"}, "a rule is one of forbid, require and imply, and not empty"),
        ({"forbid": {"threads": 1}, "require": {"threads": 2}, "because": "x"}, "a rule is one of"),
        ({"imply": {"threads": 1}, "because": "x"}, "imply needs a when; what always holds belongs to serve"),
    ],
)
def test_what_is_no_rule_is_refused(
    data: Data, refusal: Callable[[Data], list[str]], rule: object, message: str
) -> None:
    data["rules"] = [rule]
    [line] = refusal(data)
    assert line.startswith(f"small.yaml: rules[0]: {message}")


def test_a_rule_says_itself(vllm_like: SearchSpace) -> None:
    assert [rule.words for rule in vllm_like.rules] == [
        "forbid cudagraph is PIECEWISE and tp is 4 or 8",
        "require seqs_per_rank >= 1 when concurrency >= 64",
        "imply ep is 1 when tp is 1",
    ]


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../weights", "a/../../b", ""],
)
def test_a_file_stays_in_its_folder(path: str) -> None:
    for root in ("data", "space"):
        with pytest.raises(ValidationError, match="leaves its folder"):
            File.model_validate({root: path})


def test_a_file_has_one_root() -> None:
    for keys in ({}, {"data": "a", "space": "b"}):
        with pytest.raises(ValidationError, match="write one"):
            File.model_validate(keys)


def test_a_file_is_located_under_its_root() -> None:
    roots = {"data_root": Path("/data"), "space_folder": Path("/spaces")}
    assert File(data="m/w.gguf").locate(**roots) == Path("/data/m/w.gguf")
    assert File(space="demo/a.gguf").locate(**roots) == Path("/spaces/demo/a.gguf")


def test_a_space_never_changes(vllm_like: SearchSpace) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        vllm_like.sampler = "random"  # type: ignore[misc]


def test_a_space_survives_being_written_as_plain_data(vllm_like: SearchSpace) -> None:
    assert SearchSpace.model_validate(vllm_like.model_dump(mode="json")) == vllm_like


def test_a_space_survives_being_written_as_json(vllm_like: SearchSpace) -> None:
    assert SearchSpace.model_validate_json(vllm_like.model_dump_json()) == vllm_like


def test_a_phase_without_a_deadline_of_its_own_gets_what_its_requests_may_take() -> None:
    deadlines = Deadlines(ready_s=10, stop_s=2, request_s=5)
    load = Workload(input_tokens=8, output_tokens=8, concurrency=(1, 4), waves=6, warmup_waves=3)
    assert deadlines.stall() == 5
    assert deadlines.load(load) == (5 * (3 + 1) + 2 * (6 + 1)) * 5
    assert deadlines.judge(questions=9, concurrency=4) == 3 * 5


@pytest.mark.parametrize(("request_s", "stall_s"), [(600, 120), (60, 60)])
def test_a_stream_that_stands_still_is_found_before_its_requests_time_is_up(request_s: float, stall_s: float) -> None:
    assert Deadlines(ready_s=10, stop_s=2, request_s=request_s).stall() == stall_s


def test_what_arrives_at_a_rate_may_take_as_long_as_it_takes_to_arrive() -> None:
    load = Workload(input_tokens=8, output_tokens=8, concurrency=(1, 4), waves=6, warmup_waves=3, request_rate=0.5)
    arriving_s = (5 * 3 + 2 * 6) * 4 / 0.5
    assert Deadlines(ready_s=10, stop_s=2, request_s=5).load(load) == (5 * 4 + 2 * 7) * 5 + arriving_s


def test_a_phase_keeps_to_the_deadline_that_the_space_gives_it() -> None:
    deadlines = Deadlines(ready_s=10, stop_s=2, request_s=5, stall_s=1, load_s=70, judge_s=80)
    load = Workload(input_tokens=8, output_tokens=8, concurrency=(1,))
    assert (deadlines.stall(), deadlines.load(load), deadlines.judge(questions=9, concurrency=4)) == (1, 70, 80)
