"""One comparison over a grid of batches and contexts: where B begins to lose. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autotune.compare import LevelVerdict, Ratio
from search_spaces import Lengths, Recipe, Serve, SpaceError, Workload

MARGIN = 256
"""Tokens of context beside prompt and answer, as InferenceX leaves them."""
LONGEST = ("--max-model-len", "--context-length")
"""The flags that bound a sequence: of vLLM and ATOM, and of SGLang."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """So many sequences at once, each with a prompt of so many tokens."""

    batch: int
    context: int

    @property
    def tokens(self) -> int:
        """Of context in the whole batch."""
        return self.batch * self.context


@dataclass(frozen=True, slots=True)
class Found:
    """What was found at a cell."""

    cell: Cell
    ratio: Ratio
    verdict: LevelVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """
    Where B begins to lose, by tokens of context in the batch.

    Attributes:
        after: The most tokens, below `at`, at which no loss is claimed; None where there are none.
        at: The fewest at which a loss is claimed.
        everywhere: Whether one is claimed at every cell from there on.
        estimate: Where the measured change passes through 0 before that, on a line over the logarithm; None: nowhere.
    """

    after: int | None
    at: int
    everywhere: bool
    estimate: float | None


def cells(text: str) -> tuple[Cell, ...]:
    """
    Return the cells of `1x1000,16x50000`: batch x context.

    Raises:
        SpaceError: A word is none.
    """
    found = []
    for word in text.split(","):
        batch, _, context = word.strip().partition("x")
        if not (batch.isdigit() and context.isdigit() and int(batch) and int(context)):
            raise SpaceError(f"--context-sweep {text}: {word.strip()!r} is no cell; write BATCHxCONTEXT, as 16x50000")
        found.append(Cell(int(batch), int(context)))
    return tuple(dict.fromkeys(found))


def by_context(grid: Sequence[Cell]) -> dict[int, tuple[int, ...]]:
    """Return the batches of each context: one launch serves them all."""
    contexts = sorted({cell.context for cell in grid})
    return {context: tuple(sorted(c.batch for c in grid if c.context == context)) for context in contexts}


def at_context(workload: Workload, context: int, batches: Sequence[int]) -> Workload:
    """
    Return a workload with prompts of exactly so many tokens.

    Raises:
        SpaceError: Its prompts are listed in a file, or share a prefix.
    """
    if not isinstance(workload.shape, Lengths):
        raise SpaceError(f"--context-sweep draws prompts of a length; this workload is {workload.shape.words}")
    update = {"input_tokens": context, "concurrency": tuple(batches), "range_ratio": 1.0, "window_sd": {}}
    return workload.model_copy(update=update)


def stretched(recipe: Recipe) -> Recipe:
    """Return a recipe whose longest sequence, where a flag bounds it, holds its workload's prompt and answer."""
    shape = recipe.workload.shape
    if not isinstance(shape, Lengths):
        return recipe
    tokens = shape.input_tokens + shape.output_tokens + MARGIN
    overrides = {point: _stretched(serve, tokens) for point, serve in recipe.overrides.items()}
    return recipe.model_copy(update={"serve": _stretched(recipe.serve, tokens), "overrides": overrides})


def _stretched(serve: Serve, tokens: int) -> Serve:
    args = list(serve.args)
    for place, (flag, value) in enumerate(pairwise(serve.args), start=1):
        if flag in LONGEST and value.isdigit() and int(value) < tokens:
            args[place] = str(tokens)
    return serve.model_copy(update={"args": tuple(args)})


def crossover(found: Sequence[Found]) -> Crossover | None:
    """Return where B begins to lose; None where no loss is claimed."""
    lost = [each.cell.tokens for each in found if each.verdict.result == "loss"]
    if not lost:
        return None
    at = min(lost)
    return Crossover(
        after=max((each.cell.tokens for each in found if each.cell.tokens < at), default=None),
        at=at,
        everywhere=all(each.verdict.result == "loss" for each in found if each.cell.tokens >= at),
        estimate=next((zero for zero in _zeros(found) if zero <= at), None),
    )


def _zeros(found: Sequence[Found]) -> Iterator[float]:
    """Yield where the change falls through 0, the last such place first."""
    line = sorted(_means(found).items(), reverse=True)
    for (more, lower), (fewer, higher) in pairwise(line):
        if lower < 0 <= higher:
            share = higher / (higher - lower)
            yield math.exp(math.log(fewer) + share * (math.log(more) - math.log(fewer)))


def _means(found: Sequence[Found]) -> Mapping[int, float]:
    """Return the mean change by tokens: cells may have as many as each other."""
    changes: dict[int, list[float]] = {}
    for each in found:
        changes.setdefault(each.cell.tokens, []).append(each.ratio.change)
    return {tokens: sum(some) / len(some) for tokens, some in changes.items()}
