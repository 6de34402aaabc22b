"""What a gate asks and what comes back: requests, answers, and the exam that holds both sides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class TaskError(Exception):
    """A task cannot be loaded or cannot serve as a gate; the message says which, where and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt, ready to be sent as a completion.

    Attributes:
        until: Texts that end the answer; none of them is part of it.
        max_tokens: The cap on the answer's length.
    """

    prompt: str
    until: tuple[str, ...]
    max_tokens: int
    temperature: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one request brought.

    Attributes:
        finish_reason: The engine's word; "length" says that the cap cut the answer.
        error: Why there is no answer, or None.
        refused: The same request would be refused again (HTTP 4xx other than 408, 409 and 429): asking on is no use.
    """

    text: str
    finish_reason: str | None
    completion_tokens: int | None
    error: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes two verdicts comparable: the evaluator, the task file and every question.

    Attributes:
        task_sha256: Of the task's YAML file.
        questions_sha256: Of every prompt, cap, stop text and expected answer, in the data set's order.
    """

    task: str
    evaluator: str
    task_sha256: str
    questions_sha256: str
    questions: int


class Exam(Protocol):
    """A task with all its requests built, in the one order in which every arm is asked."""

    @property
    def identity(self) -> Identity:
        """What this exam is, for the evidence."""
        ...

    @property
    def filters(self) -> tuple[str, ...]:
        """Names of the ways to read an answer, such as strict-match and flexible-extract."""
        ...

    @property
    def questions(self) -> tuple[Request, ...]:
        """Every request, permuted; a prefix is a sample of the task."""
        ...

    def score(self, index: int, text: str) -> Mapping[str, bool]:
        """Say for each filter whether `text` answers question `index` rightly."""
        ...

    def complete(self, index: int, text: str) -> bool:
        """Say whether every filter finds an answer in `text`, so that a cap after it cut nothing that counts."""
        ...
