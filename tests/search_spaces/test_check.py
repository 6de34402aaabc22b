"""What is wrong across the sections of a space: every fault on a line of its own, with the key path and a hint."""

from collections.abc import Callable
from typing import Any

import pytest

from search_spaces import SearchSpace

Data = dict[str, Any]
Refusal = Callable[[Data], list[str]]
Loaded = Callable[[Data], SearchSpace]
CHEAP = "it is cheap"


def test_the_small_space_is_right(data: Data, loaded: Callable[[Data], SearchSpace]) -> None:
    assert loaded(data).name == "small"


def test_every_fault_is_reported_at_once(data: Data, refusal: Refusal) -> None:
    data["baseline"] = {"thread": 2, "cache": "q8", "unified": False}
    data["serve"]["args"] = ["--model", "${weight}"]
    assert refusal(data) == [
        "small.yaml: baseline.thread: unknown knob; did you mean 'threads'?",
        "small.yaml: baseline.cache: 'q8' is not one of f16, q8_0, q4_0; did you mean 'q8_0'?",
        "small.yaml: baseline: no value for knob 'threads'; write threads: one of 1..4",
        "small.yaml: serve.args[1]: unknown file ${weight}; did you mean 'weights'?",
    ]


@pytest.mark.parametrize(
    ("section", "value", "line"),
    [
        (
            "overrides",
            [{"concurrency": 4, "set": {"thread": 1}}],
            "overrides[0].set.thread: unknown knob; did you mean 'threads'?",
        ),
        (
            "overrides",
            [{"concurrency": {"ge": 1}, "set": {"threads": {"mul": [2, "$concurrency"]}}}],
            "overrides[0].set.threads: 8 is not a whole number of 1..4",
        ),
        (
            "overrides",
            [{"concurrency": 4, "set": {"threads": "$cache"}}],
            "overrides[0].set.threads: unknown name $cache; known: concurrency",
        ),
        (
            "overrides",
            [{"concurrency": {"ge": "$threads"}, "set": {"threads": 1}}],
            "overrides[0].concurrency: unknown name $threads; known: concurrency",
        ),
        (
            "known",
            [{"name": "a", "set": {"cache": "f32"}}],
            "known[0].set.cache: 'f32' is not one of f16, q8_0, q4_0",
        ),
        (
            "known",
            [{"name": "a", "set": {}}, {"name": "a", "set": {}}],
            "known[1].name: 'a' is there twice",
        ),
        (
            "rules",
            [{"forbid": {"cash": "f16"}, "because": CHEAP}],
            "rules[0].forbid.cash: unknown knob; did you mean 'cache'?",
        ),
        (
            "rules",
            [{"forbid": {"cache": ["q8_0", "q4"]}, "because": CHEAP}],
            "rules[0].forbid.cache: 'q4' is not one of f16, q8_0, q4_0; did you mean 'q4_0'?",
        ),
        (
            "rules",
            [{"require": {"threads": {"le": "$concurency"}}, "because": CHEAP}],
            "rules[0].require.threads: unknown name $concurency; did you mean 'concurrency'?",
        ),
        (
            "rules",
            [{"imply": {"thread": 1}, "when": {"cache": "q4_0"}, "because": CHEAP}],
            "rules[0].imply.thread: unknown knob; did you mean 'threads'?",
        ),
        (
            "rules",
            [{"imply": {"threads": 9}, "when": {"cache": "q4_0"}, "because": CHEAP}],
            "rules[0].imply.threads: 9 is not a whole number of 1..4",
        ),
        (
            "derived",
            {"half": {"env": "HALF", "value": {"div": ["$thread", 2]}}},
            "derived.half.value: unknown name $thread; did you mean 'threads'?",
        ),
        (
            "derived",
            {"a": {"env": "A", "value": "$b"}, "b": {"env": "B", "value": 1}},
            "derived.a.value: unknown name $b; known: cache, concurrency, threads, unified",
        ),
        ("derived", {"threads": {"env": "A", "value": 1}}, "derived.threads: a knob has this name; choose another"),
        (
            "derived",
            {"a": {"value": 1}},
            "derived.a: writes nothing and nothing refers to it; give it a flag, env or json",
        ),
        (
            "derived",
            {"a": {"flag": "--threads", "value": 1}},
            "derived.a: --threads is already written by knobs.threads",
        ),
        (
            "derived",
            {"a": {"flag": "--no-kv-unified", "value": 1}},
            "derived.a: --no-kv-unified is already written by knobs.unified",
        ),
        (
            "derived",
            {"a": {"flag": "--ctx-size", "value": 1}},
            "derived.a: --ctx-size is already written by serve.args",
        ),
        ("objective", {"weights": {"3": 1}}, "objective.weights.3: not on the ladder 1, 4"),
    ],
)
def test_a_fault_names_its_place(data: Data, refusal: Refusal, section: str, value: object, line: str) -> None:
    data[section] = value
    assert refusal(data) == [f"small.yaml: {line}"]


