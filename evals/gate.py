"""The gate: when an accuracy passes, fails, or says nothing. Pure.

An accuracy is counted over the questions that were answered; what was asked in vain is reported beside it, never as
"wrong". Intervals and p-values are exact.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from scipy import special

ALPHA = 0.05
"""A filter is significantly worse than the reference below this one-sided p-value."""

CONFIDENCE = 0.95
"""Of the interval around an accuracy."""

UNCLEAR_LIMIT = Fraction(5, 1000)
"""The share of questions without a clear answer above which a verdict is invalid."""

COLLAPSE_PROBABILITY = 1e-6
"""A smell test this improbable at the gate's threshold is a collapse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What must not get worse, and how hard to look.

    Attributes:
        threshold: The least accuracy that passes, 0 to 1, for every filter.
        questions: How many of the exam's questions a pass needs.
        smell: How many of them are asked before any load.
        max_tokens: The cap on an answer, or None for the task's own.
        reference: By filter, the baseline's result for each question in the exam's order; None where it was not
            answered. Without one no paired test is made.

    Raises:
        ValueError: A field is out of range, or the reference covers fewer questions or filters than the gate.
    """

    task: str
    threshold: float
    filters: tuple[str, ...]
    questions: int
    smell: int = 16
    concurrency: int = 16
    max_tokens: int | None = None
    reference: Mapping[str, tuple[bool | None, ...]] | None = None

    def __post_init__(self) -> None:
        """Refuse a gate that could not mean anything."""
        bounds = {
            "threshold": 0 < self.threshold <= 1,
            "filters": len(self.filters) > 0,
            "questions": self.questions >= 1,
            "smell": 0 <= self.smell <= self.questions,
            "concurrency": self.concurrency >= 1,
            "max_tokens": self.max_tokens is None or self.max_tokens >= 1,
        }
        for name, holds in bounds.items():
            if not holds:
                raise ValueError(f"gate {self.task!r}: {name} cannot be {getattr(self, name)!r}")
        for name in self.filters if self.reference is not None else ():
            covered = len((self.reference or {}).get(name, ()))
            if covered < self.questions:
                raise ValueError(
                    f"gate {self.task!r}: the reference has {covered} results for {name}, the gate asks "
                    f"{self.questions} questions; measure the baseline with the same gate"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question asked and marked.

    Attributes:
        index: The question's place in the exam's order.
        correct: By filter; empty where there was no answer.
        truncated: The cap cut the answer before every filter found one in it.
    """

    index: int
    correct: Mapping[str, bool] = field(default_factory=dict)
    error: str | None = None
    refused: bool = False
    truncated: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResult:
    """One filter's figures.

    Attributes:
        low: Lower end of the Clopper-Pearson interval; after an early stop too it is computed on what was asked.
        worse_p: One-sided exact McNemar against the reference, or None without one.
        losses: Questions that the reference got right and this did not.
        wins: The reverse.
    """

    name: str
    correct: int
    answered: int
    accuracy: float
    low: float
    high: float
    worse_p: float | None
    losses: int
    wins: int

    @property
    def worse(self) -> bool:
        """Whether the paired test says that accuracy was lost."""
        return self.worse_p is not None and self.worse_p < ALPHA

    @property
    def drop(self) -> float:
        """Accuracy lost against the reference."""
        return (self.losses - self.wins) / self.answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says; `invalid` means that nothing was learned about accuracy.

    Attributes:
        reasons: Why it is no pass; empty for a pass.
        filters: Empty where nothing was answered.
        unanswered: Requests that brought an error instead of an answer.
    """

    result: Literal["pass", "fail", "invalid"]
    reasons: tuple[str, ...]
    filters: tuple[FilterResult, ...]
    threshold: float
    asked: int
    unanswered: int
    truncated: int

    @property
    def accuracy(self) -> float | None:
        """The lowest filter's accuracy, or None where nothing was answered."""
        return min((each.accuracy for each in self.filters), default=None)

    @property
    def violation(self) -> float:
        """How far the verdict is from passing, in accuracy: at most 0 for a pass, above 0 otherwise.

        The missing accuracy; where only the paired test fails, the accuracy lost against the reference; where the
        verdict is invalid, the whole threshold, as if no answer were right.
        """
        if self.result == "invalid" or self.accuracy is None:
            return self.threshold
        short = self.threshold - self.accuracy
        if self.result == "fail" and short <= 0:
            return max(each.drop for each in self.filters if each.worse)
        return short


def verdict(scored: Sequence[Scored], gate: Gate) -> Verdict:
    """Judge what was asked.

    A fail that no unclear answer could turn stands even among errors; for everything else too many unclear answers,
    or too few questions, make the verdict invalid.
    """
    answered = [each for each in scored if each.error is None]
    unanswered = len(scored) - len(answered)
    truncated = sum(each.truncated for each in answered)
    filters = tuple(_filter_result(name, answered, gate) for name in gate.filters) if answered else ()
    result, reasons = _result(scored, unanswered + truncated, filters, gate)
    return Verdict(
        result=result,
        reasons=reasons,
        filters=filters,
        threshold=gate.threshold,
        asked=len(scored),
        unanswered=unanswered,
        truncated=truncated,
    )


