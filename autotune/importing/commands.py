"""Simple commands: their words, the environment they get, what they are redirected to, and what they could change."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from autotune.importing.effects import NAME
from autotune.importing.launch import Doubt, Launch, in_front, mention, start
from autotune.importing.options import occurrences
from autotune.importing.shell import Known, Shell, Unknown, Value
from autotune.importing.syntax import Node, line, parse, written
from autotune.importing.words import assigned, fields, text

SHOWN = 100  # characters of a command in a message
BARE = "`{}` takes away what the server would inherit; here it takes away but what the script exports"
ESCAPED: Mapping[str, str] = {'"': '\\"', '\\"': '\\\\\\"'}
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
    ahead = next((place for place, word in enumerate(words) if _arguments([word])), len(words))
    for word in words[:ahead]:
        shell.assume_empty(command, word.absent if isinstance(word, Known) else ())
    words = words[ahead:]
    found = start(words)
    if found is None:
        return None
    engine, program, after = found
    env, said = _environment(command, words[:program], shell)
    args = _arguments(words[after:])
    kept, lost = _files([word.text for word in (*args, *env.values()) if word is not None], shell)
    told = [*lost, *_unclear(engine, words[after:]), *_unclear_env(env)]
    doubts = [Doubt(line(command), "unknown", each) for each in told]
    doubts += [Doubt(line(command), "not run", each) for each in said]
    if left_out := in_front(words[:program]):
        doubts.append(Doubt(line(command), "not run", f"`{' '.join(left_out)}` in front of the server is left out"))
    return Launch(engine, args, env, kept, line(command), tuple(doubts))


def _files(texts: Sequence[str], shell: Shell) -> tuple[dict[str, Value], list[str]]:
    """Return the files that the server is told of, and what is to be said of those that it may be told of."""
    kept = {path: content for path, content in shell.files.items() if any(map(mention(path).search, texts))}
    unclear = {path: missing for path, content in kept.items() if (missing := _missing(content))}
    lost = [f"{path}: what is written to it is not known whole: {missing}" for path, missing in unclear.items()]
    for path in shell.files.keys() - kept.keys():
        name = PurePosixPath(path).name
        if any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w./-])", each) for each in texts):
            lost.append(f"{path} is written, and the server may be told of it by another path; write it alike in both")
    return kept, lost


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
    """Return the variables that a program gets from a script, None for one that it is deprived of; no arrays."""
    held = {name: shell.lookup(name) for name in sorted(shell.exported)}
    given = {name: value for name, value in held.items() if isinstance(value, Known | Unknown)}
    return {**dict.fromkeys(sorted(shell.removed)), **given}


def heredoc(statement: Node, shell: Shell) -> Value | None:
    """Return the text of a here-document; one whose mark is quoted is taken as it is."""
    for redirection in redirections(statement):
        mark, body = (
            next((child for child in redirection.named_children if child.type == kind), None)
            for kind in ("heredoc_start", "heredoc_body")
        )
        if mark is not None and body is not None:
            quoted = re.search(r"['\"\\]", written(mark)) is not None
            content = Known(written(body)) if quoted else _unquoted(body, shell)
            tabs = written(redirection.children[0]) == "<<-"
            return replace(content, text=re.sub(r"(?m)^\t+", "", content.text)) if tabs else content
    return None


def _unquoted(body: Node, shell: Shell) -> Value:
    """Return the text of a here-document as if it were in double quotes, as the grammar reads less of it."""
    escaped = re.sub(r'\\[\\$`\n]|\\?"', lambda found: ESCAPED.get(found[0], found[0]), written(body))
    assignment = parse(f'A="{escaped}"', at=line(body))
    value = assignment.named_children[0].child_by_field_name("value") if assignment.named_children else None
    if assignment.has_error or value is None or len(assignment.named_children) > 1:
        return Unknown(written(body), "it has what is not read")
    return text(value, shell)


def prefix(command: Node, shell: Shell) -> dict[str, Value]:
    """Return the assignments in front of a command."""
    found: dict[str, Value] = {}
    for child in command.named_children:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        if child.type == "variable_assignment" and name is not None:
            found[written(name)] = Known("") if value is None else assigned(value, shell)
    return found


def _environment(command: Node, before: Sequence[Value], shell: Shell) -> tuple[dict[str, Value | None], list[str]]:
    """Return the environment of a server, and what in front of it is not read."""
    env: dict[str, Value | None] = {**exported(shell), **prefix(command, shell)}
    said: list[str] = []
    place = next((at for at, word in enumerate(before) if PurePosixPath(word.text).name == "env"), len(before))
    if {"exec", "-c"} <= {word.text for word in before[:place]}:
        env, said = {}, [BARE.format("exec -c")]
    words = iter(before[place + 1 :])
    for word in words:
        name, equals, value = word.text.partition("=")
        if isinstance(word, Known) and word.omitted:
            continue
        if word.text in {"-i", "-", "--ignore-environment"}:
            env = {}
            said.append(BARE.format(f"env {word.text}"))
        elif word.text in {"-u", "--unset"}:
            env[next(words, word).text] = None
        elif name == "--unset" or (word.text.startswith("-u") and not equals):
            env[value or word.text[2:]] = None
        elif equals and NAME.fullmatch(name):
            env[name] = replace(word, text=value)
        elif word.text.startswith("-") and word.text != "--":
            said.append(f"`{word.text}` of `env` is not read")
        else:
            break
    return env, said