def test_two_values_do_not_share_a_json_key_or_hide_one_another(data: Data, refusal: Refusal) -> None:
    data["derived"] = {
        "a": {"json": "--c", "path": "x", "value": 1},
        "b": {"json": "--c", "path": "x.y", "value": 1},
        "c": {"json": "--threads", "path": "x", "value": 1},
        "d": {"layout": "tp", "value": 1},
        "e": {"layout": "tp", "value": 1},
    }
    assert refusal(data) == [
        "small.yaml: derived.b: --c x.y is already written by derived.a",
        "small.yaml: derived.e: layout tp is already written by derived.d",
        "small.yaml: derived.c: --threads is already written by knobs.threads",
    ]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "BASH_ENV"])
def test_a_variable_that_may_run_other_code_is_refused(data: Data, refusal: Refusal, name: str) -> None:
    data["serve"]["env"] = {name: "x"}
    data["derived"] = {"a": {"env": name, "value": 1}}
    assert refusal(data) == [
        f"small.yaml: derived.a: env {name} is already written by serve.env.{name}",
        f"small.yaml: serve.env.{name}: {name} may run other code in the engine; remove it, or trust this file",
        f"small.yaml: derived.a.env: {name} may run other code in the engine; remove it, or trust this file",
    ]


def test_a_variable_of_pythons_that_runs_nothing_may_be_set(data: Data, loaded: Loaded) -> None:
    data["serve"]["env"] = {"PYTHONHASHSEED": 0, "PYTHONNOUSERSITE": 1}
    assert loaded(data).serve.env == {"PYTHONHASHSEED": 0, "PYTHONNOUSERSITE": 1}


def test_only_a_derived_value_may_ask_whether_the_gate_is_asked(data: Data, loaded: Loaded, refusal: Refusal) -> None:
    data["derived"] = {"forced": {"flag": "--forced", "value": 1, "when": {"judging": False}}}
    assert loaded(data).derived["forced"].when
    data["knobs"]["threads"]["when"] = {"judging": False}
    [message] = refusal(data)
    assert message.startswith("small.yaml: knobs.threads.when.judging: unknown knob")


def test_the_sizes_of_memory_refer_to_what_is_there(data: Data, refusal: Refusal) -> None:
    data["memory"] = {"weights_gb": 1, "gpus": "$thread", "share": {"mul": [0.1, "$threads"]}, "source": "a card"}
    assert refusal(data) == ["small.yaml: memory.gpus: unknown name $thread; did you mean 'threads'?"]


def test_knobs_that_switch_each_other_are_refused(data: Data, refusal: Refusal) -> None:
    data["knobs"]["threads"]["when"] = {"unified": True}
    data["knobs"]["unified"]["when"] = {"cache": {"ne": "$threads"}}
    [line] = refusal(data)
    assert line.startswith("small.yaml: knobs: a knob's when leads back to itself: ")


def test_no_knob_is_named_concurrency(data: Data, refusal: Refusal) -> None:
    data["knobs"]["concurrency"] = {"flag": "--c", "choice": [1, 2]}
    data["baseline"]["concurrency"] = 1
    assert refusal(data) == [
        "small.yaml: knobs.concurrency: the name stands for the concurrency of a point; choose another"
    ]


def test_a_baseline_that_breaks_a_rule_is_refused(data: Data, refusal: Refusal) -> None:
    data["rules"] = [{"require": {"threads": {"le": "$concurrency"}}, "because": "idle threads spin"}]
    [line] = refusal(data)
    assert line.startswith("small.yaml: baseline: at concurrency 1 it breaks a rule: require threads <= $concurrency, ")


def test_a_baseline_that_a_rule_would_move_is_refused(data: Data, refusal: Refusal) -> None:
    data["rules"] = [{"imply": {"threads": 4}, "when": {"cache": "f16"}, "because": CHEAP}]
    assert refusal(data) == ["small.yaml: baseline: at concurrency 1 a rule implies another threads"]


def test_a_known_recipe_that_breaks_a_rule_is_refused(data: Data, refusal: Refusal) -> None:
    data["rules"] = [{"forbid": {"cache": "q4_0", "unified": False}, "because": CHEAP}]
    data["known"] = [{"name": "small cache", "set": {"cache": "q4_0"}}]
    [line] = refusal(data)
    assert line.startswith("small.yaml: known[0]: at concurrency 1 it breaks a rule: forbid cache is q4_0 and")


def test_a_derived_value_that_cannot_be_computed_at_the_baseline_is_refused(data: Data, refusal: Refusal) -> None:
    data["derived"] = {"a": {"env": "A", "value": {"div": [1, {"sub": ["$threads", 2]}]}}}
    assert refusal(data) == [
        "small.yaml: baseline: at concurrency 1 it breaks a rule: derived.a, because div [1, 0] divides by zero"
    ]
