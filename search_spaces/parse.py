"""Reads and writes every YAML file of ours; an error names the file, the key path and the nearest right name."""

import re
from collections.abc import Hashable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from search_spaces.check import unsafe_variables
from search_spaces.errors import SpaceError, nearest
from search_spaces.gate import Thresholds
from search_spaces.hardware import Hardware
from search_spaces.messages import explain
from search_spaces.recipe import Recipe
from search_spaces.space import SearchSpace

SUFFIXES = (".yaml", ".yml")
HARDWARE = "hardware.yaml"
THRESHOLDS = "thresholds.yaml"
NOT_SPACES = (HARDWARE, THRESHOLDS)
FOUND = ("name", "folder")
"""Fields that say where a space was found: the file may not claim them."""

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """YAML 1.2's scalars: on, off, yes, no, 1:30 and 2026-11-30 are words, 1e-5 is a number; no key twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 as PyYAML declares it

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 PyYAML's signature
        """Return the mapping; raise ConstructorError when a key is there twice."""
        keys: list[object] = []
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            keys.append(key)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """Quotes a word that YAML 1.1 or 1.2 would read as something else."""


_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
)
for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _whole_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    written = str(loader.construct_scalar(node))
    return int(written, {"0o": 8, "0x": 16}.get(written[:2], 10))


_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


def names() -> list[str]:
    """Return the names of the spaces that are shipped, in alphabetical order."""
    shipped = (entry.name for entry in files("search_spaces").iterdir())
    return sorted(name.removesuffix(".yaml") for name in shipped if name.endswith(".yaml") and name not in NOT_SPACES)


def load(name_or_path: str | Path, *, trusted: bool = False) -> SearchSpace:
    """
    Return a shipped space by its name, or the space of a file.

    Args:
        name_or_path: A path if it contains a slash or ends in .yaml or .yml.
        trusted: Whether the file may set variables that run other code in the engine.

    Raises:
        SpaceError: There is no such space, or the file is wrong.

    """
    path = _locate(name_or_path)
    data = _mapping(path)
    if claimed := [key for key in FOUND if key in data]:
        raise SpaceError(f"{path.name}: {claimed[0]}: remove it; the file itself gives the space its name and folder")
    found = {"name": _stem(path), "folder": path.parent.resolve()}
    space = _validated(SearchSpace, {**_with_thresholds(data), **found}, path, trusted=trusted)
    if space.memory is not None:
        _known(path, space.target.hardware)
    return space


def hardware_of(name: str) -> Hardware:
    """
    Return what this kind of node has.

    Raises:
        SpaceError: It is not known.
    """
    path = Path(str(files("search_spaces"))) / HARDWARE
    nodes = _mapping(path)
    if name not in nodes:
        raise SpaceError(f"{name}: unknown hardware{nearest(name, nodes)}")
    entry = nodes[name]
    return _validated(Hardware, entry if isinstance(entry, dict) else {}, path, trusted=True)


def thresholds() -> Thresholds:
    """Return the known thresholds of tasks and models."""
    path = Path(str(files("search_spaces"))) / THRESHOLDS
    return _validated(Thresholds, _mapping(path), path, trusted=True)


def source(space: SearchSpace) -> str:
    """Return a file that `load` reads back as this space, whatever became of the file that it came from."""
    return text(space.model_dump(mode="json", exclude=set(FOUND), exclude_defaults=True))


def load_recipe(path: Path, *, trusted: bool = False) -> Recipe:
    """
    Return the recipe of a file.

    Raises:
        SpaceError: There is no such file, or it is wrong.

    """
    recipe = _validated(Recipe, _mapping(path), path, trusted=trusted)
    serves = {"serve": recipe.serve} | {f"overrides.{point}": serve for point, serve in recipe.overrides.items()}
    variables = [(f"{where}.env.{name}", name) for where, serve in serves.items() for name in serve.env]
    if not trusted and (faults := unsafe_variables(variables)):
        raise SpaceError("\n".join(f"{path.name}: {fault.path}: {fault.message}" for fault in faults))
    return recipe


def recipe_text(recipe: Recipe) -> str:
    """Return the file that `load_recipe` reads back without loss."""
    return text(recipe.model_dump(mode="json"))


def schema() -> dict[str, object]:
    """Return the JSON Schema of space files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SearchSpace.model_json_schema()}


def text(value: object) -> str:
    """Return plain data as YAML, keys in their own order."""
    dumped: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return dumped


def dump(value: object, path: Path) -> None:
    """Replace `path` by plain data as YAML: a reader sees the old file or the new one, never half of it."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text(value), encoding="utf-8")
    part.replace(path)


def read(path: Path) -> object:
    """
    Return the plain data of a YAML file.

    Raises:
        SpaceError: The file cannot be read, is no YAML, or has a key twice.

    """
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpaceError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.reader.ReaderError) as error:
        raise SpaceError(f"{path.name}: is no UTF-8 text: {error.reason}") from error
    try:
        node = loader.get_single_node()
        return None if node is None else loader.construct_object(node, deep=True)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "somewhere"
        raise SpaceError(f"{path.name}: {line}: {error.problem}") from error
    finally:
        loader.dispose()


def _locate(name_or_path: str | Path) -> Path:
    written = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in written or written.endswith(SUFFIXES):
        return Path(name_or_path)
    if written not in names():
        raise SpaceError(f"{written}: no such space{nearest(written, names())}")
    return Path(str(files("search_spaces"))) / f"{written}.yaml"


def _known(path: Path, hardware: str) -> None:
    """Refuse a space whose memory is to be counted on a node that is not known."""
    try:
        hardware_of(hardware)
    except SpaceError as error:
        raise SpaceError(f"{path.name}: target.hardware: {error}; or leave memory out") from None


def _stem(path: Path) -> str:
    return next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), path.name)


def _mapping(path: Path) -> dict[str, object]:
    data = read(path)
    if not isinstance(data, dict):
        raise SpaceError(f"{path.name}: is no mapping of keys to values")
    return data


def _with_thresholds(data: Mapping[str, object]) -> dict[str, object]:
    """Fill in the threshold that a gate leaves out, where it is known; what is misshapen is left for the check."""
    target, gates, known = data.get("target"), data.get("gate"), thresholds()
    model = str(target.get("model")) if isinstance(target, dict) else ""

    def filled(gate: object) -> object:
        if not isinstance(gate, dict) or "threshold" in gate:
            return gate
        least = known.of(str(gate.get("task")), model)
        return gate if least is None else {**gate, "threshold": least}

    if isinstance(gates, list):
        return {**data, "gate": [filled(each) for each in gates]}
    return {**data, "gate": filled(gates)} if gates else dict(data)


def _validated(model: type[Model], data: Mapping[str, object], path: Path, *, trusted: bool) -> Model:
    try:
        return model.model_validate(data, context={"trusted": trusted})
    except ValidationError as error:
        raise SpaceError("\n".join(f"{path.name}: {line}" for line in explain(model, error))) from error
