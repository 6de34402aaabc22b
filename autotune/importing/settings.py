"""What is set at each concurrency, option by option and variable by variable: alike everywhere, or a knob."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.importing.launch import Launch, mention
from autotune.importing.options import Occurrence, occurrences, options, vocabulary
from autotune.importing.shell import Unknown, Value
from search_spaces import Scalar, SpaceError
from search_spaces.fields import UNSET


@dataclass(frozen=True)
class Setting:
    """
    An option, a variable or a dimension of the layout.

    Attributes:
        name: Of the option or the variable.
        place: As a knob has it: `{flag: --name}`, `{switch: --name}`, `{env: NAME}` or `{layout: tp}`.
        values: At each concurrency; `unset` where it is not there.
        words: What stands on the command line where it is alike everywhere; none for a variable.
    """

    name: str
    place: Mapping[str, str]
    values: Mapping[int, Scalar]
    words: tuple[str, ...] = ()

    @property
    def first(self) -> Scalar:
        """The value at the first concurrency."""
        return next(iter(self.values.values()))

    @property
    def fixed(self) -> bool:
        """Whether it is alike everywhere; a dimension counts the GPUs, and is a knob all the same."""
        return "layout" not in self.place and len({(type(value), value) for value in self.values.values()}) == 1

    @property
    def knob(self) -> str:
        """A name for a knob."""
        name = re.sub(r"\W", "_", self.place.get("layout", self.name)).lower().strip("_")
        return name if name[:1].isalpha() else f"knob_{name}"


def dimensions(launches: Mapping[int, Launch]) -> list[Setting]:
    """Return the dimensions of the layout that are set, and tensor parallelism in any case."""
    known = vocabulary(next(iter(launches.values())).engine).layout
    found: dict[str, dict[int, Scalar]] = {"tp": {}}
    for concurrency, launch in launches.items():
        settings = options(launch.engine, launch.args).settings
        for name, dimension in known.items():
            if settings.get(name, "").isdigit():
                found.setdefault(dimension, {})[concurrency] = int(settings[name])
    return [
        Setting(name, {"layout": name}, {concurrency: values.get(concurrency, 1) for concurrency in launches})
        for name, values in found.items()
    ]


def flags(launches: Mapping[int, Launch], files: Mapping[str, str]) -> list[Setting]:
    """
    Return the options, but not the layout and the weights, nor what is not known whole.

    Args:
        files: What to write in place of a path.

    Raises:
        SpaceError: An option differs in a way that no knob can hold.
    """
    found: dict[str, dict[int, list[Occurrence]]] = {}
    for concurrency, launch in launches.items():
        words = vocabulary(launch.engine)
        for each in occurrences(launch.engine, launch.args):
            if not (each.name in words.weights or _is_size(each, words.layout) or _unclear(each.words)):
                found.setdefault(each.name, {}).setdefault(concurrency, []).append(each)
    return [_flag(name, points, list(launches), files) for name, points in found.items()]


def variables(launches: Mapping[int, Launch], files: Mapping[str, str]) -> list[Setting]:
    """Return the variables that are known whole; one that a script takes away is `unset`."""
    names = dict.fromkeys(name for launch in launches.values() for name in launch.env)
    found = []
    for name in names:
        values = {concurrency: launch.env.get(name) for concurrency, launch in launches.items()}
        if not _unclear([value for value in values.values() if value is not None]):
            told = {point: UNSET if value is None else _put(value.text, files) for point, value in values.items()}
            found.append(Setting(name, {"env": name}, told))
    return found


def _is_size(option: Occurrence, layout: Mapping[str, str]) -> bool:
    return option.name in layout and len(option.values) == 1 and option.values[0].text.isdigit()


def _unclear(values: Sequence[Value]) -> bool:
    return any(isinstance(value, Unknown) or value.absent for value in values)


def _put(text: str, files: Mapping[str, str]) -> str:
    for path, name in files.items():
        text = mention(path).sub(name, text)
    return text


def _flag(
    name: str, points: Mapping[int, Sequence[Occurrence]], ladder: Sequence[int], files: Mapping[str, str]
) -> Setting:
    """Return an option as it stands at each concurrency."""
    written = {
        point: tuple(_put(word.text, files) for each in found for word in each.words) for point, found in points.items()
    }
    words = next(iter(written.values()))
    if len(written) == len(ladder) and len(set(written.values())) == 1:
        return Setting(name, {"flag": name}, dict.fromkeys(ladder, " ".join(words)), words)
    found = [each[-1] for each in points.values()]
    own = found[0].words[0].text.partition("=")[0]
    if all(not each.values for each in found):
        positive = re.sub("^--no-", "--", own) if found[0].negated else own
        switched = {point: not each[-1].negated for point, each in points.items()}
        return Setting(name, {"switch": positive}, {point: switched.get(point, UNSET) for point in ladder})
    if all(len(each) == 1 and len(each[0].values) == 1 for each in points.values()):
        values = {point: _typed(_put(each[0].values[0].text, files)) for point, each in points.items()}
        return Setting(name, {"flag": own}, {point: values.get(point, UNSET) for point in ladder})
    raise SpaceError(f"{name} differs by concurrency in a way that no knob can hold; import one concurrency at a time")


def _typed(text: str) -> Scalar:
    """Return a number where a text is one, so that the knob can become a range."""
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text
