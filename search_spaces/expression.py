"""
Arithmetic and conditions in a space file: parsed once, evaluated without `eval`.

An expression is a scalar, `$name`, or one operator over a list: `{floor_div: [254, $tp]}`. One operator is a table:
`{lookup: [$drafts, [2, 2.51], [6, 3.75]]}`.
A condition is a scalar (equals), a list (one of) or relations: `{ge: 2, le: $batch}`, all of which must hold.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from search_spaces.errors import nearest

Scalar: TypeAlias = bool | int | float | str
Number: TypeAlias = int | float


class ExpressionError(ValueError):
    """An expression cannot be read, or has no value here."""


@dataclass(frozen=True)
class Name:
    """A reference, written `$name`: to a knob, a derived value or the concurrency."""

    name: str


@dataclass(frozen=True)
class Operation:
    """An operator over its operands, written `{mul: [2, $concurrency]}`."""

    operator: str
    operands: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Lookup:
    """A table: the value of the row whose key the subject equals, written `{lookup: [$kv, [auto, 2], [fp8, 1]]}`."""

    subject: "Expression"
    rows: "tuple[tuple[Scalar, Expression], ...]"


Expression: TypeAlias = bool | int | float | str | Name | Operation | Lookup


@dataclass(frozen=True)
class Comparison:
    """A relation to one operand, or for `in` and `not_in` to several."""

    relation: str
    operands: tuple[Expression, ...]


Conditions: TypeAlias = Mapping[str, tuple[Comparison, ...]]


def _divide(left: Number, right: Number) -> Number:
    quotient = left / right
    exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
    return left // right if exact else quotient


def _round_down(value: Number, multiple: Number) -> Number:
    return value // multiple * multiple


BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "sub": operator.sub,
    "div": _divide,
    "floor_div": operator.floordiv,
    "round_down": _round_down,
}
VARIADIC: Mapping[str, Callable[[Sequence[Number]], Number]] = {
    "add": sum,
    "mul": math.prod,
    "min": min,
    "max": max,
}
LOOKUP = "lookup"
OPERATORS = (*BINARY, *VARIADIC, LOOKUP)
ORDER: Mapping[str, Callable[[Number, Number], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
RELATIONS = ("eq", "ne", *ORDER, "in", "not_in")

_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")


def scalar(value: object) -> Scalar:
    """
    Return `value` if it is a finite number, a boolean or a word.

    Raises:
        ExpressionError: Otherwise.

    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError(f"{value} is not a finite number")
    if isinstance(value, bool | int | float | str):
        return value
    shown = "null" if value is None else repr(value)
    raise ExpressionError(f"{shown} is no value; write a number, a word, true or false")


def parse_expression(value: object) -> Expression:
    """
    Return the expression that plain YAML data stand for.

    Raises:
        ExpressionError: An unknown operator, or the wrong number of operands.

    """
    if isinstance(value, str) and value.startswith("$"):
        found = _REFERENCE.fullmatch(value)
        if found is None:
            raise ExpressionError(f"{value!r} is no reference; write $name")
        return Name(found[1])
    if isinstance(value, Mapping):
        return _parse_operation(value)
    return scalar(value)


def _parse_operation(value: Mapping[object, object]) -> Operation | Lookup:
    if len(value) != 1:
        raise ExpressionError(f"an expression has one operator, not {len(value)}")
    [(name, operands)] = value.items()
    if name not in OPERATORS:
        raise ExpressionError(f"unknown operator {name!r}{nearest(str(name), OPERATORS)}")
    if not isinstance(operands, list | tuple):
        raise ExpressionError(f"{name} takes a list of operands")
    if name in BINARY and len(operands) != 2:  # noqa: PLR2004 binary means two
        raise ExpressionError(f"{name} takes two operands, not {len(operands)}")
    if not operands:
        raise ExpressionError(f"{name} takes at least one operand")
    if name == LOOKUP:
        return _parse_lookup(operands)
    return Operation(str(name), tuple(parse_expression(operand) for operand in operands))


def _parse_lookup(operands: Sequence[object]) -> Lookup:
    subject, *written = operands
    rows = tuple(_parse_row(row) for row in written)
    keys = [key for key, _ in rows]
    if twice := [key for at, key in enumerate(keys) if any(same(key, other) for other in keys[:at])]:
        raise ExpressionError(f"{LOOKUP} has two rows for {expression_words(twice[0])}")
    if not rows:
        raise ExpressionError(f"{LOOKUP} takes what is looked up, then rows: [key, value]")
    return Lookup(parse_expression(subject), rows)


def _parse_row(row: object) -> tuple[Scalar, Expression]:
    if not isinstance(row, list | tuple) or len(row) != 2:  # noqa: PLR2004 a pair
        raise ExpressionError(f"a row of {LOOKUP} is [key, value], not {row!r}")
    key, value = row
    return scalar(key), parse_expression(value)


def parse_condition(value: object) -> tuple[Comparison, ...]:
    """
    Return the comparisons that plain YAML data stand for; all of them must hold.

    Raises:
        ExpressionError: An unknown relation, or an operand that cannot be read.

    """
    if isinstance(value, list | tuple):
        return (_parse_comparison("in", value),)
    if isinstance(value, Mapping) and not set(value) & set(OPERATORS):
        if not value:
            raise ExpressionError(f"an empty condition; known: {', '.join(RELATIONS)}")
        return tuple(_parse_comparison(relation, operand) for relation, operand in value.items())
    return (_parse_comparison("eq", value),)


