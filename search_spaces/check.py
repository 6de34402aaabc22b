"""What a space file gets wrong across its sections: names, values, places, and a baseline that breaks a rule."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError
from typing import TYPE_CHECKING, NamedTuple

from search_spaces.effective import CONCURRENCY, JUDGING, activation_order, baseline_at, values_at
from search_spaces.errors import RuleBroken, nearest
from search_spaces.expression import (
    Comparison,
    Expression,
    Lookup,
    Name,
    Operation,
    Scalar,
    condition_references,
    evaluate,
    holds,
    references,
)
from search_spaces.fields import as_text
from search_spaces.knob import Dimension, Flag, JsonKey, Placement, Switch, Variable
from search_spaces.workload import Trace

if TYPE_CHECKING:
    from search_spaces.space import Override, SearchSpace

FILE_REFERENCE = re.compile(r"\$\{([^}]*)\}")
UNSAFE_ENV = re.compile(r"LD_.*|PYTHON.*|BASH_ENV")
HARMLESS_ENV = ("PYTHONHASHSEED", "PYTHONNOUSERSITE")
"""Of those that start with PYTHON, the ones that run nothing: a seed, and fewer places to import from."""


RESERVED = {CONCURRENCY: "the concurrency of a point", JUDGING: "a launch of the gate's own"}


class Fault(NamedTuple):
    """One thing that is wrong: the key path, and what to do about it."""

    path: str
    message: str


def faults(space: "SearchSpace", *, trusted: bool) -> list[Fault]:
    """Return everything that is wrong; the rules are only tried when the names and values are right."""
    found = [fault for check in CHECKS for fault in check(space)]
    if not trusted:
        found += unsafe_variables(_variables(space))
    return found or list(_behaviour(space))


def unsafe_variables(variables: Iterable[tuple[str, str]]) -> list[Fault]:
    """Return a fault for each (path, variable) that could run code of the file's author in the engine."""
    return [
        Fault(path, f"{name} may run other code in the engine; remove it, or trust this file")
        for path, name in variables
        if UNSAFE_ENV.fullmatch(name) and name not in HARMLESS_ENV
    ]


def _variables(space: "SearchSpace") -> Iterator[tuple[str, str]]:
    yield from ((f"serve.env.{name}", name) for name in space.serve.env)
    for section, placed in (("knobs", space.knobs), ("derived", space.derived)):
        yield from ((f"{section}.{key}.env", value.env) for key, value in placed.items() if value.env)


def _names(space: "SearchSpace") -> Iterator[Fault]:
    for name in (*space.knobs, *space.derived):
        if name in RESERVED:
            yield Fault(f"knobs.{name}", f"the name stands for {RESERVED[name]}; choose another")
    for name in space.derived:
        if name in space.knobs:
            yield Fault(f"derived.{name}", "a knob has this name; choose another")


def _baseline(space: "SearchSpace") -> Iterator[Fault]:
    yield from _assigned(space, "baseline", space.baseline)
    for name in space.knobs:
        if name not in space.baseline:
            yield Fault("baseline", f"no value for knob {name!r}; write {name}: one of {space.knobs[name].domain}")


def _recipes(space: "SearchSpace") -> Iterator[Fault]:
    for index, known in enumerate(space.known):
        yield from _assigned(space, f"known[{index}].set", known.set)
    if space.rehearsal:
        yield from _assigned(space, "rehearsal.baseline", space.rehearsal.baseline)
    names = [known.name for known in space.known]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Fault(f"known[{index}].name", f"{name!r} is there twice")


def _overrides(space: "SearchSpace") -> Iterator[Fault]:
    for index, override in enumerate(space.overrides):
        path = f"overrides[{index}]"
        broken = list(_condition(space, f"{path}.concurrency", CONCURRENCY, override.concurrency, {CONCURRENCY}))
        for name, value in override.set.items():
            broken += _expression(f"{path}.set.{name}", value, {CONCURRENCY})
            if name not in space.knobs:
                broken.append(Fault(f"{path}.set.{name}", f"unknown knob{nearest(name, space.knobs)}"))
        yield from broken or _override_values(space, path, override)


def _override_values(space: "SearchSpace", path: str, override: "Override") -> Iterator[Fault]:
    points = [{CONCURRENCY: concurrency} for concurrency in space.workload.concurrency]
    fitting = [point for point in points if holds({CONCURRENCY: override.concurrency}, point)]
    for name, value in override.set.items():
        found = (f for point in fitting for f in _admitted(space, f"{path}.set.{name}", name, value, point))
        yield from itertools.islice(found, 1)