def beyond_repair(scored: Sequence[Scored], gate: Gate) -> tuple[str, ...]:
    """Return the filters that fail whatever the unclear and the unasked questions would bring."""
    allowed = gate.questions - _needed(gate.threshold, gate.questions)
    return tuple(name for name in gate.filters if _clearly_wrong(scored, name) > allowed)


def reference(scored: Sequence[Scored], gate: Gate) -> dict[str, tuple[bool | None, ...]]:
    """Return a baseline's results as the `reference` of the gate that later configs must pass."""
    return {name: tuple(each.correct.get(name) for each in scored) for name in gate.filters}


def collapse(scored: Sequence[Scored], gate: Gate) -> str | None:
    """Say why the first answers show a collapse, or None: too few are right for any config near the threshold."""
    answered = [each for each in scored if each.error is None]
    for name in gate.filters if answered else ():
        correct = sum(each.correct[name] for each in answered)
        chance = float(special.bdtr(correct, len(answered), gate.threshold))
        if chance < COLLAPSE_PROBABILITY:
            return (
                f"{name}: {correct} of the first {len(answered)} answers right; at accuracy {gate.threshold:g} "
                f"the chance of that is {chance:.1g}"
            )
    return None


def interval(correct: int, answered: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a proportion.

    Source: Clopper and Pearson, Biometrika 26 (1934), by the quantiles of the beta distribution.
    """
    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(correct, answered - correct + 1, tail) if correct > 0 else 0.0
    high = special.betaincinv(correct + 1, answered - correct, 1 - tail) if correct < answered else 1.0
    return float(low), float(high)


def worse_p(losses: int, wins: int) -> float:
    """Return the one-sided p-value of the exact McNemar test: at least so many losses by chance alone.

    Source: McNemar, Psychometrika 12 (1947), in its exact binomial form.
    """
    return float(special.bdtr(wins, losses + wins, 0.5))


def _result(
    scored: Sequence[Scored], unclear: int, filters: Sequence[FilterResult], gate: Gate
) -> tuple[Literal["pass", "fail", "invalid"], tuple[str, ...]]:
    """Apply the rules in their order: a certain fail, what makes a verdict invalid, a fail, a pass."""
    if beyond_repair(scored, gate):
        return "fail", _complaints(filters, gate)
    if invalid := _invalid(scored, unclear, gate):
        return "invalid", invalid
    if complaints := _complaints(filters, gate):
        return "fail", complaints
    return "pass", ()


def _invalid(scored: Sequence[Scored], unclear: int, gate: Gate) -> tuple[str, ...]:
    """Return why the answers allow no verdict."""
    asked = len(scored)
    if asked == 0:
        return (f"{gate.task}: nothing was asked",)
    reasons = []
    if unclear > UNCLEAR_LIMIT * asked:
        first = next((each.error for each in scored if each.error is not None), None)
        why = f"first error: {first}" if first else "all cut by the cap: raise max_tokens"
        reasons.append(
            f"{gate.task}: {unclear} of {asked} questions without a clear answer, "
            f"more than {float(UNCLEAR_LIMIT):.1%}; {why}"
        )
    if asked < gate.questions:
        reasons.append(f"{gate.task}: {asked} questions asked, a verdict needs {gate.questions}")
    return tuple(reasons)


def _complaints(filters: Sequence[FilterResult], gate: Gate) -> tuple[str, ...]:
    """Return why filters do not pass: first those below the threshold, then those worse than the reference."""
    below = (
        f"{each.name}: {each.correct} of {each.answered} right ({each.accuracy:.4f}, {CONFIDENCE:.0%} interval "
        f"{each.low:.4f} to {each.high:.4f}); the gate asks for {gate.threshold:g}"
        for each in filters
        if each.correct < _needed(gate.threshold, each.answered)
    )
    worse = (
        f"{each.name}: {each.losses} questions lost and {each.wins} won against the baseline "
        f"(exact McNemar, one-sided p = {each.worse_p:.2g} < {ALPHA:g})"
        for each in filters
        if each.worse
    )
    return (*below, *worse)


def _filter_result(name: str, answered: Sequence[Scored], gate: Gate) -> FilterResult:
    """Count one filter, alone and against the reference."""
    correct = sum(each.correct[name] for each in answered)
    low, high = interval(correct, len(answered))
    before = gate.reference[name] if gate.reference is not None else ()
    pairs = [(before[each.index], each.correct[name]) for each in answered if each.index < len(before)]
    losses, wins = pairs.count((True, False)), pairs.count((False, True))
    return FilterResult(
        name=name,
        correct=correct,
        answered=len(answered),
        accuracy=correct / len(answered),
        low=low,
        high=high,
        worse_p=worse_p(losses, wins) if gate.reference is not None else None,
        losses=losses,
        wins=wins,
    )


def _clearly_wrong(scored: Sequence[Scored], name: str) -> int:
    """Count the answers that are wrong, whole and no error."""
    return sum(each.error is None and not each.truncated and not each.correct[name] for each in scored)


def _needed(threshold: float, questions: int) -> int:
    """Return how many right answers reach the threshold, in exact arithmetic on the figure as it is written."""
    return math.ceil(Fraction(str(threshold)) * questions)