def _parse_comparison(relation: object, operand: object) -> Comparison:
    if relation not in RELATIONS:
        raise ExpressionError(f"unknown relation {relation!r}{nearest(str(relation), RELATIONS)}")
    if relation not in {"in", "not_in"}:
        return Comparison(str(relation), (parse_expression(operand),))
    if not isinstance(operand, list | tuple) or not operand:
        raise ExpressionError(f"{relation} takes a list of values")
    return Comparison(str(relation), tuple(parse_expression(each) for each in operand))


def plain(expression: Expression) -> object:
    """Return the YAML data that parse to `expression`."""
    match expression:
        case Name(name):
            return f"${name}"
        case Operation(name, operands):
            return {name: [plain(operand) for operand in operands]}
        case Lookup(subject, rows):
            return {LOOKUP: [plain(subject), *([key, plain(value)] for key, value in rows)]}
        case _:
            return expression


def plain_condition(comparisons: Sequence[Comparison]) -> object:
    """Return the YAML data that parse to `comparisons`."""
    return {
        each.relation: [plain(o) for o in each.operands]
        if each.relation in {"in", "not_in"}
        else plain(each.operands[0])
        for each in comparisons
    }


def references(expression: Expression) -> Iterator[str]:
    """Yield every name that `expression` refers to."""
    match expression:
        case Name(name):
            yield name
        case Operation(_, operands):
            for operand in operands:
                yield from references(operand)
        case Lookup(subject, rows):
            yield from references(subject)
            for _, value in rows:
                yield from references(value)
        case _:
            return


def condition_references(conditions: Conditions) -> Iterator[str]:
    """Yield every name that conditions are about or refer to."""
    for name, comparisons in conditions.items():
        yield name
        for each in comparisons:
            for operand in each.operands:
                yield from references(operand)


def evaluate(expression: Expression, values: Mapping[str, Scalar]) -> Scalar:
    """
    Return the value of `expression` where each name has the given value.

    Raises:
        ExpressionError: An unknown name, a division by zero, arithmetic on a word, or no row in a table.

    """
    match expression:
        case Name(name) if name in values:
            return values[name]
        case Name(name):
            raise ExpressionError(f"unknown name ${name}{nearest(name, values)}")
        case Operation(name, operands):
            return _compute(name, [_number(name, evaluate(operand, values)) for operand in operands])
        case Lookup(subject, rows):
            return evaluate(_row(evaluate(subject, values), rows), values)
        case _:
            return expression


def _row(key: Scalar, rows: Sequence[tuple[Scalar, Expression]]) -> Expression:
    for each, value in rows:
        if same(each, key):
            return value
    known = ", ".join(expression_words(each) for each, _ in rows)
    raise ExpressionError(f"{LOOKUP} has no row for {expression_words(key)}; it has {known}")


def _compute(name: str, operands: Sequence[Number]) -> Number:
    if name in VARIADIC:
        return VARIADIC[name](operands)
    left, right = operands
    try:
        return BINARY[name](left, right)
    except ZeroDivisionError:
        raise ExpressionError(f"{name} [{left}, {right}] divides by zero") from None


def _number(name: str, value: Scalar) -> Number:
    if isinstance(value, bool | str):
        raise ExpressionError(f"{name} needs numbers, not {value!r}")
    return value


def same(left: Scalar, right: Scalar) -> bool:
    """Return whether two values are one: 1 is 1.0, but true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def holds(conditions: Conditions, values: Mapping[str, Scalar]) -> bool:
    """
    Return whether every condition holds; an order between a number and a word never does.

    Raises:
        ExpressionError: A name without a value.

    """
    return all(
        _relates(evaluate(Name(name), values), each.relation, [evaluate(o, values) for o in each.operands])
        for name, comparisons in conditions.items()
        for each in comparisons
    )


def _relates(left: Scalar, relation: str, operands: Sequence[Scalar]) -> bool:
    if relation in ORDER:
        right = operands[0]
        words = isinstance(left, bool | str) or isinstance(right, bool | str)
        return not words and ORDER[relation](left, right)  # type: ignore[arg-type]  # words are sorted out
    among = any(same(left, right) for right in operands)
    return among == (relation in {"eq", "in"})


def words(conditions: Conditions) -> str:
    """Return the conditions as a reader says them: `flash_attn is off and cache_type is q8_0 or q4_0`."""
    return " and ".join(
        f"{name} {_RELATION_WORDS[each.relation]} {' or '.join(expression_words(o) for o in each.operands)}"
        for name, comparisons in conditions.items()
        for each in comparisons
    )


def expression_words(expression: Expression) -> str:
    """Return an expression on one line: `floor_div [254, $tp]`."""
    match expression:
        case Operation(name, operands):
            return f"{name} [{', '.join(expression_words(operand) for operand in operands)}]"
        case Lookup(subject, rows):
            table = ", ".join(f"{expression_words(key)}: {expression_words(value)}" for key, value in rows)
            return f"{LOOKUP} {expression_words(subject)} [{table}]"
        case bool():
            return str(expression).lower()
        case Name(name):
            return f"${name}"
        case _:
            return str(expression)


_RELATION_WORDS: Mapping[str, str] = {
    "eq": "is",
    "ne": "is not",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "in": "is",
    "not_in": "is not",
}
