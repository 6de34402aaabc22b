"""What a space says of its gates, and the thresholds it may leave out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search_spaces import GateSettings, SearchSpace, load, schema, source
from search_spaces.parse import thresholds

Data = dict[str, Any]


def with_gate(data: Data, gate: object, *, model: str | None = None) -> Data:
    """Return the small space with other gates, and another model."""
    target = data["target"] if model is None else {**data["target"], "model": model}
    return {**data, "target": target, "gate": gate}


def settings(**given: object) -> GateSettings:
    """Return the settings of a gate."""
    return GateSettings.model_validate({"task": "gsm8k", "threshold": 0.9, **given})


def test_a_gate_needs_no_more_than_its_task(data: Data, loaded: Callable[[Data], SearchSpace]) -> None:
    (gate,) = loaded(with_gate(data, {"task": "gsm8k"})).gates
    assert (gate.threshold, gate.endpoint, gate.filters, gate.max_tokens) == (0.90, "chat", None, None)
    assert (gate.questions.search, gate.questions.confirm, gate.alpha) == (None, None, 0.01)


def test_a_space_may_have_several_gates(data: Data, loaded: Callable[[Data], SearchSpace]) -> None:
    gates = loaded(with_gate(data, [{"task": "gsm8k"}, {"task": "mine", "threshold": 0.5}])).gates
    assert [(gate.task, gate.threshold) for gate in gates] == [("gsm8k", 0.90), ("mine", 0.5)]


@pytest.mark.parametrize(
    ("model", "threshold"),
    [("amd/DeepSeek-R1-0528-MXFP4", 0.91), ("qwen3.5", 0.94), ("moonshotai/Kimi-K2.5", 0.90), ("of-my-own", 0.90)],
)
def test_a_threshold_left_out_is_the_models_or_the_default(
    data: Data, loaded: Callable[[Data], SearchSpace], model: str, threshold: float
) -> None:
    assert loaded(with_gate(data, {"task": "gsm8k"}, model=model)).gates[0].threshold == threshold


def test_a_threshold_that_is_written_counts(data: Data, loaded: Callable[[Data], SearchSpace]) -> None:
    assert loaded(with_gate(data, {"task": "gsm8k", "threshold": 0.5}, model="qwen3.5")).gates[0].threshold == 0.5


def test_a_task_without_a_known_threshold_needs_one(data: Data, refusal: Callable[[Data], list[str]]) -> None:
    assert refusal(with_gate(data, {"task": "mine"})) == ["small.yaml: gate[0]: missing key 'threshold'"]


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ([], "gate: write at least one gate"),
        ({"task": "gsm8k", "threshold": 0}, "gate[0].threshold: 0: "),
        ({"task": "gsm8k", "endpoint": "chats"}, "gate[0].endpoint: 'chats' is unknown; did you mean 'chat'?"),
        ({"task": "gsm8k", "alfa": 0.1}, "gate[0]: unknown key 'alfa'; did you mean 'alpha'?"),
        ({"task": "../gsm8k.yaml"}, "gate[0].task: '../gsm8k.yaml' leaves its folder"),
        (
            {"task": "gsm8k", "data": {"test": {"space": "/etc/passwd"}}},
            "gate[0].data.test.space: '/etc/passwd' leaves",
        ),
        ([{"task": "gsm8k"}, 7], "gate[1]: "),
    ],
)
def test_a_gate_that_is_wrong_is_refused(
    data: Data, refusal: Callable[[Data], list[str]], gate: object, message: str
) -> None:
    assert refusal(with_gate(data, gate))[0].startswith(f"small.yaml: {message}")


def test_a_space_with_several_gates_is_written_and_read_back(
    data: Data, loaded: Callable[[Data], SearchSpace], tmp_path: Path
) -> None:
    files = {"test": {"space": "mine.jsonl"}, "train": {"data": "gsm8k/train.jsonl"}}
    space = loaded(with_gate(data, [{"task": "gsm8k", "data": files}, {"task": "mine", "threshold": 0.5}]))
    (tmp_path / "small.yaml").write_text(source(space), encoding="utf-8")
    assert load(tmp_path / "small.yaml") == space


def test_an_editor_does_not_ask_for_a_threshold() -> None:
    defined: Any = schema()["$defs"]
    assert defined["GateSettings"]["required"] == ["task"]


def test_a_task_file_is_looked_for_beside_the_space_and_a_name_is_a_name() -> None:
    assert settings(task="tasks/mine.yaml").source(Path("/spaces")) == "/spaces/tasks/mine.yaml"
    assert settings(task="gsm8k").source(Path("/spaces")) == "gsm8k"


@pytest.mark.parametrize(
    ("given", "early", "at_once"),
    [({}, True, 64), ({}, False, 256), ({"in_flight": 8}, True, 8), ({"concurrency": 4}, True, 4)],
)
def test_so_many_questions_are_in_flight(given: Data, at_once: int, *, early: bool) -> None:
    assert settings(**given).at_once((4, 256, 64), early=early) == at_once


@pytest.mark.parametrize(
    ("ladder", "asked"),
    [((4, 8, 16, 32, 64, 128), (128, 64)), ((1, 4), (4,)), ((16,), (16,)), ((8, 64, 16), (64,)), ((1, 2, 4), (4, 2))],
)
def test_the_full_set_is_asked_at_the_highest_and_the_median(ladder: tuple[int, ...], asked: tuple[int, ...]) -> None:
    assert settings().confirmed_at(ladder) == asked


def test_the_thresholds_are_those_of_inferencex() -> None:
    known = thresholds()
    assert known.default["gsm8k"] == 0.90
    assert {known.of("gsm8k", model) for model in ("dsr1", "zai-org/GLM-5.2-FP8", "glm5", "minimaxm2.5")} == {
        0.90,
        0.91,
        0.92,
        0.94,
    }
    assert known.of("of-my-own", "glm5") is None
