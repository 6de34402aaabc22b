"""Bash as a tree; the only door to tree-sitter."""

from collections.abc import Iterator, Sequence

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

__all__ = ["Node", "descendants", "line", "parse", "pieces", "written"]

LANGUAGE = Language(tree_sitter_bash.language())
CONTENT = ("string_content", "heredoc_content")


def parse(script: str) -> Node:
    """Return the tree of a script; what is no bash is in it as nodes of type ERROR."""
    return Parser(LANGUAGE).parse(script.encode()).root_node


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
