"""Bash as a tree; the only door to tree-sitter."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

__all__ = ["Node", "descendants", "line", "parse", "pieces", "written"]

LANGUAGE = Language(tree_sitter_bash.language())
CONTENT = ("string_content", "heredoc_content")


def parse(script: str, *, at: int = 1) -> Node:
    """
    Return the tree of a script; what is no bash is in it as nodes of type ERROR.

    Args:
        at: The line on which it begins, counted from 1.
    """
    source = b"\n" * (at - 1) + script.encode()
    tree = Parser(LANGUAGE).parse(source).root_node
    ends = sorted({*_unended(tree)}, reverse=True)
    for end in ends:
        source = source[:end] + b";" + source[end:]
    return Parser(LANGUAGE).parse(source).root_node if ends else tree


def _unended(tree: Node) -> Iterator[int]:
    """Yield where assignments end that the grammar takes for the beginning of the next line's command."""
    for node in descendants(tree):
        if node.type == "command":
            end = None
            for before, after in pairwise(child for child in node.children if child.type != "comment"):
                if before.type not in {"variable_assignment", "file_redirect"}:
                    break
                end = before.end_byte if before.type == "variable_assignment" else end
                between = (node.text or b"")[before.end_byte - node.start_byte : after.start_byte - node.start_byte]
                if end is not None and b"\n" in between.replace(b"\\\n", b""):
                    yield end


def written(node: Node) -> str:
    """Return the text of a node, as it is written."""
    return (node.text or b"").decode()


def line(node: Node) -> int:
    """Return the line on which a node begins, counted from 1."""
    return node.start_point.row + 1


def pieces(node: Node) -> Iterator[Node | str]:
    """Yield a node's children and, as text, what is between them: the grammar leaves out blanks within quotes."""
    whole, place = node.text or b"", node.start_byte
    for child in node.children:
        text = child.text or b""
        start = child.end_byte - len(text if child.type in CONTENT else text.lstrip())
        if start > place:
            yield whole[place - node.start_byte : start - node.start_byte].decode()
        yield child
        place = child.end_byte
    if node.end_byte > place:
        yield whole[place - node.start_byte :].decode()


def descendants(node: Node, *, without: Sequence[str] = ()) -> Iterator[Node]:
    """Yield a node and all below it in the order in which they are written, but nothing of some types."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found.type not in without:
            yield found
            waiting.extend(reversed(found.children))
