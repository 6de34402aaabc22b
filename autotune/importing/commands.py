"""Simple commands: their words, the environment they get, what they are redirected to, and what they could change."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from autotune.importing.launch import Doubt, Launch, in_front, start
from autotune.importing.options import occurrences
from autotune.importing.shell import Known, Shell, Unknown, Value, joined
from autotune.importing.syntax import Node, descendants, line, written
from autotune.importing.words import fields, text

SHOWN = 100  # characters of a command in a message
NAME = re.compile(r"[A-Za-z_]\w*")
ELSEWHERE = ("function_definition", "command_substitution", "process_substitution", "subshell")
"""Where nothing is done, or what is done does not last."""
NO_WORDS = ("variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment")


def shown(node: Node) -> str:
    """Return a statement for a message, on one line."""
    words = " ".join(written(node).replace("\\\n", " ").split())
    return f"`{words if len(words) <= SHOWN else words[: SHOWN - 3] + '...'}`"


def redirections(statement: Node) -> list[Node]:
    """Return the redirections of a statement, those within a here-document too."""
    own = [child for child in statement.named_children if child.type.endswith("_redirect")]
    return [*own, *(inner for each in own for inner in each.named_children if inner.type == "file_redirect")]


def command_words(command: Node, statement: Node, shell: Shell) -> list[Value]:
    """Return the words of a command; they may go on after a redirection."""
    nodes = [child for child in command.named_children if child.type not in NO_WORDS]
    for redirection in redirections(statement):
        if redirection.type == "file_redirect":
            targets = [child for child in redirection.named_children if child.type != "file_descriptor"]
            nodes += targets[1:]
    return [word for node in nodes for word in fields(node, shell)]


def server(words: Sequence[Value], command: Node, shell: Shell) -> Launch | None:
    """Return what a command starts, if that is a server that is known."""
    found = start(words)
    if found is None:
        return None
    engine, program, after = found
    env = {**exported(shell), **_assigned(command, shell), **_of_env(words[:program])}
    args = _arguments(words[after:])
    told = [*_unclear(engine, words[after:]), *_unclear_env(env)]
    doubts = [Doubt(line(command), "unknown", said) for said in told]
    if left_out := in_front(words[:program]):
        doubts.append(Doubt(line(command), "not run", f"`{' '.join(left_out)}` in front of the server is left out"))
    texts = [word.text for word in (*args, *env.values()) if word is not None]
    files = {path: content for path, content in shell.files.items() if any(path in text for text in texts)}
    return Launch(engine, args, env, files, line(command), tuple(doubts))


def _unclear(engine: str, words: Sequence[Value]) -> Iterator[str]:
    """Say of each argument that is not known whole what it lacks, but not of where the API is."""
    kept = _arguments(words)
    for each in occurrences(engine, kept):
        for missing in filter(None, map(_missing, each.words)):
            yield f"`{' '.join(word.text for word in each.words)}`: {missing}"
    for missing in filter(None, (_missing(word) for word in words if word not in kept)):
        yield f"an argument is left out: {missing}"


def _arguments(words: Sequence[Value]) -> tuple[Value, ...]:
    """Return words without the unquoted variables that are empty."""
    return tuple(word for word in words if isinstance(word, Unknown) or not word.omitted)


def _unclear_env(env: Mapping[str, Value | None]) -> Iterator[str]:
    for name, value in env.items():
        if value is not None and (missing := _missing(value)):
            yield f"`{name}={value.text}`: {missing}"


def _missing(value: Value) -> str | None:
    """Say why a value is not known whole; None where it is."""
    if isinstance(value, Unknown):
        return value.because
    settings = " ".join(f"--set {name}=VALUE" for name in sorted(value.absent))
    return f"{', '.join(sorted(value.absent))} has no value; {settings}" if value.absent else None


def exported(shell: Shell) -> dict[str, Value | None]:
    """Return the variables that a program gets from a script, None for one that it is deprived of."""
    given = {name: shell.text(name) for name in sorted(shell.exported) if shell.lookup(name) is not None}
    return {**dict.fromkeys(sorted(shell.removed)), **given}


def heredoc(statement: Node, shell: Shell) -> Value | None:
    """Return the text of a here-document; one whose mark is quoted is taken as it is."""
    for redirection in redirections(statement):
        mark, body = (
            next((child for child in redirection.named_children if child.type == kind), None)
            for kind in ("heredoc_start", "heredoc_body")
        )
        if mark is not None and body is not None:
            return text(body, shell) if NAME.fullmatch(written(mark)) else Known(written(body))
    return None


def write(statement: Node, content: Value, shell: Shell) -> bool:
    """Remember what `cat` writes to a file; return whether it does."""
    for redirection in redirections(statement):
        signs = [written(child) for child in redirection.children if not child.is_named]
        targets = [child for child in redirection.named_children if child.type != "file_descriptor"]
        if redirection.type == "file_redirect" and targets and signs and signs[0] in {">", ">>", ">|"}:
            path = text(targets[0], shell).text
            before = [shell.files[path]] if signs[0] == ">>" and path in shell.files else []
            shell.files[path] = joined([*before, content])
            return True
    return False


def touched(node: Node, functions: Mapping[str, Node]) -> Iterator[tuple[str, bool]]:
    """Yield the variables that something might set or remove, and whether it exports them; its functions' too."""
    waiting, seen = [node], set[str]()
    while waiting:
        for each in descendants(waiting.pop(), without=ELSEWHERE):
            yield from _touched(each)
            called = _called(each) if each.type == "command" else ""
            if called in functions and called not in seen:
                seen.add(called)
                waiting.append(functions[called].named_children[-1])


