"""What a gate asks and what comes back: requests, answers, and the exam that holds both sides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Endpoint = Literal["chat", "completions"]
"""Which of an engine's two doors the questions go through; scores of one say nothing about the other."""


class TaskError(Exception):
    """A task cannot be loaded or cannot serve as a gate; the message says which, where and what to do."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat; the role is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One question, ready to be sent.

    Attributes:
        prompt: A text for completions, the messages of a chat for the chat endpoint.
        until: Texts that end the answer; none of them is part of it.
        max_tokens: The cap on the answer's length.
        seed: Sent along, as lm-eval does.
        extra: What else the task sets for generation, name by name, such as `top_p`.
    """

    prompt: str | tuple[Message, ...]
    until: tuple[str, ...]
    max_tokens: int
    temperature: float
    seed: int
    extra: tuple[tuple[str, str | int | float | bool | None], ...] = ()

    @property
    def characters(self) -> int:
        """The length of the prompt, by which the longest question is found without a tokenizer."""
        texts = [self.prompt] if isinstance(self.prompt, str) else [message.content for message in self.prompt]
        return sum(map(len, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What one request brought.

    Attributes:
        finish_reason: The engine's word; "length" says that the cap cut the answer.
        error: Why there is no answer, or None.
        status: The HTTP status of an error, or None where the server said nothing.
        refused: The same request would be refused again (HTTP 4xx other than 408, 409 and 429): asking on is no use.
        retries: How often it was sent again after 408, 409 or 429.
    """

    text: str
    finish_reason: str | None
    completion_tokens: int | None
    error: str | None = None
    status: int | None = None
    refused: bool = False
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """
    What an exam is: the evaluator, the task file, every question, and how all of it was drawn.

    Attributes:
        task_sha256: Of the task's YAML file.
        questions_sha256: Of every prompt, cap, stop text and expected answer, in the data set's order.
        order: Seed of the permutation in which the questions are asked.
        fewshot_seed: Of the examples in the prompts.
    """

    task: str
    evaluator: str
    endpoint: Endpoint
    task_sha256: str
    questions_sha256: str
    questions: int
    order: str
    fewshot_seed: int


class Exam(Protocol):
    """A task with all its requests built, in the one order in which every arm is asked."""

    @property
    def source(self) -> str:
        """What it was loaded by: the task's name, or its file's path."""
        ...

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

    def solution(self, index: int) -> tuple[str, str]:
        """Return question `index` without its examples, and the text that answers it rightly: for a rehearsal."""
        ...

    def complete(self, index: int, text: str) -> bool:
        """Say whether every filter finds an answer in `text`, so that a cap after it cut nothing that counts."""
        ...
