"""Where the value of a variable that is not quoted is split into arguments, and how elements become one text."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from autotune.importing.shell import Known, Shell, Unknown, Value, joined
from autotune.importing.syntax import Node, written

BLANKS = " \t\n"
GLOB = re.compile(r"(?<!\\)(\*|\?|\[.*\])")


class Break:
    """Where one argument ends and the next begins."""


BREAK = Break()
Part: TypeAlias = Value | Break


def split(value: Value, node: Node, shell: Shell) -> Iterator[Part]:
    """Split the value of an unquoted variable, at its blanks or as IFS has it."""
    separators = BLANKS if shell.lookup("IFS") is None else shell.text("IFS").text
    if isinstance(value, Unknown) or isinstance(shell.text("IFS"), Unknown):
        yield Unknown(value.text, value.because if isinstance(value, Unknown) else "IFS is not known")
        return
    if GLOB.search(value.text):
        assume_no_files(node, shell)
    blanks = "".join(sign for sign in separators if sign in BLANKS)
    others = "".join(re.escape(sign) for sign in separators if sign not in BLANKS)
    core = value.text.strip(blanks) if blanks else value.text
    blank = f"[{blanks}]" if blanks else "(?!)"
    words = re.split(f"{blank}*[{others}]{blank}*|{blank}+" if others else f"{blank}+", core) if core else []
    ends = bool(words) and (words[-1] == "" or value.text[-1:] in [*blanks])
    if value.text and value.text[0] in blanks:
        yield BREAK
    for place, word in enumerate(words if words[-1:] != [""] else words[:-1]):
        if place:
            yield BREAK
        yield Known(word, value.absent)
    if ends:
        yield BREAK
    if not words and value.absent:
        yield Known("", value.absent, omitted=True)


def in_one(values: Sequence[Value], shell: Shell) -> Value:
    """Return elements as `*` has them: with the first sign of IFS between them."""
    between: Value = Known(" ") if shell.lookup("IFS") is None else shell.text("IFS")
    if isinstance(between, Known):
        between = Known(between.text[:1])
    return joined([part for value in values for part in (between, value)][1:])


def assume_no_files(node: Node, shell: Shell) -> None:
    """Remember that no file is looked for that fits a word."""
    shell.assume(node, f"`{written(node).strip()}` stands for itself; bash puts the files in its place that fit it")
