"""What bash makes of a word: its quotes, variables and defaults, split into the arguments that a program gets."""

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import translate
from typing import TypeAlias

from autotune.importing.arithmetic import total
from autotune.importing.shell import Known, Shell, Undecided, Unknown, Value, joined
from autotune.importing.syntax import Node, line, pieces, written

BRACES = re.compile(r"(?<![$\\])\{[^{}\s]*(,|\.\.)[^{}\s]*\}")
QUOTED_ESCAPE = re.compile(r'\\([\\"$`]|\n)')
ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
ANSI_C = {r"\n": "\n", r"\t": "\t", r"\'": "'", r"\"": '"', r"\\": "\\"}
DEFAULTS = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
CASES: Mapping[str, Callable[[str], str]] = {",,": str.lower, "^^": str.upper}
PROGRAM = "it comes from a program, and none is run"


class Break:
    """Where one argument ends and the next begins."""


BREAK = Break()
Part: TypeAlias = Value | Break


def fields(node: Node, shell: Shell) -> list[Value]:
    """Return the arguments that a word becomes; none for an unquoted variable that is empty."""
    if strange := _strange(node):
        return [Unknown(written(node), strange)]
    found: list[list[Value]] = [[]]
    for part in _parts(node, shell, quoted=False):
        if isinstance(part, Break):
            found.append([])
        else:
            found[-1].append(part)
    return [joined(parts) for parts in found if parts]


def text(node: Node, shell: Shell) -> Value:
    """Return a word as one text, as in an assignment or a test."""
    return joined([Known(" ") if isinstance(part, Break) else part for part in _parts(node, shell, quoted=True)])


def elements(node: Node, shell: Shell) -> tuple[Value, ...]:
    """Return the elements of `(...)`."""
    words = [child for child in node.named_children if child.type != "comment"]
    values = [value for word in words for value in fields(word, shell)]
    for value in values:
        if isinstance(value, Known) and value.omitted:
            assume(value, node, shell)
    return tuple(value for value in values if isinstance(value, Unknown) or not value.omitted)


def matches(value: Value, pattern: Node, shell: Shell, *, at: Node) -> bool:
    """
    Return whether a text fits a pattern of `case` or of `==`; what is quoted in it stands for itself.

    Raises:
        Undecided: One of them is not known.
    """
    found, expected = assume(value, at, shell), assume(text(pattern, shell), pattern, shell)
    if pattern.type in {"string", "raw_string"}:
        return found == expected
    if pattern.type == "concatenation" and any(child.type in {"string", "raw_string"} for child in pattern.children):
        raise Undecided(f"`{written(pattern)}` is a pattern that is not read")
    return re.fullmatch(translate(expected), found) is not None


def assume(value: Value, node: Node, shell: Shell) -> str:
    """
    Return the text that something is decided by, and remember which absent variables that takes for empty.

    Raises:
        Undecided: It is not known.
    """
    if isinstance(value, Unknown):
        raise Undecided(value.because)
    for name in sorted(value.absent):
        shell.assumed.setdefault(name, line(node))
    return value.text


def _strange(node: Node) -> str | None:
    """Say what an unquoted word has that bash replaces by what only the machine knows."""
    if node.type not in {"word", "concatenation"}:
        return None
    if written(node).startswith("~"):
        return "`~` is a home folder"
    return "braces are not expanded" if BRACES.search(written(node)) else None


def _parts(node: Node, shell: Shell, *, quoted: bool) -> Iterator[Part]:
    match node.type:
        case "string" | "heredoc_body":
            yield from _quoted(node, shell)
        case "raw_string":
            yield Known(written(node)[1:-1])
        case "ansi_c_string":
            yield Known(re.sub(r"\\.", lambda found: ANSI_C.get(found[0], found[0]), written(node)[2:-1]))
        case "concatenation" | "command_name":
            for child in node.children:
                yield from _parts(child, shell, quoted=quoted)
        case "simple_expansion" | "expansion":
            yield from _expanded(node, shell, quoted=quoted)
        case "arithmetic_expansion":
            yield _computed(node, shell)
        case "command_substitution" | "process_substitution":
            yield Unknown(written(node).strip(), f"`{written(node).strip()}`: {PROGRAM}")
        case "translated_string" | "brace_expression":
            yield Unknown(written(node), f"`{written(node)}` is not read")
        case _:
            yield Known(ESCAPE.sub(lambda found: found[1].strip("\n"), written(node)))


def _quoted(node: Node, shell: Shell) -> Iterator[Part]:
    """Yield what is within double quotes; nothing at all for an empty `"${array[@]}"`."""
    inside = [piece for piece in pieces(node) if isinstance(piece, str) or piece.type not in {'"', "heredoc_end"}]
    if not (len(inside) == 1 and isinstance(inside[0], Node) and _every_element(inside[0])):
        yield Known("")
    for piece in inside:
        if isinstance(piece, str) or piece.type in {"string_content", "heredoc_content"}:
            words = piece if isinstance(piece, str) else written(piece)
            yield Known(QUOTED_ESCAPE.sub(lambda found: found[1].strip("\n"), words))
        else:
            yield from _parts(piece, shell, quoted=True)


