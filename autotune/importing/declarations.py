"""Assignments and the builtins that set or remove variables and arguments, as far as what they are given is known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autotune.importing.commands import shown
from autotune.importing.effects import NAMED
from autotune.importing.shell import Known, Shell, Unknown, Value, Variable
from autotune.importing.syntax import Node, written
from autotune.importing.words import BRACES, assigned, elements, fields, plain

TYPES = "Ailnu"  # of `declare`: what is assigned is then changed, or goes elsewhere
EXPORTING = "a"
HARMLESS = "euxvfhmbBET"


@dataclass(frozen=True)
class _Item:
    """What a declaration says of one variable; no value where it only names it."""

    name: str
    value: Variable | None
    more: bool = False


def assign(node: Node, shell: Shell) -> None:
    """Read `name=value`, `name+=value` or `name=(...)`."""
    if (item := _item(node, shell)) is not None:
        _put(item, node, shell)


def _item(node: Node, shell: Shell) -> _Item | None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.type != "variable_name":
        array = written(node).partition("[")[0]
        said = f"{shown(node)} sets one element of an array, and that is not read"
        shell.doubt(array, said)
        shell.miss(node, f"{said}; not known then: {array}")
        return None
    more = any(child.type == "+=" for child in node.children)
    if value is not None and value.type == "array":
        return _Item(written(name), elements(value, shell), more)
    return _Item(written(name), Known("") if value is None else assigned(value, shell), more)


def _put(item: _Item, node: Node, shell: Shell) -> None:
    if item.name in shell.readonly:
        shell.miss(node, f"{shown(node)} is left out, as {item.name} is readonly")
    elif item.value is not None:
        shell.assign(item.name, item.value, more=item.more)


def declare(kind: str, words: Sequence[Node], statement: Node, shell: Shell) -> None:
    """
    Read `export`, `declare`, `typeset`, `local` or `readonly`; all is evaluated before anything is set.

    Args:
        kind: Which of them.
        words: What it is given.
        statement: All of it.
    """
    items, options = _declared(words, statement, shell)
    added = "".join(each for each in options if each.startswith("-"))
    removed = "".join(each for each in options if each.startswith("+"))
    if "f" in added and items:
        shell.miss(statement, f"{shown(statement)} is about functions, and that is not read")
        return
    if kind == "local" and not shell.scopes:
        shell.miss(statement, f"{shown(statement)} is left out, as it is in no function")
        return
    own = kind in {"declare", "local", "typeset"} and bool(shell.scopes) and "g" not in added
    for item in items:
        if own:
            _hide(item, statement, shell)
        _typed(item.name, added, statement, shell)
        _put(item, statement, shell)
        if "x" in removed or (kind == "export" and "n" in added):
            shell.exported.discard(item.name)
        elif kind == "export" or "x" in added:
            shell.exported.add(item.name)
        if kind == "readonly" or "r" in added:
            shell.readonly.add(item.name)


def _declared(words: Sequence[Node], statement: Node, shell: Shell) -> tuple[list[_Item], list[str]]:
    """Return what a declaration says of variables, and its options."""
    items: list[_Item] = []
    options: list[str] = []
    for word in words:
        if word.type == "variable_assignment":
            item = _item(word, shell)
            items += [] if item is None else [item]
            if BRACES.search("".join(map(plain, word.children))):
                shell.miss(statement, f"{shown(statement)}: braces are not expanded")
            continue
        for value in fields(word, shell):
            if isinstance(value, Known) and value.text[:1] in {"-", "+"}:
                options.append(value.text)
            elif (item := _worded(value)) is not None:
                items.append(item)
            else:
                shell.miss(statement, f"{shown(statement)}: what `{written(word)}` declares is not known")
    return items, options


def _hide(item: _Item, statement: Node, shell: Shell) -> None:
    exported = item.name in shell.exported
    shell.hide(item.name)
    if exported and item.value is None:
        shell.doubt(item.name, f"{shown(statement)} hides what is exported, and that is not read")


def _worded(value: Value) -> _Item | None:
    """Return what a word such as `"A=b"` says; None where that is not known."""
    name, equals, content = value.text.partition("=")
    if isinstance(value, Unknown) or not re.fullmatch(r"[A-Za-z_]\w*\+?", name):
        return None
    return _Item(name.rstrip("+"), Known(content, value.absent) if equals else None, name.endswith("+"))


def _typed(name: str, options: str, statement: Node, shell: Shell) -> None:
    if set(options) & set(TYPES):
        shell.typed.add(name)
        shell.doubt(name, f"{shown(statement)} gives it a type, and that is not read")
        shell.miss(statement, f"{shown(statement)} gives a type, and that is not read; not known then: {name}")


def unset(words: Sequence[Node], statement: Node, shell: Shell) -> None:
    """Read `unset`, of variables and of functions."""
    values = [value for word in words for value in fields(word, shell)]
    functions = any(value.text == "-f" for value in values)
    for value in values:
        found = NAMED.fullmatch(value.text) if isinstance(value, Known) else None
        if found is not None and functions:
            shell.functions.pop(found[1], None)
        elif found is not None and found[1] in shell.readonly:
            shell.miss(statement, f"{shown(statement)} is left out, as {found[1]} is readonly")
        elif found is not None and not found[2]:
            shell.unset(found[1])
        elif found is not None:
            shell.doubt(found[1], f"{shown(statement)} removes one element, and that is not read")
            shell.miss(statement, f"{shown(statement)} is not read; not known then: {found[1]}")
        elif value.text not in {"-f", "-v"}:
            shell.miss(statement, f"{shown(statement)}: what `{value.text}` removes is not known")


def set_(words: Sequence[Value], statement: Node, shell: Shell) -> None:
    """Read `set`: options that change what is read, and the arguments."""
    for place, word in enumerate(words):
        option = word.text
        if option in {"-", "--"} or option[:1] not in {"-", "+"}:
            shell.arguments = [*words[place + (option in {"-", "--"}) :]]
            return
        if isinstance(word, Unknown) or word.absent or set(option[1:]) - set(EXPORTING + HARMLESS):
            named = place + 1 < len(words) and _by_name(option, words[place + 1].text, shell)
            if named and place + 2 == len(words):
                return
            if named:
                set_(words[place + 2 :], statement, shell)
                return
            shell.miss(statement, f"{shown(statement)} sets an option that is not read")
        elif EXPORTING in option[1:]:
            shell.exports_all = option.startswith("-")


def _by_name(option: str, name: str, shell: Shell) -> bool:
    """Read `-o name`; return whether it is understood."""
    if set(option[1:]) - set(HARMLESS + "o") or "o" not in option:
        return False
    if name == "allexport":
        shell.exports_all = option.startswith("-")
    return name in {"allexport", "errexit", "noglob", "nounset", "pipefail", "verbose", "xtrace", "errtrace"}


def shift(words: Sequence[Value], statement: Node, shell: Shell) -> None:
    """Read `shift`."""
    count = words[0].text if words else "1"
    if shell.arguments is None:
        shell.miss(statement, f"{shown(statement)} is left out, as the script is read as if it were given no arguments")
    elif count.isdigit() and not any(isinstance(value, Unknown) for value in [*words, *shell.arguments]):
        shell.arguments = shell.arguments[int(count) :] if int(count) <= len(shell.arguments) else shell.arguments
    else:
        shell.doubt("@", f"{shown(statement)} is not read")
        shell.miss(statement, f"{shown(statement)} is not read; not known then: $@")
