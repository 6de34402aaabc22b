"""What a run sends and when: lengths and arrivals drawn from a seed, contents that no other run has sent."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

import numpy as np

from search_spaces import Conversation, Prompts, SharedPrefix, Trace, Workload, read_conversations, read_prompts
from trials.load.words import WORDS

NONCE_LETTERS = 8  # of 32: any two of 10,000 prompts begin alike in one of 20,000 runs
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """
    One request to be sent.

    Attributes:
        prompt: Text, or the ids of its tokens.
        input_tokens: Tokens of the prompt; None where it is text, whose tokens only the server can count.
        pause_s: Seconds to wait before it is sent, from the end of the turn that it follows.
    """

    prompt: str | tuple[int, ...]
    input_tokens: int | None
    output_tokens: int
    pause_s: float = 0.0


Session = tuple[Planned, ...]
"""Requests that follow one another: one, or the turns of a conversation."""


def sessions(
    workload: Workload, *, concurrency: int, waves: int, seed: str, contents: str, file: Path | None = None
) -> list[Session]:
    """
    Return the `waves` x `concurrency` sessions of a run.

    Equal seeds give equal lengths, with equal contents equal prompts. Prompts share no more than the workload means
    them to. A shared prefix is the same in all runs of a point: the warm-up leaves it hot. A turn of a trace repeats
    the turns before it; the answers in it are stand-ins as long as those asked for, because what the server will
    answer is not known beforehand, so that a cache can serve it the prompt of the turn before and not the answer.

    Args:
        contents: Which run of the seed it is: every run that one engine gets must have its own.
        file: Where the file of a trace or of prompts is; None for other shapes.

    Raises:
        SpaceError: If the file is not what it should be.
    """
    pen = _Pen(workload.token_ids, f"{seed}/{concurrency}/{contents}")
    if isinstance(workload.shape, Prompts):
        return [(each,) for each in _listed(workload.shape, concurrency * waves, f"{seed}/{concurrency}", pen, file)]
    prefix = _Pen(workload.token_ids, f"{seed}/{concurrency}/prefix").write(_prefix_tokens(workload))
    drawn = _lengths(workload, concurrency * waves, f"{seed}/{concurrency}", file)
    return [tuple(_requests(turns, prefix, pen)) for turns in drawn]


def arrivals(workload: Workload, count: int, seed: str) -> tuple[float, ...] | None:
    """
    Return when each of `count` sessions arrives, in seconds after the start; None for a closed loop.

    Gaps follow the gamma distribution whose shape is the burstiness (its coefficient of variation is one over the
    root of it), and are scaled so that the last session arrives when the rate says: each seed offers the same load.

    Source: vLLM 0.33, vllm/benchmarks/serve.py, get_request.
    """
    if workload.request_rate is None:
        return None
    draw = _draw(f"{seed}/arrivals")
    gaps = [draw.gammavariate(workload.burstiness, 1.0) for _ in range(count)]
    scale = count / workload.request_rate / sum(gaps)
    return tuple(scale * moment for moment in itertools.accumulate(gaps))


def prefix_share(
    workload: Workload, *, concurrency: int, waves: int, seed: str, file: Path | None = None
) -> float | None:
    """
    Return the most of a run's prompt tokens that a prefix cache should serve; None where nothing says.

    That is the prefix over the prompt where one is shared, and in a trace the prompt of the turn before.
    """
    if isinstance(workload.shape, Prompts):
        return 0.0 if workload.shape.nonce else None
    sent = _sent(workload, concurrency * waves, f"{seed}/{concurrency}", file)
    return sum(sum(each[:-1]) for each in sent) / sum(sum(each[1:]) for each in sent)


def words_sent(
    workload: Workload, *, concurrency: int, waves: int, seed: str, file: Path | None = None
) -> float | None:
    """Return how many words of ours a run's prompts have on average; None where they are ids or a user's own text."""
    if workload.token_ids or isinstance(workload.shape, Prompts):
        return None
    sent = _sent(workload, concurrency * waves, f"{seed}/{concurrency}", file)
    return fmean(itertools.chain.from_iterable(each[1:] for each in sent))


def _sent(workload: Workload, count: int, seed: str, file: Path | None) -> list[list[int]]:
    """Return for each session the tokens of its shared prefix, then of each of its prompts."""
    prefix = _prefix_tokens(workload)
    return [
        list(itertools.accumulate((turn.before + turn.own for turn in turns), initial=prefix))
        for turns in _lengths(workload, count, seed, file)
    ]


def largest(workload: Workload, *, seed: str, file: Path | None = None) -> Planned:
    """
    Return a request with as many tokens, in and out, as any that the workload asks for: what to try before the load.

    Args:
        file: As in `sessions`.
    """
    pen, shape = _Pen(workload.token_ids, f"{seed}/largest"), workload.shape
    match shape:
        case Prompts():
            listed = read_prompts(_found(file))
            longest = max((each.prompt for each in listed), key=len)
            return _own(shape, longest, max(each.output_tokens for each in listed), pen)
        case Trace():
            turns = max((_turns(each) for each in read_conversations(_found(file))), key=_tokens)
        case _:
            turns = (_Turn(own=shape.input_tokens, output=shape.output_tokens),)
    return list(_requests(turns, pen.write(_prefix_tokens(workload)), pen))[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The lengths of one request: tokens of the answer before it, tokens that are new in it, tokens of its answer."""

    before: int = 0
    own: int
    output: int
    pause_s: float = 0.0


