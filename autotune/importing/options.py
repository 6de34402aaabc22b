"""What the arguments of a server say, however they are written: one name for each option, and values by content."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

from pydantic import Field

from autotune.importing.shell import Known, Unknown, Value
from search_spaces import SpaceError, read
from search_spaces.fields import Frozen
from search_spaces.knob import LayoutName

NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
POINT = re.compile(r"-?(\.\d+|\d+\.)")
"""Numbers that JSON wants to have digits on both sides of."""
SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgKMG])")
WITHOUT_OPTION = "argument"
SERVED = ("--served-model-name", "--alias")
FACTORS: Mapping[str, int] = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


class Option(Frozen):
    """
    One option of an engine.

    Attributes:
        short: Another name.
        long: A third name.
        switch: It takes no value, and `--no-` in front says false.
        several: It takes any number of values.
        again: Each time that it stands there adds to it.
        size: `1k` is 1,000 and `1K` is 1,024.
        default: As the engine tells it; None where it has none or does not tell.
    """

    short: str | None = None
    long: str | None = None
    switch: bool = False
    several: bool = False
    again: bool = False
    size: bool = False
    default: object = None


class Vocabulary(Frozen):
    """
    The options of an engine that are known; the others are read by their looks.

    Attributes:
        weights: The options that name the weights; the first is what a word without an option is.
        ours: Where the API is, what it calls the model and whether it counts: autotune says that itself.
        layout: Dimensions of the layout by the option that sets them.
        levels: Letters that a digit follows, by the option that they stand for.
    """

    version: str
    source: str
    weights: tuple[str, ...]
    ours: tuple[str, ...]
    layout: dict[str, LayoutName]
    levels: dict[str, str] = Field(default_factory=dict)
    options: dict[str, Option]

    def named(self, name: str) -> str:
        """Return the one name of an option: dashes for underscores, the long for the short form."""
        dashed = "--" + name[2:].replace("_", "-") if name.startswith("--") else name
        if dashed in self.options:
            return dashed
        return next((own for own, option in self.options.items() if dashed in {option.short, option.long}), dashed)

    @property
    def defaults(self) -> dict[str, str]:
        """What each option is when it is left out, as `shown` writes it, where that is known."""
        known = {name: option.default for name, option in self.options.items() if option.default is not None}
        return {name: shown(_plain(default)) for name, default in known.items()}


@dataclass(frozen=True)
class Occurrence:
    """
    An option as it stands on a command line.

    Attributes:
        name: The one name of it; of `--config.key` that of `--config`, then the key.
        words: As they were written, the option first; of the weights without an option only those.
        values: What it is set to; none for a switch.
        negated: It was written with `--no-`.
    """

    name: str
    words: tuple[Value, ...]
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True)
class Options:
    """
    What the arguments of a server say.

    Attributes:
        weights: The folder or the id of the model; None where no argument says.
        settings: The content of each option; keys of JSON objects count as options of their own.
    """

    weights: str | None
    settings: Mapping[str, str]


@cache
def vocabulary(engine: str) -> Vocabulary:
    """
    Return the options of an engine.

    Raises:
        SpaceError: No engine is called so.
    """
    path = Path(str(files("autotune.importing"))) / f"{engine}.yaml"
    if not path.is_file():
        raise SpaceError(f"no engine is called {engine!r} here, so its options can't be told apart")
    return Vocabulary.model_validate(read(path))


def occurrences(engine: str, args: Sequence[Value]) -> Iterator[Occurrence]:
    """Yield the options of a command line in order, without those that autotune sets itself."""
    ours = vocabulary(engine).ours
    return (found for found in _all(engine, args) if found.name not in ours)


def _all(engine: str, args: Sequence[Value]) -> Iterator[Occurrence]:
    words = vocabulary(engine)
    place = 0
    while place < len(args):
        found = _occurrence(words, args, place)
        place += len(found.words)
        yield found


def options(engine: str, args: Sequence[Value]) -> Options:
    """Return what the arguments of a server say; of an option that stands there twice the last counts."""
    words = vocabulary(engine)
    settings: dict[str, str] = {}
    weights = None
    for found in occurrences(engine, args):
        if found.name in words.weights:
            weights = " ".join(value.text for value in found.values) or None
            continue
        option = words.options.get(found.name, Option())
        before = settings.get(found.name)
        if "." not in found.name:
            settings = {name: value for name, value in settings.items() if name.partition(".")[0] != found.name}
        told = dict(_settings(found, option))
        if option.again and before is not None:
            told[found.name] = f"{before} {told[found.name]}"
        settings |= told
    return Options(weights, settings)


def served_as(engine: str, args: Sequence[Value]) -> str | None:
    """Return the name under which a server is told to serve its model."""
    found = {each.name: each for each in _all(engine, args)}
    named = next((found[name] for name in SERVED if name in found), None)
    return named.values[0].text if named and named.values and isinstance(named.values[0], Known) else None


def content(text: str, *, size: bool = False) -> object:
    """Return what a word says: a number, a truth value or JSON as data, anything else as it is."""
    if size and (found := SIZE.fullmatch(text)):
        return int(float(found[1]) * FACTORS[found[2]])
    if POINT.fullmatch(text):
        return _plain(float(text))
    try:
        return _plain(json.loads(text.lower() if text in {"True", "False"} else text))
    except (ValueError, RecursionError):
        return text


def shown(value: object) -> str:
    """Return data as a word: a text that would be read as something else in quotes."""
    return value if isinstance(value, str) and content(value) == value else json.dumps(value, sort_keys=True)


def _plain(value: object) -> object:
    """Return data whose whole numbers are integers, however they were written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _settings(found: Occurrence, option: Option) -> Iterator[tuple[str, str]]:
    """Yield what an option is set to, and each key of a JSON object apart."""
    if not found.values:
        yield found.name, shown(not found.negated)
    elif any(isinstance(value, Unknown) for value in found.values):
        yield found.name, " ".join(value.text for value in found.values)
    elif option.several or len(found.values) > 1:
        yield found.name, shown([content(value.text) for value in found.values])
    else:
        yield from _keys(found.name, content(found.values[0].text, size=option.size))


