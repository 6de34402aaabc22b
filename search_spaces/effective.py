"""
What a config comes to at one concurrency: overrides, inactive knobs, implications, derived values, and the rules.

Every step is taken once, so that it always ends: an implication that a later step undoes is a broken rule.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from search_spaces.errors import RuleBroken
from search_spaces.expression import Scalar, condition_references, evaluate, holds, same
from search_spaces.fields import UNSET
from search_spaces.knob import Knob

if TYPE_CHECKING:
    from search_spaces.space import Rule, SearchSpace

CONCURRENCY = "concurrency"
"""The name under which conditions and expressions see the concurrency of the point."""
JUDGING = "judging"
"""The name under which the condition of a derived value sees whether the launch is the gate's own."""


def activation_order(knobs: Mapping[str, Knob]) -> list[str]:
    """
    Return the knobs so that each comes after those its `when` names.

    Raises:
        graphlib.CycleError: Knobs switch each other.

    """
    graph = {name: knobs.keys() & set(condition_references(knob.when)) for name, knob in knobs.items()}
    return list(TopologicalSorter(graph).static_order())


def baseline_at(space: "SearchSpace", concurrency: int) -> dict[str, Scalar]:
    """Return the baseline with the overrides of this concurrency; the last one that fits wins."""
    here: dict[str, Scalar] = {CONCURRENCY: concurrency}
    values = dict(space.baseline)
    for override in space.overrides:
        if holds({CONCURRENCY: override.concurrency}, here):
            values |= {
                name: space.knobs[name].domain.admit(evaluate(value, here)) for name, value in override.set.items()
            }
    return values


def values_at(
    space: "SearchSpace", config: Mapping[str, Scalar], concurrency: int, *, judging: bool = False
) -> dict[str, Scalar]:
    """
    Return the value of every knob and derived value of a complete config at one concurrency.

    Args:
        judging: Whether the gate is asked, where a space starts the engine otherwise for it.

    Raises:
        RuleBroken: The config breaks a rule here, or a value of it cannot be computed.

    """
    base = baseline_at(space, concurrency)
    left = {name: base[name] if same(value, space.baseline[name]) else value for name, value in config.items()}
    values = _active(space, {CONCURRENCY: concurrency, **left}, base)
    values = {**_active(space, _implied(space, values), base), JUDGING: judging}
    for name, derived in space.derived.items():
        with _naming(f"derived.{name}"):
            values[name] = evaluate(derived.value, values) if holds(derived.when, values) else UNSET
    for rule in space.rules:
        with _naming(rule.words):
            kept = _kept(rule, values)
        if not kept:
            raise RuleBroken(rule.words, rule.because)
    del values[CONCURRENCY], values[JUDGING]
    return values


def _active(space: "SearchSpace", values: Mapping[str, Scalar], base: Mapping[str, Scalar]) -> dict[str, Scalar]:
    settled = dict(values)
    for name in activation_order(space.knobs):
        with _naming(f"knobs.{name}.when"):
            if not holds(space.knobs[name].when, settled):
                settled[name] = base[name]
    return settled


def _implied(space: "SearchSpace", values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    settled = dict(values)
    for rule in space.rules:
        with _naming(rule.words):
            if rule.imply and holds(rule.when, settled):
                settled |= {
                    name: space.knobs[name].domain.admit(evaluate(value, settled)) for name, value in rule.imply.items()
                }
    return settled


def _kept(rule: "Rule", values: Mapping[str, Scalar]) -> bool:
    if not holds(rule.when, values):
        return True
    if rule.imply:
        return all(same(values[name], evaluate(value, values)) for name, value in rule.imply.items())
    return holds(rule.require, values) if rule.require else not holds(rule.forbid or {}, values)


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Turn a value that cannot be computed, or leaves its domain, into a broken rule: the config is at fault."""
    try:
        yield
    except ValueError as error:
        raise RuleBroken(what, str(error)) from error
