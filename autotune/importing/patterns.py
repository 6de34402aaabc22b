"""Bash's patterns, as in `case`, `[[ == ]]` and `${name#pattern}`: the plain ones; the others are not read."""

import re
from fnmatch import translate

from autotune.importing.shell import Undecided

STRANGE = re.compile(r"\\|\[[^\]]*[\^:\[]|[?*+@!]\(")
"""Escapes, negated and named classes, and extended patterns."""


def fits(text: str, pattern: str, source: str) -> bool:
    """
    Return whether a text fits a pattern.

    Args:
        text: The text.
        pattern: The pattern, its variables replaced.
        source: As it is written.

    Raises:
        Undecided: The pattern is not read.
    """
    return re.fullmatch(_read(pattern, source), text) is not None


def stripped(value: str, sign: str, pattern: str) -> str:
    """
    Return a text without the shortest or the longest beginning or end that fits a pattern.

    Raises:
        Undecided: The pattern is not read.
    """
    shape = re.compile(_read(pattern, pattern))
    cuts = range(len(value) + 1) if sign in {"#", "%%"} else range(len(value), -1, -1)
    for cut in cuts:
        removed, kept = (value[:cut], value[cut:]) if sign.startswith("#") else (value[cut:], value[:cut])
        if shape.match(removed):
            return kept
    return value


def _read(pattern: str, source: str) -> str:
    if STRANGE.search(pattern) or STRANGE.search(source):
        raise Undecided(f"`{source}` is a pattern that is not read")
    return translate(pattern)
