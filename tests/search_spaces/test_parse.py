"""Files: what is found where, YAML's traps, messages that help, and nothing lost on the way out and in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from search_spaces import (
    SearchSpace,
    SpaceError,
    dump,
    load,
    load_recipe,
    names,
    read,
    recipe_text,
    resolve,
    schema,
    source,
    text,
)

Data = dict[str, Any]


def refused(path: Path, content: str) -> str:
    """Return the message with which the content of a file is refused."""
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SpaceError) as caught:
        read(path)
    return str(caught.value)


def test_every_shipped_space_loads() -> None:
    assert "demo" in names()
    for name in names():
        assert load(name).name == name


def test_an_unknown_space_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match=r"dmo: no such space; did you mean 'demo'\?"):
        load("dmo")


def test_a_path_works_wherever_a_name_does(data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kimik2.5-mi355x.yaml"
    dump(data, path)
    assert load(path).name == "kimik2.5-mi355x"
    assert load(str(path)).folder == tmp_path
    monkeypatch.chdir(tmp_path)
    assert load("kimik2.5-mi355x.yaml") == load(path)
    dump(data, tmp_path / "no-suffix")
    assert load("./no-suffix").name == "no-suffix"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"gone\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "gone.yaml")


@pytest.mark.parametrize("content", ["", "[]", "words"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SpaceError, match=r"a\.yaml: is no mapping of keys to values"):
        load(path)


def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    assert refused(tmp_path / "a.yaml", "a: 1\nb: [1,\n").startswith("a.yaml: line 3: ")


@pytest.mark.parametrize("content", ["a: 1\nb: 2\na: 3\n", "1: x\n2: x\n1: y\n"])
def test_a_key_that_is_there_twice_is_refused_with_its_line(tmp_path: Path, content: str) -> None:
    assert refused(tmp_path / "a.yaml", content).startswith("a.yaml: line 3: duplicate key ")


def test_a_document_that_contains_itself_is_refused(tmp_path: Path) -> None:
    assert "recursive" in refused(tmp_path / "a.yaml", "a: &a [*a]\n")


def test_a_document_that_names_a_python_object_is_refused(tmp_path: Path) -> None:
    assert "could not determine a constructor" in refused(tmp_path / "a.yaml", "a: !!python/name:os.system\n")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(SpaceError, match=r"a\.yaml: is no UTF-8 text"):
        read(path)
    assert "is no UTF-8 text" in refused(path, "a: \0\n")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("NO", "NO"),
        ("true", True),
        ("False", False),
        ("1:30", "1:30"),
        ("2026-11-30", "2026-11-30"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1e-5", 1e-5),
        ("1.", 1.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("<<", "<<"),
    ],
)
def test_a_scalar_is_read_as_yaml_1_2_has_it(tmp_path: Path, written: str, value: object) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"a: {written}\n", encoding="utf-8")
    assert read(path) == {"a": value}


def test_a_choice_of_on_off_and_auto_needs_no_quotes(data: Data, tmp_path: Path) -> None:
    data["knobs"]["flash"] = {"flag": "--flash-attn", "choice": ["on", "off", "auto"]}
    data["baseline"]["flash"] = "off"
    path = tmp_path / "small.yaml"
    path.write_text(text(data).replace("'", ""), encoding="utf-8")
    assert load(path).knobs["flash"].choice == ("on", "off", "auto")


@pytest.mark.parametrize(
    "value",
    [
        "on",
        "Off",
        "true",
        "1e-5",
        "010",
        "0o17",
        "1:30",
        "2026-11-30",
        "~",
        "",
        "null",
        "a: b",
        "ü",
        "1",
        1,
        1e-5,
        True,
    ],
)
def test_what_is_written_reads_the_same_in_yaml_1_1_and_1_2(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.yaml"
    dump({"a": [value]}, path)
    assert read(path) == {"a": [value]}
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == {"a": [value]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.yaml"]


def test_keys_keep_their_order() -> None:
    assert text({"b": 1, "a": [1, 2]}) == "b: 1\na:\n- 1\n- 2\n"


@pytest.mark.parametrize(
    ("where", "key", "line"),
    [
        ((), "knob", "unknown key 'knob'; did you mean 'knobs'?"),
        (("knobs", "threads"), "flags", "knobs.threads: unknown key 'flags'; did you mean 'flag'?"),
        (("knobs", "threads", "int"), "max", "knobs.threads.int: unknown key 'max'; known: low, high, step, log"),
        (("gate", "questions"), "serch", "gate[0].questions: unknown key 'serch'; did you mean 'search'?"),
        (
            ("target", "files", "weights"),
            "sha",
            "target.files.weights: unknown key 'sha'; did you mean 'sha256'?",
        ),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(
    data: Data, refusal: Callable[[Data], list[str]], where: tuple[str, ...], key: str, line: str
) -> None:
    place = data
    for part in where:
        place = place[part]
    place[key] = 1
    assert refusal(data) == [f"small.yaml: {line}"]


def test_an_unknown_key_in_a_list_is_answered_with_the_nearest(
    data: Data, refusal: Callable[[Data], list[str]]
) -> None:
    data["rules"] = [{"forbids": {"threads": 1}, "forbid": {"threads": 1}, "because": "x"}]
    assert refusal(data) == ["small.yaml: rules[0]: unknown key 'forbids'; did you mean 'forbid'?"]


def test_missing_keys_and_unknown_words_are_told_together(data: Data, refusal: Callable[[Data], list[str]]) -> None:
    del data["gate"]["task"]
    data["objective"] = {"metric": "total_tok_per_s"}
    data["knobs"]["tp"] = {"layout": "pt", "choice": [1, 2]}
    assert refusal(data) == [
        "small.yaml: knobs.tp.layout: 'pt' is unknown; known: tp, pp, dp, ep",
        "small.yaml: gate[0]: missing key 'task'",
        "small.yaml: objective.metric: 'total_tok_per_s' is unknown; did you mean 'total_tok_per_s_per_gpu'?",
    ]


@pytest.mark.parametrize("key", ["name", "folder"])
def test_a_file_does_not_say_where_it_was_found(data: Data, refusal: Callable[[Data], list[str]], key: str) -> None:
    assert refusal({**data, key: "x"}) == [
        f"small.yaml: {key}: remove it; the file itself gives the space its name and folder"
    ]


def test_memory_is_counted_on_known_hardware_only(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    data["memory"] = {"weights_gb": 1, "gpus": "$threads", "share": 0.9, "source": "a card"}
    dump(data, path)
    assert load(path).memory is not None
    dump({**data, "target": {**data["target"], "hardware": "mi355"}}, path)
    with pytest.raises(SpaceError) as caught:
        load(path)
    wrong = "small.yaml: target.hardware: mi355: unknown hardware; did you mean 'mi355x'?; or leave memory out"
    assert str(caught.value) == wrong


def test_a_trusted_file_may_set_any_variable(data: Data, tmp_path: Path) -> None:
    data["serve"]["env"] = {"LD_PRELOAD": "libjemalloc.so"}
    path = tmp_path / "small.yaml"
    dump(data, path)
    assert load(path, trusted=True).serve.env == {"LD_PRELOAD": "libjemalloc.so"}


def test_a_space_survives_being_written_to_another_file(vllm_like: SearchSpace, tmp_path: Path) -> None:
    path = tmp_path / "vllm_like.yaml"
    path.write_text(source(vllm_like), encoding="utf-8")
    assert load(path) == vllm_like.model_copy(update={"folder": tmp_path})


def test_a_recipe_survives_its_file(vllm_like: SearchSpace, tmp_path: Path) -> None:
    recipe = resolve(vllm_like, {"speculative": True, "async_scheduling": False})
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(recipe), encoding="utf-8")
    assert load_recipe(path) == recipe
    assert load_recipe(path).fingerprint == recipe.fingerprint


def test_a_recipe_that_may_run_other_code_is_refused(vllm_like: SearchSpace, tmp_path: Path) -> None:
    plain = resolve(vllm_like, {}).model_dump(mode="json")
    plain["overrides"]["64"]["env"]["LD_PRELOAD"] = "x"
    path = tmp_path / "recipe.yaml"
    dump(plain, path)
    with pytest.raises(SpaceError) as caught:
        load_recipe(path)
    assert str(caught.value) == (
        "recipe.yaml: overrides.64.env.LD_PRELOAD: LD_PRELOAD may run other code in the engine; "
        "remove it, or trust this file"
    )
    assert load_recipe(path, trusted=True).at(64).env["LD_PRELOAD"] == "x"


def test_a_recipe_with_an_unknown_key_is_refused(vllm_like: SearchSpace, tmp_path: Path) -> None:
    plain = resolve(vllm_like, {}).model_dump(mode="json")
    plain["serve"]["arg"] = []
    path = tmp_path / "recipe.yaml"
    dump(plain, path)
    with pytest.raises(SpaceError, match=r"recipe\.yaml: serve: unknown key 'arg'; did you mean 'args'\?"):
        load_recipe(path)


def test_the_schema_describes_the_keys_as_they_are_written() -> None:
    whole: Any = json.loads(json.dumps(schema()))
    assert "name" not in whole["properties"]
    assert {"int", "float", "json"} <= set(whole["$defs"]["Knob"]["properties"])
    assert whole["additionalProperties"] is False
