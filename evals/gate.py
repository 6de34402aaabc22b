"""The gate and its verdict: what is asked, what came back, and what it says. Types, and the figures they carry."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from scipy import special

from evals.exam import Endpoint
from evals.protocol import EvalProtocol, output_budget
from evals.sequential import Urn

CONFIDENCE = 0.95
"""Of the interval around an accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """
    The baseline's answers, and the protocol under which it gave them.

    Attributes:
        correct: By filter, the result for each question in the exam's order; None where there was no clear answer.
    """

    protocol: EvalProtocol
    correct: Mapping[str, tuple[bool | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """
    What must not get worse, and how hard to look.

    Attributes:
        task: What the exam is loaded by: a task's name, or the path of its file.
        data: Files of JSON lines instead of the task's own data set, by split.
        threshold: The least accuracy that passes, 0 to 1, for every filter.
        questions: How many of the exam's questions the verdict is about, the first ones in its order.
        smell: How many of them are asked before any load.
        concurrency: How many are asked at once; what is in flight when the verdict is reached was asked in vain.
        max_tokens: The cap on an answer, or None for the task's own.
        context: Tokens that the server says it serves; goes into the protocol.
        early: Whether a verdict may be reached before all questions are asked, as in search.
        alpha: The chance that such a verdict differs from that on all questions, at most, each way.
        reference: The baseline's answers to the same questions, for the paired test of a full set.
        margin: The accuracy that may be lost against the reference at most; None: only a significant loss fails.

    Raises:
        ValueError: A field is out of range, an early verdict has a reference, or the reference covers too little.
    """

    task: str
    threshold: float
    filters: tuple[str, ...]
    questions: int
    smell: int = 16
    concurrency: int = 16
    endpoint: Endpoint = "chat"
    data: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int | None = None
    context: int | None = None
    early: bool = False
    alpha: float = 0.01
    reference: Reference | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        """Refuse a gate that could not mean anything."""
        bounds = {
            "threshold": 0 < self.threshold <= 1,
            "filters": len(self.filters) > 0,
            "questions": self.questions >= 1,
            "smell": 0 <= self.smell <= self.questions,
            "concurrency": self.concurrency >= 1,
            "max_tokens": self.max_tokens is None or self.max_tokens >= 1,
            "alpha": 0 < self.alpha < 1,
            "margin": self.margin is None or 0 < self.margin < 1,
            "early": not (self.early and self.reference),
        }
        for name, holds in bounds.items():
            if not holds:
                raise ValueError(f"gate {self.task!r}: {name} cannot be {getattr(self, name)!r}")
        for name in self.filters if self.reference is not None else ():
            covered = len(self.reference.correct.get(name, ())) if self.reference else 0
            if covered < self.questions:
                raise ValueError(
                    f"gate {self.task!r}: the reference has {covered} results for {name}, the gate asks "
                    f"{self.questions} questions; measure the baseline with the same gate"
                )

    @property
    def urn(self) -> Urn:
        """All questions, and how many must be right; in exact arithmetic on the threshold as it is written."""
        return Urn(self.questions, math.ceil(Fraction(str(self.threshold)) * self.questions))

    def served_with(self, context: int | None) -> "Gate":
        """Return the gate for a server of so many tokens of context: an answer's cap is set, if it was left open."""
        if self.max_tokens is not None or context is None:
            return replace(self, context=context)
        return replace(self, context=context, max_tokens=output_budget(context))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """
    One question asked and marked.

    Attributes:
        index: The question's place in the exam's order.
        correct: By filter; empty where there was no answer.
        status: The HTTP status of an error, or None where the server said nothing.
        truncated: The cap cut the answer before every filter found one in it.
        retries: How often it was sent again.
    """

    index: int
    correct: Mapping[str, bool] = field(default_factory=dict)
    error: str | None = None
    status: int | None = None
    refused: bool = False
    truncated: bool = False
    text: str = ""
    retries: int = 0

    @property
    def kind(self) -> Literal["clear", "unanswered", "http error", "truncated", "empty"]:
        """What came back; all but `clear` say nothing about accuracy."""
        if self.error is not None:
            return "unanswered" if self.status is None else "http error"
        if self.truncated:
            return "truncated"
        return "clear" if self.text.strip() else "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResult:
    """
    One filter's figures, over the clear answers.

    Attributes:
        low: Lower end of the Clopper-Pearson interval; after an early stop too it is computed on what was asked.
        worse_p: One-sided exact McNemar against the reference, or None without one.
        most_lost: Upper limit of the accuracy lost against the reference, one-sided 95 %, or None without one.
        losses: Questions that the reference got right and this did not.
        wins: The reverse.
        pairs: Questions that both answered clearly.
    """

    name: str
    correct: int
    answered: int
    accuracy: float
    low: float
    high: float
    worse_p: float | None
    most_lost: float | None
    losses: int
    wins: int
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What the gate says of all its questions; `invalid` means that nothing was learned about accuracy.

    Attributes:
        reasons: Why it is no pass; empty for a pass.
        filters: Empty where nothing was answered clearly.
        asked: How many questions it rests on, the first ones.
        total: How many it is about.
        unanswered: Requests that brought neither an answer nor an HTTP error.
        empty: Answers without a word.
        retries: Requests that were sent again after 408, 409 or 429.
        reached: By having asked all, by what no further answer could turn, or by the sequential test.
        e_value: Of the sequential test that reached it, else None.
        alpha: The chance at most that asking all would say otherwise; None where there is none.
        violation: How far it is from passing, in accuracy: at most 0 for a pass, above 0 otherwise.
    """

    result: Literal["pass", "fail", "invalid"]
    reasons: tuple[str, ...]
    filters: tuple[FilterResult, ...]
    threshold: float
    asked: int
    total: int
    unanswered: int
    http_errors: int
    truncated: int
    empty: int
    retries: int
    reached: Literal["all", "certain", "sequential"]
    e_value: float | None
    alpha: float | None
    violation: float
    protocol: EvalProtocol

    @property
    def accuracy(self) -> float | None:
        """The lowest filter's accuracy, or None where nothing was answered."""
        return min((each.accuracy for each in self.filters), default=None)

    @property
    def how(self) -> str:
        """How it was reached, in words."""
        count = f"{self.asked} of {self.total} questions"
        if self.reached == "all":
            return f"all {count} asked" if self.asked == self.total else f"{count} asked"
        if self.reached == "certain":
            return f"{count} asked; no further answer could turn it"
        return f"{count} asked; e-value {self.e_value:.3g}, at least 1/alpha with alpha {self.alpha:g}"


def interval(correct: int, answered: int) -> tuple[float, float]:
    """
    Return the Clopper-Pearson interval of a proportion.

    Source: Clopper and Pearson, Biometrika 26 (1934), by the quantiles of the beta distribution.
    """
    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(correct, answered - correct + 1, tail) if correct > 0 else 0.0
    high = special.betaincinv(correct + 1, answered - correct, 1 - tail) if correct < answered else 1.0
    return float(low), float(high)
