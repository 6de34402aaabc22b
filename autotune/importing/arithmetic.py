"""Whole-number arithmetic as bash does it, in `$(( ))` and `(( ))`."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from autotune.importing.shell import Known, Shell, Undecided, Unknown, Value
from autotune.importing.syntax import Node, written

Expand: TypeAlias = Callable[[Node, Shell], Value]
"""Returns the value of `$name` or of `${...}`."""
LARGEST = 2**63
SIGNS = ("$((", "((", "))", "(", ")", "$[", "]")
CHANGE = re.compile(
    r"""([A-Za-z_]\w*) (?:\[[^]]*\])? \s* (?: \+\+ | -- | (?:[-+*/%&|^] | << | >>)? =(?!=) )
    | (?:\+\+ | --) \s* ([A-Za-z_]\w*)""",
    re.VERBOSE,
)
"""An assignment, an increment or a decrement."""


def _quotient(left: int, right: int) -> int:
    """Divide as C does: towards zero."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


BINARY: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _remainder,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": lambda left, right: bool(left) and bool(right),
    "||": lambda left, right: bool(left) or bool(right),
}
UNARY: Mapping[str, Callable[[int], int]] = {"-": operator.neg, "+": operator.pos, "!": operator.not_}


def number(text: str) -> int:
    """
    Return the whole number that bash reads in `text`: decimal, octal with a 0 in front, or hexadecimal.

    Raises:
        ValueError: It is none.
    """
    digits = text.strip()
    sign, size = (-1, digits[1:]) if digits.startswith("-") else (1, digits)
    if size.lower().startswith("0x"):
        return sign * int(size, 16)
    return sign * int(size, 8 if size.startswith("0") and len(size) > 1 else 10)


def changes(expression: str) -> list[str]:
    """Return the variables that an expression assigns, increments or decrements."""
    return list(dict.fromkeys(found[1] or found[2] for found in CHANGE.finditer(expression)))


def evaluated(node: Node, shell: Shell, expand: Expand) -> tuple[int, frozenset[str]]:
    """
    Return the value of `$(( ))` or `(( ))`, and the absent variables in it; what it assigns is not known after it.

    Raises:
        Undecided: As `total`.
    """
    names = changes(written(node))
    for name in names:
        shell.doubt(name, f"`{written(node).strip()}` is arithmetic that assigns, and that is not read")
    if names:
        shell.miss(node, f"`{written(node).strip()}` is not read; not known then: {', '.join(names)}")
    return total(node, shell, expand)


def total(node: Node, shell: Shell, expand: Expand) -> tuple[int, frozenset[str]]:
    """
    Return the value of an expression, and the absent variables in it, which count as 0.

    Raises:
        Undecided: It needs what is not known, divides by zero, or assigns something.
    """
    parts = [child for child in node.children if child.type not in SIGNS]
    if node.type in {"number", "variable_name", "word", "simple_expansion", "expansion"}:
        return _operand(node, shell, expand)
    if node.type == "ternary_expression" and len(parts) == 5:  # noqa: PLR2004 a ? b : c
        condition, absent = total(parts[0], shell, expand)
        value, more = total(parts[2] if condition else parts[4], shell, expand)
        return value, absent | more
    if node.type == "binary_expression" and len(parts) == 3 and written(parts[1]) in BINARY:  # noqa: PLR2004 a + b
        left, absent = total(parts[0], shell, expand)
        right, more = total(parts[2], shell, expand)
        return _applied(written(parts[1]), left, right), absent | more
    if node.type == "unary_expression" and written(parts[0]) in UNARY:
        value, absent = total(parts[1], shell, expand)
        return int(UNARY[written(parts[0])](value)), absent
    if len(parts) == 1 and node.type in {"arithmetic_expansion", "compound_statement", "parenthesized_expression"}:
        return total(parts[0], shell, expand)
    raise Undecided(f"`{written(node)}` is arithmetic that is not read")


def _applied(sign: str, left: int, right: int) -> int:
    if sign in {"/", "%"} and right == 0:
        raise Undecided(f"`{left} {sign} {right}` divides by zero")
    value = int(BINARY[sign](left, right))
    if abs(value) >= LARGEST:
        raise Undecided(f"`{left} {sign} {right}` is larger than bash counts")
    return value


def _operand(node: Node, shell: Shell, expand: Expand) -> tuple[int, frozenset[str]]:
    name = written(node).strip().strip("${}")
    if node.type == "number" or (name[:1].isdigit() and "$" not in written(node)):
        value = Known(name)
    else:
        found = expand(node, shell) if node.type in {"simple_expansion", "expansion"} else shell.text(name)
        if isinstance(found, Unknown):
            raise Undecided(found.because)
        value = found
    try:
        return number(value.text or "0"), value.absent
    except ValueError:
        raise Undecided(f"`{written(node).strip()}` is {value.text!r}, which is no whole number") from None
