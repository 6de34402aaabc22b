"""Reads what a workload lists in a file of its own, one JSON object a line: sessions of a trace, prompts of a user."""

import json
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from search_spaces.errors import SpaceError
from search_spaces.fields import Count, Frozen, NonNegative
from search_spaces.messages import explain


class Turn(Frozen):
    """One request of a session: tokens that are new in it, tokens of its answer, and the pause before it is sent."""

    input_tokens: Count
    output_tokens: Count
    pause_s: NonNegative = 0.0


class Conversation(Frozen):
    """One session of a trace: its turns in order."""

    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]


class ListedPrompt(Frozen):
    """One prompt of a user's own, and the tokens that are asked for."""

    prompt: Annotated[str, Field(min_length=1)]
    output_tokens: Count


Row = TypeVar("Row", Conversation, ListedPrompt)


def read_conversations(path: Path) -> tuple[Conversation, ...]:
    """
    Return the sessions of a trace.

    Raises:
        SpaceError: The file can't be read, or a line of it is none.
    """
    return _rows(path, Conversation)


def read_prompts(path: Path) -> tuple[ListedPrompt, ...]:
    """
    Return the prompts of a file.

    Raises:
        SpaceError: The file can't be read, or a line of it is none.
    """
    return _rows(path, ListedPrompt)


def _rows(path: Path, model: type[Row]) -> tuple[Row, ...]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise SpaceError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpaceError(f"{path.name}: is no UTF-8 text: {error.reason}") from error
    rows = tuple(
        _row(f"{path.name}: line {number}", line, model) for number, line in enumerate(lines, 1) if line.strip()
    )
    if not rows:
        raise SpaceError(f"{path.name}: is empty; write one JSON object a line")
    return rows


def _row(where: str, line: str, model: type[Row]) -> Row:
    try:
        return model.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise SpaceError(f"{where}: is no JSON: {error.msg} at column {error.colno}") from error
    except ValidationError as error:
        raise SpaceError("\n".join(f"{where}: {fault}" for fault in explain(model, error))) from error