def _touched(node: Node) -> Iterator[tuple[str, bool]]:
    if node.type == "variable_assignment" and node.parent is not None and node.parent.type != "command":
        name = written(node).partition("=")[0].rstrip("+").partition("[")[0]
        yield name, node.parent.type == "declaration_command" and _exports(node.parent)
    elif node.type in {"declaration_command", "unset_command"}:
        exports = node.type == "declaration_command" and _exports(node)
        yield from ((written(child), exports) for child in node.named_children if child.type == "variable_name")
    elif node.type == "expansion" and (set_ := re.match(r"\s*\$\{(\w+):?=", written(node))):
        yield set_[1], False
    elif node.type in {"for_statement", "postfix_expression", "update_expression"}:
        yield from (
            (written(child).strip(), False) for child in node.named_children[:1] if child.type == "variable_name"
        )
    elif node.type == "command" and _called(node) in {"read", "mapfile", "readarray", "getopts", "let", "printf"}:
        words = [written(child).partition("=")[0] for child in node.named_children[1:]]
        if _called(node) != "printf" or "-v" in words:
            yield from ((word, False) for word in words if NAME.fullmatch(word))


def _exports(declaration: Node) -> bool:
    return written(declaration.children[0]) == "export"


def _called(command: Node) -> str:
    name = command.child_by_field_name("name")
    return written(name) if name is not None else ""


def _assigned(command: Node, shell: Shell) -> dict[str, Value | None]:
    """Return the assignments in front of a command."""
    found: dict[str, Value | None] = {}
    for child in command.named_children:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        if child.type == "variable_assignment" and name is not None:
            found[written(name)] = Known("") if value is None else text(value, shell)
    return found


def _of_env(words: Sequence[Value]) -> dict[str, Value | None]:
    """Return what `env` sets and removes in front of a program."""
    found: dict[str, Value | None] = {}
    if not any(word.text == "env" for word in words):
        return found
    for before, word in pairwise(words):
        name, equals, value = word.text.partition("=")
        if before.text in {"-u", "--unset"}:
            found[word.text] = None
        elif equals and NAME.fullmatch(name):
            found[name] = Unknown(value, word.because) if isinstance(word, Unknown) else Known(value, word.absent)
    return found
