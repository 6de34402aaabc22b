"""Whether a test holds: `[ ]`, `[[ ]]` and `(( ))`."""

import operator
from collections.abc import Callable, Mapping

from autotune.importing.arithmetic import number, total
from autotune.importing.shell import Shell, Undecided
from autotune.importing.syntax import Node, line, written
from autotune.importing.words import assume, matches, text

NUMERIC: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
OPENING = ("[", "[[", "((", "(")


def holds(node: Node, shell: Shell) -> bool:
    """
    Return whether a test holds; an absent variable is empty, and the shell remembers that this was assumed.

    Raises:
        Undecided: It needs what is not known: a program, a file, or an expression that is not read.
    """
    parts = node.children
    if node.type in {"test_command", "parenthesized_expression"} and parts[0].type in OPENING and len(parts) == 3:  # noqa: PLR2004 [ x ]
        return holds(parts[1], shell)
    if node.type == "compound_statement":
        return _counts(node, shell)
    if node.type == "unary_expression":
        return _unary(written(parts[0]), parts[1], shell)
    if node.type == "binary_expression" and len(parts) == 3:  # noqa: PLR2004 a = b
        return _binary(parts[0], written(parts[1]), parts[2], shell)
    if node.type in {"word", "string", "raw_string", "number", "simple_expansion", "expansion", "concatenation"}:
        return assume(text(node, shell), node, shell) != ""
    raise Undecided(f"`{written(node)}` is a test that is not read")


def _counts(node: Node, shell: Shell) -> bool:
    value, absent = total(node, shell)
    for name in sorted(absent):
        shell.assumed.setdefault(name, line(node))
    return value != 0


def _unary(sign: str, operand: Node, shell: Shell) -> bool:
    if sign == "!":
        return not holds(operand, shell)
    if sign == "-v":
        given = shell.lookup(written(operand)) is not None
        if not given:
            shell.assumed.setdefault(written(operand), line(operand))
        return given
    if sign in {"-n", "-z"} and operand.type not in {"binary_expression", "unary_expression"}:
        return (assume(text(operand, shell), operand, shell) == "") == (sign == "-z")
    raise Undecided(f"`{sign} {written(operand)}` asks this machine")


def _binary(left: Node, sign: str, right: Node, shell: Shell) -> bool:
    if sign in {"&&", "||"}:
        return _either(left, right, shell, stop_at=sign == "||")
    if sign in {"=", "==", "!="}:
        return matches(text(left, shell), right, shell, at=left) == (sign != "!=")
    if sign in NUMERIC:
        one, other = (assume(text(side, shell), side, shell) for side in (left, right))
        try:
            return NUMERIC[sign](number(one), number(other))
        except ValueError:
            return False  # bash says so too, after a complaint
    raise Undecided(f"`{sign}` is a test that is not read")


def _either(left: Node, right: Node, shell: Shell, *, stop_at: bool) -> bool:
    """Return `left || right`, or with `stop_at` false `left && right`: one side may decide without the other."""
    try:
        first = holds(left, shell)
    except Undecided:
        if holds(right, shell) == stop_at:
            return stop_at
        raise
    return first if first == stop_at else holds(right, shell)
