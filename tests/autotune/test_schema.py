"""The JSON Schema of space files: what `load` takes, an editor takes, and what it points at is what is wrong."""

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from search_spaces import load, names, read, schema
from tests.conftest import ROOT, Autotune

VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("name", names())
def test_every_space_that_is_shipped_keeps_to_it(name: str) -> None:
    assert list(VALIDATOR.iter_errors(read(load(name).folder / f"{name}.yaml"))) == []


def test_a_space_with_every_feature_keeps_to_it() -> None:
    assert list(VALIDATOR.iter_errors(read(ROOT / "tests/search_spaces/vllm_like.yaml"))) == []


def test_an_unknown_key_and_a_wrong_type_are_marked_where_they_are() -> None:
    space = read(load("demo").folder / "demo.yaml")
    assert isinstance(space, dict)
    space["workload"]["windows"] = "one"
    space["deadlines"]["ready"] = 3
    places = {".".join(map(str, error.absolute_path)) for error in VALIDATOR.iter_errors(space)}
    assert places == {"workload.windows", "deadlines"}


def test_the_command_writes_it_to_a_file_or_to_standard_output(autotune: Autotune, tmp_path: Path) -> None:
    printed = autotune("schema", cwd=tmp_path)
    assert (printed.returncode, json.loads(printed.stdout)) == (0, schema())
    written = autotune("schema", "-o", "space.schema.json", cwd=tmp_path)
    assert (written.returncode, written.stdout) == (0, "")
    assert json.loads((tmp_path / "space.schema.json").read_text()) == schema()
