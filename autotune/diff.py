"""What differs between two ways to serve, at each concurrency: every option and every variable, by content."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["engine", "image", "model", "env", "option", "file"]
Point: TypeAlias = int | None
"""A concurrency; None where neither side knows any."""


@dataclass(frozen=True)
class Served:
    """
    How a server is started, with one name for each option and values by content.

    Attributes:
        model: None where it is not told, as is the image; what is not told is not compared.
        env: A variable that is None is taken away: it is as one that nothing sets.
        defaults: What an option is that is left out, where that is known.
        files: The text of each file that the server is told of.
    """

    engine: str
    image: str | None
    model: str | None
    env: Mapping[str, str | None]
    options: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """
    One thing that differs.

    Attributes:
        left: None where it is not there.
        by_default: It comes to the same by the engine's default.
    """

    kind: Kind
    name: str
    left: str | None
    right: str | None
    by_default: bool = False


def differences(left: Served, right: Served) -> tuple[Difference, ...]:
    """Return what differs: first what is served, then the options, the variables and the files, each by name."""
    return (
        *_told("engine", left.engine, right.engine),
        *_told("image", left.image, right.image),
        *_told("model", left.model, right.model),
        *_options(left, right),
        *_each("env", _given(left.env), _given(right.env)),
        *_each("file", _by_content(left.files), _by_content(right.files)),
    )


def grouped(
    points: Mapping[Point, Sequence[Difference]],
) -> list[tuple[tuple[Point, ...], tuple[Difference, ...]]]:
    """Return the differences with the concurrencies that have them, the most common first."""
    where: dict[Difference, tuple[Point, ...]] = {}
    for point, found in points.items():
        for difference in found:
            where[difference] = (*where.get(difference, ()), point)
    groups: dict[tuple[Point, ...], tuple[Difference, ...]] = {}
    for difference, at in where.items():
        groups[at] = (*groups.get(at, ()), difference)
    return sorted(groups.items(), key=lambda group: -len(group[0]))


def _told(kind: Kind, left: str | None, right: str | None) -> Iterator[Difference]:
    if left is not None and right is not None and left != right:
        yield Difference(kind, "", left, right)


def _options(left: Served, right: Served) -> Iterator[Difference]:
    for found in _each("option", left.options, right.options):
        if found.left is None and found.right == left.defaults.get(found.name):
            yield Difference("option", found.name, None, found.right, by_default=True)
        elif found.right is None and found.left == right.defaults.get(found.name):
            yield Difference("option", found.name, found.left, None, by_default=True)
        else:
            yield found


def _each(kind: Kind, left: Mapping[str, str], right: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*left, *right}):
        if left.get(name) != right.get(name):
            yield Difference(kind, name, left.get(name), right.get(name))


def _given(env: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in env.items() if value is not None}


def _by_content(files: Mapping[str, str]) -> dict[str, str]:
    """Return files by their name and content: JSON without its layout, and without the folder that it is in."""
    return {path.rpartition("/")[2]: _compact(text) for path, text in files.items()}


def _compact(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()