class _Pen:
    """Writes prompts: ids of tokens where the workload says which, words of about one token each where it does not."""

    def __init__(self, ids: tuple[int, int] | None, seed: str) -> None:
        self._draw, self._tokens = _draw(seed), np.random.default_rng(list(seed.encode()))
        self.text = ids is None
        self._first, self._last = (0, len(WORDS) - 1) if ids is None else ids

    def write(self, tokens: int) -> list[int]:
        """Return so many tokens, drawn independently; a word is told by its place among the words."""
        drawn: list[int] = self._tokens.integers(self._first, self._last, size=tokens, endpoint=True).tolist()
        return drawn

    def nonce(self) -> str:
        """Return a word that no other prompt begins with."""
        return "".join(self._draw.choices(LETTERS, k=NONCE_LETTERS))


def _requests(turns: Sequence[_Turn], prefix: Sequence[int], pen: _Pen) -> Iterator[Planned]:
    """Yield the requests of a session: each sends all that came before it and what is new."""
    tokens, nonce = list(prefix), pen.nonce() if pen.text else ""
    for turn in turns:
        tokens += pen.write(turn.before + turn.own)
        yield Planned(
            prompt=_text(tokens, nonce, at=len(prefix)) if pen.text else tuple(tokens),
            input_tokens=None if pen.text else len(tokens),
            output_tokens=turn.output,
            pause_s=turn.pause_s,
        )


def _text(tokens: Sequence[int], nonce: str, *, at: int) -> str:
    """Return words for tokens; the nonce stands in place of the first one that is the session's own."""
    words = [WORDS[token] for token in tokens]
    words[at] = nonce
    return " ".join(words)


def _listed(shape: Prompts, count: int, seed: str, pen: _Pen, file: Path | None) -> Iterator[Planned]:
    rows = _passes(read_prompts(_found(file)), count, _draw(f"{seed}/lengths"))
    yield from (_own(shape, row.prompt, row.output_tokens, pen) for row in rows)


def _own(shape: Prompts, prompt: str, output_tokens: int, pen: _Pen) -> Planned:
    """Return the request of a user's own prompt."""
    sent = f"{pen.nonce()}\n{prompt}" if shape.nonce else prompt
    return Planned(prompt=sent, input_tokens=None, output_tokens=output_tokens)


def _lengths(workload: Workload, count: int, seed: str, file: Path | None) -> list[tuple[_Turn, ...]]:
    """Return the turns of `count` sessions."""
    draw, shape = _draw(f"{seed}/lengths"), workload.shape
    match shape:
        case Trace():
            return [_turns(each) for each in _passes(read_conversations(_found(file)), count, draw)]
        case Prompts():
            raise ValueError("the lengths of a user's prompts are known to the server alone")
        case _:
            own = _uniform(shape.input_tokens, workload.range_ratio, count, draw)
            output = _uniform(shape.output_tokens, workload.range_ratio, count, draw)
            return [(_Turn(own=i, output=o),) for i, o in zip(own, output, strict=True)]


def _uniform(length: int, ratio: float, count: int, draw: random.Random) -> list[int]:
    """
    Return whole numbers between ratio x length, rounded down, and length, each as likely; none below 1.

    Source: InferenceX, utils/bench_serving/benchmark_serving.py, sample_random_requests.
    """
    return [draw.randint(max(1, int(length * ratio)), length) for _ in range(count)]


def _turns(conversation: Conversation) -> tuple[_Turn, ...]:
    answers = (0, *(turn.output_tokens for turn in conversation.turns))
    return tuple(
        _Turn(before=before, own=turn.input_tokens, output=turn.output_tokens, pause_s=turn.pause_s)
        for before, turn in zip(answers, conversation.turns, strict=False)
    )


def _tokens(turns: Sequence[_Turn]) -> int:
    """Return the tokens of a session's last request, in and out."""
    return sum(turn.before + turn.own for turn in turns) + turns[-1].output


def _passes(rows: Sequence[Row], count: int, draw: random.Random) -> Iterator[Row]:
    """Yield `count` rows: all of them in one order drawn, then in another, as often as it takes."""
    yield from itertools.islice((row for _ in itertools.count() for row in draw.sample(rows, k=len(rows))), count)


def _prefix_tokens(workload: Workload) -> int:
    return workload.shape.prefix_tokens if isinstance(workload.shape, SharedPrefix) else 0


def _found(file: Path | None) -> Path:
    if file is None:
        raise ValueError("a workload that lists its sessions in a file needs it")
    return file


def _draw(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 a load, not a secret