def _admitted(
    space: "SearchSpace", where: str, name: str, value: Expression, values: Mapping[str, Scalar]
) -> Iterator[Fault]:
    if name not in space.knobs:
        yield Fault(where, f"unknown knob{nearest(name, space.knobs)}")
        return
    try:
        space.knobs[name].domain.admit(evaluate(value, values))
    except ValueError as error:
        yield Fault(where, str(error))


def _assigned(space: "SearchSpace", path: str, values: Mapping[str, Scalar]) -> Iterator[Fault]:
    for name, value in values.items():
        yield from _admitted(space, f"{path}.{name}", name, value, {})


def _conditions(space: "SearchSpace") -> Iterator[Fault]:
    choosable = {*space.knobs, CONCURRENCY}
    every = {*choosable, *space.derived}
    for section, placed, scope in (
        ("knobs", space.knobs, choosable),
        ("derived", space.derived, {*choosable, JUDGING}),
    ):
        for key, value in placed.items():
            for name, condition in value.when.items():
                yield from _condition(space, f"{section}.{key}.when.{name}", name, condition, scope)
    for index, rule in enumerate(space.rules):
        scope = choosable if rule.imply else every
        for kind, conditions in (("forbid", rule.forbid), ("require", rule.require), ("when", rule.when)):
            for name, condition in (conditions or {}).items():
                yield from _condition(space, f"rules[{index}].{kind}.{name}", name, condition, scope)
        for name, implied in (rule.imply or {}).items():
            path = f"rules[{index}].imply.{name}"
            yield from _expression(path, implied, choosable)
            yield from _literal(space, path, name, implied)
            if name not in space.knobs:
                yield Fault(path, f"unknown knob{nearest(name, space.knobs)}")


def _condition(
    space: "SearchSpace", path: str, name: str, comparisons: Sequence[Comparison], scope: set[str]
) -> Iterator[Fault]:
    if name not in scope:
        yield Fault(path, f"unknown knob{nearest(name, sorted(scope))}")
    for each in comparisons:
        for operand in each.operands:
            yield from _expression(path, operand, scope)
            if each.relation in {"eq", "ne", "in", "not_in"}:
                yield from _literal(space, path, name, operand)


def _expression(path: str, value: Expression, scope: set[str]) -> Iterator[Fault]:
    for name in references(value):
        if name not in scope:
            yield Fault(path, f"unknown name ${name}{nearest(name, sorted(scope))}")


def _literal(space: "SearchSpace", path: str, name: str, value: Expression) -> Iterator[Fault]:
    if name in space.knobs and not isinstance(value, Name | Operation | Lookup):
        yield from _assigned(space, path.rpartition(".")[0], {name: value})


def _derived(space: "SearchSpace") -> Iterator[Fault]:
    scope = {*space.knobs, CONCURRENCY}
    for name, derived in space.derived.items():
        yield from _expression(f"derived.{name}.value", derived.value, scope)
        scope.add(name)


def _memory(space: "SearchSpace") -> Iterator[Fault]:
    scope = {*space.knobs, *space.derived, CONCURRENCY}
    for name, value in space.memory or ():
        if isinstance(value, Name | Operation | Lookup):
            yield from _expression(f"memory.{name}", value, scope)


def _cycles(space: "SearchSpace") -> Iterator[Fault]:
    try:
        activation_order(space.knobs)
    except CycleError as error:
        yield Fault("knobs", f"a knob's when leads back to itself: {' -> '.join(error.args[1])}")


def _places(space: "SearchSpace") -> Iterator[Fault]:
    taken = {as_text(arg).partition("=")[0]: "serve.args" for arg in space.serve.args if as_text(arg)[:1] == "-"}
    taken |= {f"env {name}": f"serve.env.{name}" for name in space.serve.env}
    documents: dict[str, str] = {}
    for section, placed in (("knobs", space.knobs), ("derived", space.derived)):
        for key, value in placed.items():
            path = f"{section}.{key}"
            placement = value.placement
            if isinstance(placement, JsonKey):
                documents.setdefault(placement.flag, path)
            for place in _written(placement):
                if clash := next((other for other in taken if _overlap(place, other)), None):
                    yield Fault(path, f"{place} is already written by {taken[clash]}")
                taken[place] = path
    for flag, path in documents.items():
        if flag in taken:
            yield Fault(path, f"{flag} is already written by {taken[flag]}")


