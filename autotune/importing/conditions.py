"""Whether a test holds: `[ ]`, `[[ ]]` and `(( ))`."""

import operator
from collections.abc import Callable, Mapping

from autotune.importing.arithmetic import evaluated, number
from autotune.importing.shell import Shell, Undecided, Unknown
from autotune.importing.syntax import Node, descendants, written
from autotune.importing.words import assume, fields, matches, text

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
    if parts and written(parts[0]) == "[" and any(written(each) in {"-a", "-o"} for each in descendants(node)):
        raise Undecided(f"`{written(node)}` has -a or -o, and they are not read")
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
    value, absent = evaluated(node, shell, text)
    shell.assume_empty(node, absent)
    return value != 0


def _unary(sign: str, operand: Node, shell: Shell) -> bool:
    if sign == "!":
        return not holds(operand, shell)
    if sign == "-v":
        given = shell.lookup(written(operand)) is not None
        if not given:
            shell.assume_empty(operand, [written(operand)])
        return given
    if sign in {"-n", "-z"} and operand.type not in {"binary_expression", "unary_expression"}:
        if _bare(operand) and _words(operand, shell) == 0:
            return True  # there is but the sign, and that is a text
        return (assume(text(operand, shell), operand, shell) == "") == (sign == "-z")
    raise Undecided(f"`{sign} {written(operand)}` asks this machine")


def _binary(left: Node, sign: str, right: Node, shell: Shell) -> bool:
    if sign in {"&&", "||"}:
        return _either(left, right, shell, stop_at=sign == "||")
    plain = _bare(left)
    if plain and 0 in {_words(left, shell), _words(right, shell)}:
        return _malformed(left, right)
    if plain and sign in {"=", "==", "!="}:
        one, other = (assume(text(side, shell), side, shell) for side in (left, right))
        return (one == other) == (sign != "!=")
    if sign in {"=", "==", "!="}:
        return matches(text(left, shell), right, shell, at=left) == (sign != "!=")
    if sign in NUMERIC:
        one, other = (assume(text(side, shell), side, shell) for side in (left, right))
        try:
            return NUMERIC[sign](*(_decimal(each) if plain else _counted(each) for each in (one, other)))
        except ValueError:
            return False  # bash says so too, after a complaint
    raise Undecided(f"`{sign}` is a test that is not read")


def _bare(node: Node) -> bool:
    """Return whether a node is within `[ ]`, where words are split and nothing is a pattern."""
    within = node.parent
    while within is not None and within.type in {"binary_expression", "unary_expression", "parenthesized_expression"}:
        within = within.parent
    return within is not None and written(within.children[0]) == "["


def _words(side: Node, shell: Shell) -> int:
    """
    Return how many words one side of a `[ ]` is: one where it is quoted, none where it is an empty variable.

    Raises:
        Undecided: There are several, or it is an expression.
    """
    if side.type in {"binary_expression", "unary_expression"}:
        raise Undecided(f"`{written(side)}` in a test is not read")
    assume(text(side, shell), side, shell)
    words = [word for word in fields(side, shell) if isinstance(word, Unknown) or not word.omitted]
    if len(words) > 1:
        raise Undecided(f"`{written(side)}` is {len(words)} words")
    return len(words)


def _malformed(left: Node, right: Node) -> bool:
    """Return that `[ = x ]` fails, as an empty variable is not quoted."""
    around = left.parent.parent if left.parent is not None else None
    if around is None or around.type != "test_command":
        raise Undecided(f"`{written(left)}` or `{written(right)}` is no word")
    return False


def _decimal(digits: str) -> int:
    return int(digits.strip(), 10)


def _counted(expression: str) -> int:
    """
    Return what `[[ ]]` counts with.

    Raises:
        Undecided: It is an expression, or the name of a variable.
    """
    try:
        return number(expression.strip() or "0")
    except ValueError:
        raise Undecided(f"`{expression}` is arithmetic that is not read") from None


def _either(left: Node, right: Node, shell: Shell, *, stop_at: bool) -> bool:
    """Return `left || right`, or with `stop_at` false `left && right`: one side may decide without the other."""
    try:
        first = holds(left, shell)
    except Undecided:
        if holds(right, shell) == stop_at:
            return stop_at
        raise
    return first if first == stop_at else holds(right, shell)
