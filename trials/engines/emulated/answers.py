"""
What the emulated engine says: filler for a load, and to GSM8K's questions right answers as often as the landscape says.

Whether a question is answered right depends on the question and the config alone, never on when or how often it is
asked. The right answers come from a file in GSM8K's own form.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trials.engines.emulated.chance import share
from trials.engines.emulated.config import Config
from trials.engines.emulated.failures import accuracy
from trials.engines.emulated.landscape import Landscape

MARK = "####"
TAIL = re.compile(r"\s*(?:Answer|A)\s*:\s*$")
HEAD = re.compile(r"(?:Question|Q)\s*:")
WRONG = (-10, -5, -3, -2, -1, 1, 2, 3, 4, 5, 10, 12)
"""What a wrong answer is off by."""
FILLER = " tok"
OWN = 0.2
"""Share of questions on which configs agree by chance only: two of them then answer 1 % and 1 % differently, as batch-
dependent numerics do (1 to 3 % each way); invented."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """Questions and the texts that solve them, each with its number after `####`."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def find(self, prompt: str) -> tuple[str, str] | None:
        """Return the last question of a prompt and its solution; None where none is known."""
        asked = _last_question(prompt)
        if asked in self.texts:
            return asked, self.texts[asked]
        inside = [question for question in self.texts if question in asked]
        longest = max(inside, key=len, default=None)
        return None if longest is None else (longest, self.texts[longest])


def read_solutions(path: Path) -> Solutions:
    """
    Read JSON lines with `question` and `answer`.

    Raises:
        OSError: If there is no such file.
        ValueError: If a line is something else.
    """
    texts = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            texts[_last_question(row["question"])] = str(row["answer"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: no question with its answer: {line:.80}") from error
    return Solutions(texts)


@dataclass(frozen=True, slots=True)
class Answers:
    """What one config answers."""

    landscape: Landscape
    config: Config
    solutions: Solutions = field(default_factory=Solutions)

    def text(self, prompt: str) -> str:
        """Return the answer to a question."""
        found = self.solutions.find(prompt)
        if found is None:
            return f"{MARK} {int(1000 * share(prompt))}"
        question, solution = found
        return solution if self.right(question) else self._spoilt(question, solution)

    def right(self, question: str) -> bool:
        """Say whether this config solves a question: most are as hard for every config, some are luck of its own."""
        name, own = self.landscape.name, share("own", question, self.config) < OWN
        luck = share(name, question, self.config) if own else share(name, question)
        return luck < accuracy(self.landscape, self.config)

    def _spoilt(self, question: str, solution: str) -> str:
        """Return a solution that ends in another number."""
        reasoning, _, number = solution.rpartition(MARK)
        digits = re.sub(r"[^\d-]", "", number.partition(".")[0]) or "0"
        off = WRONG[int(len(WRONG) * share("off", question, self.config))]
        wrong = abs(int(digits) + off) if int(digits) >= 0 else int(digits) + off
        wrong += wrong == int(digits)
        return f"{reasoning}{MARK} {wrong}"


@dataclass(frozen=True, slots=True)
class Spoken:
    """
    An answer as its tokens.

    Attributes:
        words: One a token; None where all are filler.
        finish: Why it ends, as the API says it.
    """

    words: tuple[str, ...] | None
    tokens: int
    finish: str

    def piece(self, begin: int, end: int) -> str:
        """Return the text of some of its tokens."""
        return FILLER * (end - begin) if self.words is None else "".join(self.words[begin:end])


def filler(tokens: int) -> Spoken:
    """Return an answer of a given length."""
    return Spoken(None, tokens, "length")


def spoken(text: str, *, most: int, stops: tuple[str, ...]) -> Spoken:
    """Return an answer's tokens: up to the first stop text, and no more than `most`."""
    for stop in stops:
        text = text.partition(stop)[0]
    said = words(text) or [" "]
    return Spoken(tuple(said[:most]), min(most, len(said)), "length" if len(said) > most else "stop")


def words(text: str) -> list[str]:
    """Return a text cut into tokens: each a word with the space before it."""
    return re.findall(r"\s*\S+", text)


def count(text: str) -> int:
    """Return how many tokens a prompt has, about one a word."""
    return max(1, len(text.split()))


def _last_question(prompt: str) -> str:
    return _squeezed(TAIL.sub("", HEAD.split(prompt)[-1]))


def _squeezed(text: str) -> str:
    return " ".join(text.split())
