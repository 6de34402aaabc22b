"""The rules of every shipped space, each held against thousands of launches as the engine would be told of them."""

import json
from collections.abc import Mapping

import pytest

from search_spaces import Config, RuleBroken, Scalar, SearchSpace, Serve, names
from search_spaces.effective import CONCURRENCY, values_at
from search_spaces.expression import evaluate, holds, same
from search_spaces.fields import UNSET, as_text
from search_spaces.knob import Dimension, Flag, JsonKey, Knob, Switch, Variable
from search_spaces.space import Rule
from tests.search_spaces.drawn import Drawn, after, launches

SHIPPED = names()


def told(knob: Knob, serve: Serve) -> Scalar | None:
    """Return what a launch says of a knob; None where the knob has no place of its own."""
    match knob.placement:
        case Flag(options):
            text = after(serve, options[0])
        case Switch(option, omit_off) as switch:
            off = omit_off or switch.negative in serve.args
            text = "true" if option in serve.args else "false" if off else None
        case JsonKey(option, path):
            value = json.loads(after(serve, option) or "{}")
            for key in path:
                value = value.get(key, {})
            text = None if value == {} else as_text(value)
        case Variable(name):
            text = serve.env[name]
        case Dimension(name):
            text = as_text(serve.layout.get(name, UNSET))
        case _:
            return None
    return knob.domain.read(UNSET if text is None else text)


def values(space: SearchSpace, config: Config, concurrency: int, serve: Serve) -> dict[str, Scalar]:
    """Return the value of everything at a concurrency: as the launch says, and computed where it does not."""
    said = {name: told(knob, serve) for name, knob in space.knobs.items()}
    computed = values_at(space, config, concurrency) if None in said.values() else {}
    return {**computed, CONCURRENCY: concurrency, **{name: value for name, value in said.items() if value is not None}}


def broken(rule: Rule, values: Mapping[str, Scalar]) -> bool:
    """Return whether values break a rule, or would be changed by it."""
    if not holds(rule.when, values):
        return False
    if rule.imply:
        return not all(same(values[name], evaluate(value, values)) for name, value in rule.imply.items())
    return not holds(rule.require, values) if rule.require else holds(rule.forbid or {}, values)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_launch_of_a_config_that_may_be_tried_breaks_a_rule(
    spaces: dict[str, SearchSpace], drawn: dict[str, Drawn], name: str
) -> None:
    space = spaces[name]
    for config, concurrency, serve in launches(drawn[name]):
        at = values(space, config, concurrency, serve)
        assert [rule.words for rule in space.rules if broken(rule, at)] == [], (config, concurrency)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_rule_fires_on_a_config_that_nothing_has_kept_to(
    spaces: dict[str, SearchSpace], drawn: dict[str, Drawn], name: str
) -> None:
    space = spaces[name]
    free = space.model_copy(update={"rules": ()})
    waiting = {rule.words for rule in space.rules}
    for config, _ in drawn[name]:
        for concurrency in space.workload.concurrency if waiting else ():
            at = {**values_at(free, config, concurrency), CONCURRENCY: concurrency}
            waiting -= {rule.words for rule in space.rules if broken(rule, at)}
    assert not waiting


@pytest.mark.parametrize("name", SHIPPED)
def test_what_forbids_or_requires_refuses_some_of_what_is_drawn(
    spaces: dict[str, SearchSpace], drawn: dict[str, Drawn], name: str
) -> None:
    refusing = {rule.words for rule in spaces[name].rules if not rule.imply}
    assert {outcome.rule for _, outcome in drawn[name] if isinstance(outcome, RuleBroken)} >= refusing
