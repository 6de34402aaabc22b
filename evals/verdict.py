"""What the answers say: pass, fail, or nothing yet. Pure.

A pass needs the threshold even if every unclear answer were wrong, and a fail needs it missed even if every unclear
answer were right; in between, and where more than 0.5 % are unclear, nothing was learned. Everything looks at a prefix
in the order of asking: the order in which answers arrive favours short, right ones.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from scipy import special

from evals import sequential
from evals.gate import CONFIDENCE, FilterResult, Gate, Scored, Verdict, interval
from evals.paired import ALPHA, most_lost, words, worse_p
from evals.protocol import EvalProtocol

UNCLEAR_LIMIT = Fraction(5, 1000)
"""The share of questions without a clear answer above which a verdict is invalid."""

COLLAPSE_PROBABILITY = 1e-6
"""A smell test this improbable at the gate's threshold is a collapse."""

ERRORS_AT_START = 3
"""So many errors before the first answer mean that nothing will answer."""

Result = Literal["pass", "fail", "invalid"]
Reached = Literal["all", "certain", "sequential"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A result, how it was reached, and the e-value where it was reached by the sequential test."""

    result: Result
    reached: Reached
    e_value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many were asked, how many came back unclear, and of the clear ones the right and wrong by filter."""

    asked: int
    unclear: int
    right: tuple[int, ...]
    wrong: tuple[int, ...]


def decide(scored: Sequence[Scored], gate: Gate) -> Decision | None:
    """Return what is decided already, or None while asking on is of use."""
    certain: Reached = "all" if len(scored) == gate.questions else "certain"
    tally = _tally(scored, gate)
    if max(tally.wrong) > gate.questions - gate.urn.needed:
        return Decision("fail", certain)
    if tally.unclear > UNCLEAR_LIMIT * gate.questions or broken(scored):
        return Decision("invalid", certain)
    if tally.asked == gate.questions:
        return Decision("pass" if min(tally.right) >= gate.urn.needed else "invalid", "all")
    return _early(tally, gate) if gate.early and tally.asked else None


def broken(scored: Sequence[Scored]) -> bool:
    """Say whether asking on is no use: the first answers were all errors, or a request was refused for good."""
    start = scored[:ERRORS_AT_START]
    silent = len(start) == ERRORS_AT_START and all(each.error is not None for each in start)
    return silent or any(each.refused for each in scored)


def verdict(scored: Sequence[Scored], gate: Gate, protocol: EvalProtocol) -> Verdict:
    """Judge what was asked."""
    kinds = Counter(each.kind for each in scored)
    decision = decide(scored, gate) or Decision("invalid", "all")
    filters = tuple(_filter_result(name, scored, gate) for name in gate.filters) if kinds["clear"] else ()
    result, reasons = _reasons(decision, scored, filters, gate, protocol)
    return Verdict(
        result=result,
        reasons=reasons,
        filters=filters,
        threshold=gate.threshold,
        asked=len(scored),
        total=gate.questions,
        unanswered=kinds["unanswered"],
        http_errors=kinds["http error"],
        truncated=kinds["truncated"],
        empty=kinds["empty"],
        retries=sum(each.retries for each in scored),
        reached=decision.reached,
        e_value=decision.e_value,
        alpha=gate.alpha if decision.reached == "sequential" else None,
        violation=_violation(result, filters, gate),
        protocol=protocol,
    )


def reference(scored: Sequence[Scored], gate: Gate) -> dict[str, tuple[bool | None, ...]]:
    """Return a baseline's results as the `correct` of the reference that later configs are held against."""
    return {
        name: tuple(each.correct.get(name) if each.kind == "clear" else None for each in scored)
        for name in gate.filters
    }


def collapse(scored: Sequence[Scored], gate: Gate) -> str | None:
    """Say why the first answers show a collapse, or None: too few are right for any config near the threshold."""
    answered = [each for each in scored if each.error is None]
    cut = sum(each.truncated for each in answered)
    for name in gate.filters if answered else ():
        correct = sum(each.correct[name] for each in answered)
        chance = float(special.bdtr(correct, len(answered), gate.threshold))
        if chance < COLLAPSE_PROBABILITY:
            return (
                f"{name}: {correct} of the first {len(answered)} answers right; at accuracy {gate.threshold:g} "
                f"the chance of that is {chance:.1g}" + (f"; max_tokens cut {cut} of them" if cut else "")
            )
    return None


def _early(tally: Tally, gate: Gate) -> Decision | None:
    """Return what the sequential test says; a pass waits until few enough of the answers so far are unclear."""
    asked = tally.asked
    if (e_value := sequential.fails(gate.urn, gate.alpha, asked=asked, wrong=tally.wrong)) is not None:
        return Decision("fail", "sequential", e_value)
    if tally.unclear > UNCLEAR_LIMIT * asked:
        return None
    if min(tally.right) >= gate.urn.needed:
        return Decision("pass", "certain")
    if (e_value := sequential.passes(gate.urn, gate.alpha, asked=asked, right=tally.right)) is not None:
        return Decision("pass", "sequential", e_value)
    return None


def _reasons(
    decision: Decision,
    scored: Sequence[Scored],
    filters: Sequence[FilterResult],
    gate: Gate,
    protocol: EvalProtocol,
) -> tuple[Result, tuple[str, ...]]:
    """Say why the result is no pass; what passed alone is then held against the reference."""
    if decision.result == "fail":
        return "fail", tuple(_below(filters, gate))
    if decision.result == "invalid":
        return "invalid", _invalid(scored, gate)
    if gate.reference is None:
        return "pass", ()
    if difference := protocol.difference(gate.reference.protocol):
        return "invalid", (f"{gate.task}: cannot be compared with the baseline, whose protocol differs: {difference}",)
    worse = tuple(_worse(filters, gate))
    return ("fail", worse) if worse else ("pass", ())


def _invalid(scored: Sequence[Scored], gate: Gate) -> tuple[str, ...]:
    """Return why the answers allow no verdict."""
    asked, unclear = len(scored), sum(each.kind != "clear" for each in scored)
    if asked == 0:
        return (f"{gate.task}: nothing was asked",)
    reasons = []
    if unclear:
        kinds = Counter(each.kind for each in scored if each.kind != "clear")
        first = next((each.error for each in scored if each.error is not None), None)
        hint = f"; first error: {first}" if first else "; raise max_tokens" if kinds["truncated"] else ""
        reasons.append(
            f"{gate.task}: {unclear} of {asked} questions without a clear answer "
            f"({', '.join(f'{count} {kind}' for kind, count in kinds.items())}); more than "
            f"{float(UNCLEAR_LIMIT):.1%} of {gate.questions}, or enough to turn the verdict{hint}"
        )
    if asked < gate.questions:
        reasons.append(f"{gate.task}: {asked} questions asked, a verdict needs {gate.questions}")
    return tuple(reasons)


def _below(filters: Sequence[FilterResult], gate: Gate) -> list[str]:
    """Return a line for each filter below the threshold."""
    return [
        f"{each.name}: {each.correct} of {each.answered} right ({each.accuracy:.4f}, {CONFIDENCE:.0%} interval "
        f"{each.low:.4f} to {each.high:.4f}); the gate asks for {gate.threshold:g}"
        for each in filters
        if each.accuracy < gate.threshold
    ]


def _worse(filters: Sequence[FilterResult], gate: Gate) -> list[str]:
    """Return a line for each filter that is worse than the reference, or not shown to be within the margin."""
    return [_against(each, gate.margin) for each in filters if _too_much_lost(each, gate.margin)]


def _against(result: FilterResult, margin: float | None) -> str:
    lost = f"{result.name}: {result.losses} questions lost and {result.wins} won against the baseline"
    if margin is None:
        return f"{lost} (exact McNemar, one-sided p = {result.worse_p:.2g} < {ALPHA:g})"
    return f"{lost}: {words(result.losses, result.wins, result.pairs, margin)}"


def _too_much_lost(result: FilterResult, margin: float | None) -> bool:
    """Apply the paired test: without a margin only a significant loss counts."""
    if margin is None:
        return result.worse_p is not None and result.worse_p < ALPHA
    return result.most_lost is None or result.most_lost > margin


def _excess(result: FilterResult, margin: float | None) -> float:
    """Return the accuracy lost; with a margin, how much more than that may have been lost."""
    if margin is None or result.most_lost is None:
        return (result.losses - result.wins) / max(result.pairs, 1)
    return result.most_lost - margin


def _violation(result: Result, filters: Sequence[FilterResult], gate: Gate) -> float:
    """Return the missing accuracy; an invalid verdict counts as if no answer were right."""
    if result == "invalid" or not filters:
        return gate.threshold
    short = gate.threshold - min(each.accuracy for each in filters)
    if result == "fail" and short <= 0:
        return max(_excess(each, gate.margin) for each in filters if _too_much_lost(each, gate.margin))
    return min(short, 0.0) if result == "pass" else short


def _filter_result(name: str, scored: Sequence[Scored], gate: Gate) -> FilterResult:
    """Count one filter, alone and against the reference."""
    clear = [each for each in scored if each.kind == "clear"]
    correct = sum(each.correct[name] for each in clear)
    low, high = interval(correct, len(clear))
    before = gate.reference.correct[name] if gate.reference is not None else ()
    pairs = [(before[each.index], each.correct[name]) for each in clear if each.index < len(before)]
    known = len(pairs) - sum(was is None for was, _ in pairs)
    losses, wins = pairs.count((True, False)), pairs.count((False, True))
    return FilterResult(
        name=name,
        correct=correct,
        answered=len(clear),
        accuracy=correct / len(clear),
        low=low,
        high=high,
        worse_p=worse_p(losses, wins) if known else None,
        most_lost=most_lost(losses, wins, known) if known else None,
        losses=losses,
        wins=wins,
        pairs=known,
    )


def _tally(scored: Sequence[Scored], gate: Gate) -> Tally:
    """Count what was asked."""
    clear = [each.correct for each in scored if each.kind == "clear"]
    right = tuple(sum(correct[name] for correct in clear) for name in gate.filters)
    wrong = tuple(len(clear) - count for count in right)
    return Tally(asked=len(scored), unclear=len(scored) - len(clear), right=right, wrong=wrong)
