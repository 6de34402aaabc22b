"""What a user reads when a file is wrong: the key path, what is wrong with it, and the nearest right name."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from search_spaces.errors import nearest

Schema: TypeAlias = dict[str, Any]
SHAPE = ("workload", "shape")
"""Below it pydantic names the kind of shape before the key: no part of what the file has."""


def explain(model: type[BaseModel], error: ValidationError) -> list[str]:
    """Return a line for each thing that keeps a mapping from being this model."""
    return [line for details in error.errors() for line in _lines(model, details)]


def _lines(model: type[BaseModel], error: ErrorDetails) -> Iterator[str]:
    location = _written(error["loc"])
    context = error.get("ctx", {})
    if error["type"] == "faults":
        yield from (f"{fault.path}: {fault.message}" for fault in context["faults"])
        return
    match error["type"]:
        case "extra_forbidden":
            *location, key = location
            message = f"unknown key {key!r}{nearest(str(key), _keys(model, location))}"
        case "missing":
            *location, key = location
            message = f"missing key {key!r}"
        case "value_error":
            message = str(context["error"])
        case "union_tag_invalid":
            location = [*location, "kind"]
            message = f"{context['tag']!r} is unknown{nearest(context['tag'], _quoted(context['expected_tags']))}"
        case "union_tag_not_found":
            message = "missing key 'kind'"
        case "literal_error":
            message = f"{error['input']!r} is unknown{nearest(str(error['input']), _quoted(context['expected']))}"
        case _:
            message = f"{error['input']!r}: {error['msg'][0].lower()}{error['msg'][1:]}"
    yield f"{_dotted(location)}: {message}" if location else message


def _written(location: tuple[int | str, ...]) -> list[int | str]:
    """Return a location as the file has it."""
    own = location[: len(SHAPE)] + location[len(SHAPE) + 1 :] if location[: len(SHAPE)] == SHAPE else location
    return [part for part in own if part != "[key]"]


def _quoted(words: object) -> list[str]:
    return re.findall(r"'([^']*)'", str(words))


def _dotted(location: Sequence[object]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _keys(model: type[BaseModel], location: Sequence[object]) -> list[str]:
    whole = model.model_json_schema()
    here = _objects(whole, whole)
    for part in location:
        here = [each for schema in here for below in _below(schema, part) for each in _objects(whole, below)]
    return [key for schema in here for key in schema.get("properties", {})]


def _objects(whole: Schema, schema: Schema) -> list[Schema]:
    if "$ref" in schema:
        return _objects(whole, whole["$defs"][schema["$ref"].rpartition("/")[2]])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return [each for option in options for each in _objects(whole, option)]
    return [schema]


def _below(schema: Schema, part: object) -> list[Schema]:
    if part in schema.get("properties", {}):
        return [schema["properties"][part]]
    below = [schema.get("items"), schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    return [each for each in below if isinstance(each, dict)]
