"""What bash makes of a word: its quotes, variables and defaults, split into the arguments that a program gets."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from autotune.importing.arithmetic import evaluated
from autotune.importing.patterns import fits, stripped
from autotune.importing.shell import Known, Shell, Undecided, Unknown, Value, joined
from autotune.importing.splitting import BREAK, GLOB, Break, Part, assume_no_files, in_one, split
from autotune.importing.syntax import Node, pieces, written

BRACES = re.compile(r"(?<![$\\])\{[^{}\s]*(,|\.\.)[^{}\s]*\}")
QUOTED_ESCAPE = re.compile(r'\\([\\"$`]|\n)')
ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
ANSI_C = {r"\n": "\n", r"\t": "\t", r"\'": "'", r"\"": '"', r"\\": "\\"}
PLAIN = ("word", "number", "extglob_pattern", "brace_expression")
DEFAULTS = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
CASES: Mapping[str, Callable[[str], str]] = {",,": str.lower, "^^": str.upper}
PROGRAM = "it comes from a program, and none is run"


def fields(node: Node, shell: Shell) -> list[Value]:
    """Return the arguments that a word becomes; none for an unquoted variable that is empty."""
    if strange := _strange(node):
        return [Unknown(written(node), strange)]
    if GLOB.search(plain(node)):
        assume_no_files(node, shell)
    found: list[list[Value]] = [[]]
    for part in _parts(node, shell, quoted=False):
        if isinstance(part, Break):
            found.append([])
        else:
            found[-1].append(part)
    return [joined(parts) for parts in found if parts]


def text(node: Node, shell: Shell) -> Value:
    """Return a word as one text, as in a test."""
    value = joined([Known(" ") if isinstance(part, Break) else part for part in _parts(node, shell, quoted=True)])
    return replace(value, omitted=False) if isinstance(value, Known) else value


def assigned(node: Node, shell: Shell) -> Value:
    """Return a word as one text, as in an assignment."""
    if re.search(r"(^|:)~", plain(node)):
        return Unknown(written(node), "`~` is a home folder")
    return text(node, shell)


def elements(node: Node, shell: Shell) -> tuple[Value, ...]:
    """Return the elements of `(...)`."""
    words = [child for child in node.named_children if child.type != "comment"]
    if any(re.match(r"\[[^]]*\]\+?=", written(word)) for word in words):
        return (Unknown(written(node), f"`{written(node)}` has keys, and they are not read"),)
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
    return fits(found, expected, written(pattern).strip())


def assume(value: Value, node: Node, shell: Shell) -> str:
    """
    Return the text that something is decided by, and remember which absent variables that takes for empty.

    Raises:
        Undecided: It is not known.
    """
    if isinstance(value, Unknown):
        raise Undecided(value.because)
    shell.assume_empty(node, value.absent)
    return value.text


def plain(node: Node) -> str:
    """Return what is plain text in a word, with a space in place of the rest."""
    parts = node.children if node.type == "concatenation" else [node]
    return "".join(written(part) if part.type in PLAIN or not part.is_named else " \0" for part in parts)


def _strange(node: Node) -> str | None:
    """Say what an unquoted word has that bash replaces by what only the machine knows."""
    source = plain(node)
    if source.startswith("~"):
        return "`~` is a home folder"
    return "braces are not expanded" if BRACES.search(source) else None


def _parts(node: Node, shell: Shell, *, quoted: bool) -> Iterator[Part]:
    match node.type:
        case "string" | "heredoc_body":
            yield from _quoted(node, shell)
        case "raw_string":
            yield Known(written(node)[1:-1])
        case "ansi_c_string":
            yield _escaped(written(node))
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


def _escaped(source: str) -> Value:
    """Return what `$'...'` stands for."""
    if any(escape not in ANSI_C for escape in re.findall(r"\\.", source)):
        return Unknown(source, f"`{source}` has an escape that is not read")
    return Known(re.sub(r"\\.", lambda found: ANSI_C[found[0]], source[2:-1]))


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
        value, absent = evaluated(node, shell, text)
    except Undecided as missing:
        return Unknown(written(node).strip(), str(missing))
    return Known(str(value), absent)


def _expanded(node: Node, shell: Shell, *, quoted: bool) -> Iterator[Part]:
    if _every_element(node):
        name = written(node).strip().strip("${}").removesuffix("[@]")
        values: list[Value] = list(shell.all_arguments(node) if name == "@" else shell.elements(name))
        if name != "@" and shell.lookup(name) is None:
            shell.assume_empty(node, [name])
        for place, value in enumerate(values):
            if place:
                yield BREAK
            yield from [value] if quoted else split(value, node, shell)
        return
    if (operands := stands_in(node, shell)) is not None:
        yield from _substituted(operands, node, shell, quoted=quoted)
        return
    value = expansion(node, shell)
    yield from [value] if quoted else split(value, node, shell)


def stands_in(node: Node, shell: Shell) -> list[Node | str] | None:
    """Return what stands in for the variable of `${name:-operand}` and the like; None where nothing does."""
    parts = [child for child in node.children if not _opens(child)]
    sign = written(parts[1]) if len(parts) > 1 else ""
    if node.type != "expansion" or parts[0].type != "variable_name" or sign not in DEFAULTS:
        return None
    value, held = shell.text(written(parts[0])), shell.lookup(written(parts[0])) is not None
    if isinstance(value, Unknown) and sign.startswith(":"):
        return None
    given = held and not (sign.startswith(":") and value.text == "")
    if sign[-1] == "?" and not given:
        shell.assume(node, f"`{written(node).strip()}` would end the script; --set {written(parts[0])}=VALUE")
    if sign[-1] == "?" or given != (sign[-1] == "+"):
        return [] if sign[-1] == "+" else None
    within = [*pieces(node)]
    flat = [inner for each in within[within.index(parts[1]) + 1 : -1] for inner in _flat(each)]
    if sign[-1] == "=":
        value = joined([part for part in _substituted(flat, node, shell, quoted=True) if not isinstance(part, Break)])
        shell.assign(written(parts[0]), value)
        return None
    return flat


def _flat(piece: Node | str) -> list[Node | str]:
    return [piece] if isinstance(piece, str) or piece.type != "concatenation" else [*pieces(piece)]


def _substituted(pieces_: Sequence[Node | str], node: Node, shell: Shell, *, quoted: bool) -> Iterator[Part]:
    """Yield an operand: what is quoted in it stays whole, the rest is split like a variable."""
    around = node.parent
    while around is not None and around.type in {"concatenation", "expansion"}:
        around = around.parent
    literal = around is not None and around.type in {"string", "heredoc_body"}
    for piece in pieces_:
        if isinstance(piece, str) or piece.type in {"word", "number", "regex"}:
            words = piece if isinstance(piece, str) else written(piece).lstrip()
            if "\\" in words:
                yield Unknown(words, f"`{written(node).strip()}` has an escape that is not read")
            elif words:
                yield from [Known(words)] if quoted else split(Known(words), node, shell)
        elif literal and piece.type == "raw_string":
            yield Known(written(piece).lstrip())
        else:
            yield from _parts(piece, shell, quoted=quoted)


def expansion(node: Node, shell: Shell) -> Value:
    """Return the value of `$name` or of `${...}`."""
    source = written(node).strip()
    inside = [child for child in node.children if child.type not in {"$", "${", "}"} and not _opens(child)]
    if len(inside) == 1 and inside[0].type == "variable_name":
        name = written(inside[0])
        return Unknown("$0", "it is the script's own path") if name == "0" else shell.text(name)
    if [each.type for each in inside] == ["special_variable_name"] and written(inside[0]) in {"#", "*"}:
        values = shell.all_arguments(node)
        return Known(str(len(values))) if written(inside[0]) == "#" else in_one(values, shell)
    if len(inside) == 1 and inside[0].type == "subscript":
        return _element(inside[0], shell)
    if written(node).strip().startswith("${#"):
        return _length(inside, source, shell)
    if len(inside) >= 2 and inside[0].type == "variable_name":  # noqa: PLR2004 a name and an operator
        return _operated(source, written(inside[0]), written(inside[1]), inside[2:], shell)
    return Unknown(source, f"`{source}` is not read")


def _opens(child: Node) -> bool:
    return written(child).strip() in {"${", "$"}


def _element(subscript: Node, shell: Shell) -> Value:
    name, place = written(subscript.children[0]), written(subscript.children[2])
    values = shell.elements(name)
    if shell.lookup(name) is None:
        return Known("", frozenset({name}))
    if place in {"@", "*"}:
        return in_one(values, shell)
    if unknown := next((value for value in values if isinstance(value, Unknown)), None):
        return unknown
    if place.lstrip("-").isdigit():
        at = int(place)
        return values[at] if -len(values) <= at < len(values) else Known("")
    return Unknown(written(subscript), f"`{written(subscript)}` is not read")


def _length(inside: list[Node], source: str, shell: Shell) -> Value:
    counted = inside[-1]
    if counted.type == "subscript":
        values = shell.elements(written(counted.children[0]))
        unknown = next((value for value in values if isinstance(value, Unknown)), None)
        return unknown or Known(str(len(values)))
    if counted.type == "variable_name" and len(inside) == 2:  # noqa: PLR2004 # and a name
        value = shell.text(written(counted))
        return value if isinstance(value, Unknown) else Known(str(len(value.text)), value.absent)
    return Unknown(source, f"`{source}` is not read")


def _operated(source: str, name: str, sign: str, operands: list[Node], shell: Shell) -> Value:
    """Return `${name sign operand}`."""
    value = shell.text(name)
    if sign in DEFAULTS:
        return value
    if isinstance(value, Unknown):
        return Unknown(source, value.because)
    if sign in CASES and not operands:
        return Known(CASES[sign](value.text), value.absent)
    if sign not in {"#", "##", "%", "%%"} or [operand.type for operand in operands] not in (["regex"], ["word"]):
        return Unknown(source, f"`{source}` is not read")
    try:
        return Known(stripped(value.text, sign, written(operands[0])), value.absent)
    except Undecided as missing:
        return Unknown(source, str(missing))
