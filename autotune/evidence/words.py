"""The sentences of the evidence in each of its languages; one catalogue holds them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, cast

from search_spaces import read

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that can be told in any language: its name in the catalogue, and what is filled in."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


def said(key: str, **values: object) -> Said:
    """Return a sentence with its values."""
    return Said(key, values)


@dataclass(frozen=True, slots=True)
class Words:
    """One language; `tag` is its name as a document's language (BCP 47)."""

    language: Language
    tag: str

    def __call__(self, sentence: Said) -> str:
        """
        Return a sentence in this language.

        Raises:
            KeyError: The catalogue has no such sentence, or the sentence lacks a value.
        """
        values = {name: self._value(value) for name, value in sentence.values.items()}
        return catalogue()[sentence.key][self.language].format(**values)

    def _value(self, value: object) -> object:
        """Return what is filled in: a sentence, and each of several, in the same language."""
        if isinstance(value, Said):
            return self(value)
        if isinstance(value, tuple):
            return "; ".join(str(self._value(each)) for each in value)
        return value


ENGLISH, CHINESE = Words("en", "en"), Words("zh", "zh-CN")


@cache
def catalogue() -> Mapping[str, Mapping[Language, str]]:
    """Return every sentence by its name."""
    return cast("Mapping[str, Mapping[Language, str]]", read(Path(__file__).with_name("words.yaml")))
