"""Reads a bash script up to the start of its server, for given values of its variables; nothing of it is run."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from autotune.importing.commands import shown
from autotune.importing.launch import Doubt, Launch, NoServer
from autotune.importing.reader import Ended, Reader
from autotune.importing.shell import Shell, TooLong
from autotune.importing.syntax import Node, descendants, line, parse

OF_WORDS = ("array", "command", "declaration_command", "unset_command")
"""What has words, one after the other."""
APART = {"comment", "file_redirect", "herestring_redirect"}
"""What may touch a word and is none."""


def read_script(script: str, given: Mapping[str, str]) -> Launch:
    """
    Return what a script starts.

    Args:
        given: Values of variables, as from the environment; one that the script takes from a program has it too.

    Raises:
        NoServer: The script ends before it starts a server, or starts none that is known.
    """
    tree = parse(script)
    reader = Reader(Shell(given))
    try:
        reader.read(tree.named_children)
    except TooLong:
        raise NoServer("it has more steps than any launch script") from None
    except RecursionError:
        raise NoServer("it is nested deeper than any launch script") from None
    values = ", ".join(f"{name}={value}" for name, value in given.items()) or "nothing set"
    if isinstance(reader.found, Ended):
        raise NoServer(f"line {reader.found.line}: with {values} it ends here, before it starts a server")
    doubts = {*reader.doubts, *(Doubt(where, "undecided", said) for where, said in reader.shell.missed)}
    if reader.found is None:
        listed = "".join(f"\n{doubt}" for doubt in sorted({*doubts, *_broken(tree, tree.end_point.row + 1)}))
        raise NoServer(f"with {values} it starts no server of vLLM, ATOM, SGLang or llama.cpp{listed}")
    assumed = (Doubt(where, "assumed", said) for said, where in reader.shell.assumed.items())
    doubts.update(reader.found.doubts, _broken(tree, reader.last), assumed)
    return replace(reader.found, doubts=tuple(sorted(doubts)))


def _broken(tree: Node, last: int) -> Iterator[Doubt]:
    """Yield a doubt for each stretch up to the server's start that is no bash."""
    for node in descendants(tree):
        if (node.type == "ERROR" or node.is_missing) and line(node) <= last:
            yield Doubt(line(node), "undecided", f"{shown(node)} is no bash that can be read")
        if node.type in OF_WORDS and line(node) <= last:
            for word in filter(_glued, node.named_children):
                yield Doubt(
                    line(word), "undecided", f"{shown(word)} is part of the word before it, and that is not read"
                )


def _glued(word: Node) -> bool:
    """Return whether the grammar has torn a word off the one before it."""
    before, around = word.prev_named_sibling, word.parent
    if before is None or around is None or {before.type, word.type} & APART:
        return False
    between = (around.text or b"")[before.end_byte - around.start_byte : word.start_byte - around.start_byte]
    joined = not between and not (word.text or b"")[:1].isspace()
    return joined or re.search(rb"\\[^\n]", between) is not None
