"""What is asked of an engine beside what it says that it runs: a setting that it ignores was never tried. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trials.engines.adapter import Engine, Reading, Setting

NUMBER = re.compile(r"(-?(?:\d[\d,]*\.?\d*|\.\d+))([kmgKMG]?)")
SIZES: Mapping[str, int] = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
"""As help-all.txt of vLLM has them: `1k` is 1,000 and `1K` is 1,024."""
UNKNOWN = "no variable that the engine knows"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """
    A setting that did not take effect.

    Attributes:
        setting: The option, with `.key` where it takes a JSON object, or the variable.
        effective: What runs, in the engine's words.
    """

    setting: str
    asked: str
    effective: str


def mismatches(engine: Engine, args: Sequence[str], env: Mapping[str, str | None], said: str) -> tuple[Mismatch, ...]:
    """Return what was asked of an engine that `said` so of itself and is otherwise, each setting once."""
    unknown = _unknown(engine.unknown_variable, env, said)
    otherwise = compared(engine.settings, asked(args, env), engine.effective(said) or {})
    return tuple({each.setting: each for each in (*unknown, *otherwise)}.values())


def compared(
    settings: Mapping[str, Setting], asked: Mapping[str, str], effective: Mapping[str, str]
) -> tuple[Mismatch, ...]:
    """
    Return each setting that was asked for and that the engine says it runs otherwise.

    What was not asked for, and what the engine does not tell, is no mismatch.

    Args:
        settings: How to ask for what a reading tells, by the reading's name.
        asked: Values by option and by variable.
        effective: What the engine says, by the reading's name.
    """
    return tuple(
        Mismatch(key, asked[key], effective[name])
        for name, setting in settings.items()
        if name in effective
        for key in setting.keys
        if key in asked and not _alike(setting, asked[key], effective[name])
    )


def asked(args: Sequence[str], env: Mapping[str, str | None]) -> dict[str, str]:
    """
    Return the values of a command line's options and of variables; the last one of a name counts.

    Dashes stand for underscores, a switch is `True` or, with `--no-` before its name, `False`, and each key of a JSON
    object is an option of its own.
    """
    found: dict[str, str] = {}
    for word, following in pairwise([*args, "--"]):
        if _is_option(word):
            name, assigned, value = word.partition("=")
            given = value if assigned else None if _is_option(following) else following
            found |= _values(name, given)
    return found | {name: value for name, value in env.items() if value is not None}


def _values(name: str, value: str | None) -> dict[str, str]:
    base, dot, key = name.partition(".")
    option = base.replace("_", "-") + dot + key
    if value is None:
        return {f"--{option[5:]}": "False"} if option.startswith("--no-") else {option: "True"}
    if not value.startswith("{"):
        return {option: value}
    try:
        keys = json.loads(value)
    except ValueError:
        return {option: value}
    return {f"{option}.{key}": inner if isinstance(inner, str) else json.dumps(inner) for key, inner in keys.items()}


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not NUMBER.fullmatch(word)


def _alike(setting: Setting, asked: str, said: str) -> bool:
    """Say whether the engine does as it was asked, or was left to choose."""
    same = {one.casefold(): other.casefold() for one, other in setting.words.items()}
    one, other = (same.get(value.casefold(), value.casefold()) for value in (asked, said))
    return asked in setting.open or one == other or _number(asked) == _number(said) is not None


def _number(text: str) -> float | None:
    found = NUMBER.fullmatch(text)
    return float(found[1].replace(",", "")) * SIZES.get(found[2], 1) if found else None


def _unknown(line: Reading | None, env: Mapping[str, str | None], said: str) -> Iterator[Mismatch]:
    """Yield the variables that were set and that the engine says it does not know."""
    for name in dict.fromkeys(re.findall(line.regex, said) if line else ()):
        if value := env.get(name):
            yield Mismatch(name, value, UNKNOWN)