def _keys(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _keys(f"{name}.{key}", inner)
    else:
        yield name, shown(value)


def _occurrence(words: Vocabulary, args: Sequence[Value], place: int) -> Occurrence:
    """Read the option at a place, with its values."""
    word = args[place]
    if not _is_option(word):
        names_weights = words.weights and (place == 0 or isinstance(word, Known))
        return Occurrence(words.weights[0] if names_weights else WITHOUT_OPTION, (word,), (word,))
    written, equals, inline = word.text.partition("=")
    if written[:2] in words.levels and written[2:].isdigit():
        return Occurrence(words.levels[written[:2]], (word,), (Known(written[2:]),))
    base, dot, key = written.partition(".")
    name = words.levels.get(base) or words.named(base)
    if name not in words.options and name.startswith("--no-") and not equals:
        return Occurrence(words.named(f"--{name[5:]}"), (word,), (), negated=True)
    if equals:
        value = Unknown(inline, word.because) if isinstance(word, Unknown) else Known(inline, word.absent)
        return Occurrence(name + dot + key, (word,), (value,))
    known = words.options.get(name)
    most = len(args) if known is None or known.several else int(not known.switch)
    following = list(takewhile(lambda value: not _is_option(value), args[place + 1 :]))[:most]
    values = following[:1] + list(takewhile(lambda value: isinstance(value, Known), following[1:]))
    return Occurrence(name + dot + key, (word, *values), tuple(values))


def _is_option(word: Value) -> bool:
    return len(word.text) > 1 and word.text.startswith("-") and not NUMBER.fullmatch(word.text)