def _overlap(place: str, other: str) -> bool:
    return place == other or place.startswith(f"{other}.") or other.startswith(f"{place}.")


def _written(placement: Placement | None) -> tuple[str, ...]:
    match placement:
        case Flag(names):
            return names
        case Switch(name):
            return (name, placement.negative)
        case JsonKey(flag, path):
            return (f"{flag} {'.'.join(path)}",)
        case Variable(name):
            return (f"env {name}",)
        case Dimension(name):
            return (f"layout {name}",)
        case _:
            return ()


def _silent(space: "SearchSpace") -> Iterator[Fault]:
    used = set(_used(space))
    for section, placed in (("knobs", space.knobs), ("derived", space.derived)):
        for name, value in placed.items():
            if value.placement is None and name not in used:
                yield Fault(f"{section}.{name}", "writes nothing and nothing refers to it; give it a flag, env or json")


def _used(space: "SearchSpace") -> Iterator[str]:
    conditions = [value.when for value in (*space.knobs.values(), *space.derived.values())]
    conditions += [each for rule in space.rules for each in (rule.forbid, rule.require, rule.when) if each]
    for condition in conditions:
        yield from condition_references(condition)
    for derived in space.derived.values():
        yield from references(derived.value)
    for rule in space.rules:
        yield from (name for value in (rule.imply or {}).values() for name in references(value))


def _files(space: "SearchSpace") -> Iterator[Fault]:
    texts = [(f"serve.args[{index}]", arg) for index, arg in enumerate(space.serve.args)]
    texts += [(f"serve.env.{name}", value) for name, value in space.serve.env.items()]
    for path, text in texts:
        for name in FILE_REFERENCE.findall(as_text(text)):
            if name not in space.target.files:
                yield Fault(path, f"unknown file ${{{name}}}{nearest(name, space.target.files)}")


def _weights(space: "SearchSpace") -> Iterator[Fault]:
    ladder = space.workload.concurrency
    for concurrency in space.objective.weights:
        if concurrency not in ladder:
            yield Fault(f"objective.weights.{concurrency}", f"not on the ladder {', '.join(map(str, ladder))}")


def _beside(space: "SearchSpace") -> Iterator[Fault]:
    there = {**space.knobs, **space.derived}
    for name in space.defaults.keep:
        if name not in there:
            yield Fault("defaults.keep", f"unknown knob {name!r}{nearest(name, there)}")
    ladder = space.workload.concurrency
    for concurrency in space.reference.figures if space.reference else ():
        if concurrency not in ladder:
            yield Fault(f"reference.figures.{concurrency}", f"not on the ladder {', '.join(map(str, ladder))}")


def _load(space: "SearchSpace") -> Iterator[Fault]:
    ladder = space.workload.concurrency
    for concurrency in space.workload.window_sd:
        if concurrency not in ladder:
            yield Fault(f"workload.window_sd.{concurrency}", f"not on the ladder {', '.join(map(str, ladder))}")
    if isinstance(space.workload.shape, Trace) and space.deadlines.load_s is None:
        yield Fault("deadlines", "a trace lasts as long as its sessions; write load_s: seconds a point may take")


CHECKS: tuple[Callable[["SearchSpace"], Iterator[Fault]], ...] = (
    _names,
    _baseline,
    _recipes,
    _overrides,
    _conditions,
    _derived,
    _memory,
    _cycles,
    _places,
    _silent,
    _files,
    _weights,
    _beside,
    _load,
)


def _behaviour(space: "SearchSpace") -> Iterator[Fault]:
    starts = {"baseline": space.baseline}
    starts |= {f"known[{index}]": {**space.baseline, **known.set} for index, known in enumerate(space.known)}
    if space.rehearsal:
        starts["rehearsal"] = {**space.baseline, **space.rehearsal.baseline}
    for path, config in starts.items():
        for concurrency in space.workload.concurrency:
            try:
                values = values_at(space, config, concurrency)
            except RuleBroken as broken:
                yield Fault(path, f"at concurrency {concurrency} it breaks a rule: {broken}")
                break
            base = baseline_at(space, concurrency)
            moved = [name for name in space.knobs if values[name] != base[name]] if path == "baseline" else []
            if moved:
                yield Fault(path, f"at concurrency {concurrency} a rule implies another {', '.join(moved)}")
                break
