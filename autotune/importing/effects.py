"""What statements that are not read could change: the variables that they set or remove."""

import re
from collections.abc import Iterator, Mapping, Sequence

from autotune.importing.arithmetic import changes
from autotune.importing.syntax import Node, descendants, written

NAME = re.compile(r"[A-Za-z_]\w*")
NAMED = re.compile(r"([A-Za-z_]\w*)(\[.*\])?(\+?=.*)?", re.DOTALL)
DECLARING = ("declare", "export", "local", "readonly", "typeset")
ELSEWHERE = ("function_definition", "command_substitution", "process_substitution", "subshell")
"""Where nothing is done, or what is done does not last."""
CALCULATING = ("arithmetic_expansion", "c_style_for_statement", "subscript")
SILENT = ("", ":", "echo", "grep", "head", "printf", "sleep", "tail", "tee", "true", "wait")
"""Commands that can't change what the server gets, but by the files that they write; they are not listed."""
TAKEN: Mapping[str, tuple[str, ...]] = {
    "read": ("REPLY",),
    "mapfile": ("MAPFILE",),
    "readarray": ("MAPFILE",),
    "getopts": ("OPTARG", "OPTIND"),
    "wait": (),
    "printf": (),
    "unset": (),
    **dict.fromkeys(DECLARING, ()),
}
"""Commands that set the variables which are their arguments, and what else they set."""
HARMLESS_OPTION = re.compile(r"[-+][euxvfhmbBETo]+|err(exit|trace)|functrace|noglob|nounset|pipefail|verbose|xtrace")
SIGNAL = re.compile(r"-|(SIG)?(EXIT|HUP|INT|QUIT|TERM)|0|1|2|3|15")


def called(command: Node) -> str:
    """Return the name of the program or the function that a command calls, as it is written."""
    name = command.child_by_field_name("name")
    return written(name).strip("'\"") if name is not None else ""


def silent(command: Node) -> bool:
    """Return whether a command changes nothing that the server gets, so that it need not be listed."""
    words = [written(child).strip("'\"") for child in command.named_children if child.type != "command_name"]
    match called(command):
        case "set":
            return all(HARMLESS_OPTION.fullmatch(word) for word in words)
        case "trap":
            return all(SIGNAL.fullmatch(word) for word in words[1:])
        case name:
            return name in SILENT


def unnamed(node: Node) -> bool:
    """Return whether something sets or removes variables whose names are not written, as `export $(cat .env)` does."""
    if node.type not in {"declaration_command", "unset_command"}:
        return False
    words = [written(child).strip("'\"") for child in node.named_children if child.type != "variable_assignment"]
    return not all(NAMED.fullmatch(word) or word.startswith(("-", "+")) for word in words)


def touched(node: Node, functions: Mapping[str, Node], *, expanded: bool = False) -> Iterator[tuple[str, bool]]:
    """
    Yield the variables that something might set or remove, and whether it exports them; its functions' too.

    Args:
        functions: Of the script, by their names.
        expanded: Whether its expansions are evaluated already.
    """
    waiting, seen = [node], set[str]()
    while waiting:
        for each in descendants(waiting.pop(), without=ELSEWHERE):
            if not expanded:
                yield from ((name, False) for name in _expanding(each))
            yield from _touched(each)
            name = called(each) if each.type == "command" else ""
            if name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name].named_children[-1])


def _expanding(node: Node) -> Iterator[str]:
    """Yield the variables that an expansion or an expression sets."""
    if node.type == "expansion" and (set_ := re.match(r"\s*\$\{(\w+):?=", written(node))):
        yield set_[1]
    elif node.type in CALCULATING or (node.type == "compound_statement" and written(node).startswith("((")):
        yield from changes(written(node))


def _touched(node: Node) -> Iterator[tuple[str, bool]]:
    if node.type == "variable_assignment" and node.parent is not None and node.parent.type != "command":
        name = written(node).partition("=")[0].rstrip("+").partition("[")[0]
        yield name, node.parent.type == "declaration_command" and _exports(node.parent)
    elif node.type in {"declaration_command", "unset_command"}:
        words = [child for child in node.named_children if child.type != "variable_assignment"]
        yield from ((name, _exports(node)) for name in _named(words))
    elif node.type == "for_statement":
        yield from ((written(child), False) for child in node.named_children[:1] if child.type == "variable_name")
    elif node.type == "command":
        yield from _by_command(called(node), node.named_children)


def _by_command(name: str, children: Sequence[Node]) -> Iterator[tuple[str, bool]]:
    """Yield the variables that a builtin sets."""
    words = [child for child in children if child.type not in {"command_name", "variable_assignment"}]
    if name in {"builtin", "command", "time"} and words:
        yield from _by_command(written(words[0]).strip("'\""), words[1:])
    elif name == "let":
        yield from ((changed, False) for word in words for changed in changes(written(word)))
    elif name == "shift" or (name == "set" and any(re.fullmatch(r"--|[^-+].*", written(word)) for word in words)):
        yield "@", False
    elif name in TAKEN and not (name in {"printf", "wait"} and "-v" not in map(written, words)):
        own = [(each, name == "export") for each in (*_named(words), *TAKEN[name])]
        yield from own


def _named(words: Sequence[Node]) -> Iterator[str]:
    """Yield the variables that words name, as `A`, `"A=b"` or `A[1]`."""
    for word in words:
        if found := NAMED.fullmatch(written(word).strip("'\"")):
            yield found[1]


def _exports(declaration: Node) -> bool:
    options = "".join(written(child) for child in declaration.named_children if written(child).startswith("-"))
    kind = written(declaration.children[0])
    return kind == "export" or (kind in DECLARING and "x" in options)