def _every_element(node: Node) -> bool:
    return re.fullmatch(r"\$(@|\{\w+\[@\]\}|\{@\})", written(node).strip()) is not None


def _computed(node: Node, shell: Shell) -> Value:
    try:
        value, absent = total(node, shell)
    except Undecided as missing:
        return Unknown(written(node).strip(), str(missing))
    return Known(str(value), absent)


def _expanded(node: Node, shell: Shell, *, quoted: bool) -> Iterator[Part]:
    if _every_element(node):
        name = written(node).strip().strip("${}").removesuffix("[@]")
        values: list[Value] = list(shell.arguments if name == "@" else shell.elements(name))
        for place, value in enumerate(values):
            if place:
                yield BREAK
            yield from [value] if quoted else _split(value)
        return
    value = expansion(node, shell)
    yield from [value] if quoted else _split(value)


def _split(value: Value) -> Iterator[Part]:
    """Split the value of an unquoted variable at its blanks."""
    if isinstance(value, Unknown):
        yield value
        return
    words = value.text.split()
    if value.text[:1].isspace():
        yield BREAK
    for place, word in enumerate(words):
        if place:
            yield BREAK
        yield Known(word, value.absent)
    if value.text[-1:].isspace() and words:
        yield BREAK
    if not words and value.absent:
        yield Known("", value.absent, omitted=True)


def expansion(node: Node, shell: Shell) -> Value:
    """Return the value of `$name` or of `${...}`."""
    source = written(node).strip()
    inside = [child for child in node.children if child.type not in {"$", "${", "}"} and not _opens(child)]
    if len(inside) == 1 and inside[0].type == "variable_name":
        name = written(inside[0])
        return _argument(int(name), shell) if name.isdigit() else shell.text(name)
    if len(inside) == 1 and inside[0].type == "subscript":
        return _element(inside[0], shell)
    if written(node).strip().startswith("${#"):
        return _length(inside, source, shell)
    if len(inside) >= 2 and inside[0].type == "variable_name":  # noqa: PLR2004 a name and an operator
        return _operated(source, written(inside[0]), written(inside[1]), inside[2:], shell)
    return Unknown(source, f"`{source}` is not read")


def _opens(child: Node) -> bool:
    return written(child).strip() in {"${", "$"}


def _argument(place: int, shell: Shell) -> Value:
    if place == 0:
        return Unknown("$0", "it is the script's own path")
    return shell.arguments[place - 1] if place <= len(shell.arguments) else Known("", frozenset({str(place)}))


def _element(subscript: Node, shell: Shell) -> Value:
    name, place = written(subscript.children[0]), written(subscript.children[2])
    values = shell.elements(name)
    if place in {"@", "*"}:
        return joined([part for value in values for part in (Known(" "), value)][1:])
    if place.lstrip("-").isdigit():
        at = int(place)
        return values[at] if -len(values) <= at < len(values) else Known("")
    return Unknown(written(subscript), f"`{written(subscript)}` is not read")


def _length(inside: list[Node], source: str, shell: Shell) -> Value:
    counted = inside[-1]
    if counted.type == "subscript":
        return Known(str(len(shell.elements(written(counted.children[0])))))
    if counted.type == "variable_name" and len(inside) == 2:  # noqa: PLR2004 # and a name
        value = shell.text(written(counted))
        return value if isinstance(value, Unknown) else Known(str(len(value.text)), value.absent)
    return Unknown(source, f"`{source}` is not read")


def _operated(source: str, name: str, sign: str, operands: list[Node], shell: Shell) -> Value:
    """Return `${name sign operand}`."""
    value = shell.text(name)
    if sign in DEFAULTS:
        if isinstance(value, Unknown) and sign.startswith(":"):
            return value
        return _default(name, sign, joined([text(operand, shell) for operand in operands]), shell)
    if isinstance(value, Unknown):
        return Unknown(source, value.because)
    if sign in {"#", "##", "%", "%%"} and [operand.type for operand in operands] in (["regex"], ["word"]):
        return Known(_stripped(value.text, sign, written(operands[0])), value.absent)
    if sign in CASES and not operands:
        return Known(CASES[sign](value.text), value.absent)
    return Unknown(source, f"`{source}` is not read")


def _default(name: str, sign: str, other: Value, shell: Shell) -> Value:
    """Return a variable or what stands in for it; with a colon also where it is empty."""
    given = shell.lookup(name) is not None and not (sign.startswith(":") and shell.text(name).text == "")
    match sign[-1]:
        case "+":
            return other if given else Known("")
        case "=" if not given:
            shell.assign(name, other)
            return other
        case "-" if not given:
            return other
    return shell.text(name)


def _stripped(value: str, sign: str, pattern: str) -> str:
    """Return a text without the shortest or the longest beginning or end that fits a pattern."""
    fits = re.compile(translate(pattern))
    cuts = range(len(value) + 1) if sign in {"#", "%%"} else range(len(value), -1, -1)
    for cut in cuts:
        removed, kept = (value[:cut], value[cut:]) if sign.startswith("#") else (value[cut:], value[:cut])
        if fits.match(removed):
            return kept
    return value
