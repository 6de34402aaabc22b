"""Whole-number arithmetic as bash does it, in `$(( ))` and `(( ))`."""

import operator
from collections.abc import Callable, Mapping

from autotune.importing.shell import Known, Shell, Undecided, Unknown
from autotune.importing.syntax import Node, written

LARGEST = 2**63


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


def total(node: Node, shell: Shell) -> tuple[int, frozenset[str]]:
    """
    Return the value of an expression, and the absent variables in it, which count as 0.

    Raises:
        Undecided: It needs what is not known, divides by zero, or assigns something.
    """
    parts = [child for child in node.children if child.type not in {"$((", "((", "))", "(", ")"}]
    if node.type in {"number", "variable_name", "word", "simple_expansion", "expansion"}:
        return _operand(node, shell)
    if node.type == "ternary_expression" and len(parts) == 5:  # noqa: PLR2004 a ? b : c
        condition, absent = total(parts[0], shell)
        value, more = total(parts[2] if condition else parts[4], shell)
        return value, absent | more
    if node.type == "binary_expression" and len(parts) == 3 and written(parts[1]) in BINARY:  # noqa: PLR2004 a + b
        left, absent = total(parts[0], shell)
        right, more = total(parts[2], shell)
        return _applied(written(parts[1]), left, right), absent | more
    if node.type == "unary_expression" and written(parts[0]) in UNARY:
        value, absent = total(parts[1], shell)
        return int(UNARY[written(parts[0])](value)), absent
    if len(parts) == 1 and node.type in {"arithmetic_expansion", "compound_statement", "parenthesized_expression"}:
        return total(parts[0], shell)
    raise Undecided(f"`{written(node)}` is arithmetic that is not read")


def _applied(sign: str, left: int, right: int) -> int:
    if sign in {"/", "%"} and right == 0:
        raise Undecided(f"`{left} {sign} {right}` divides by zero")
    value = int(BINARY[sign](left, right))
    if abs(value) >= LARGEST:
        raise Undecided(f"`{left} {sign} {right}` is larger than bash counts")
    return value


def _operand(node: Node, shell: Shell) -> tuple[int, frozenset[str]]:
    name = written(node).strip().strip("${}")
    if node.type == "number":
        value = Known(name)
    else:
        found = shell.text(name)
        if isinstance(found, Unknown):
            raise Undecided(found.because)
        value = found
    try:
        return number(value.text or "0"), value.absent
    except ValueError:
        raise Undecided(f"`{written(node).strip()}` is {value.text!r}, which is no whole number") from None
