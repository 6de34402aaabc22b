"""The files that a script writes, as a server may be told to read them."""

from collections.abc import Iterator, Sequence

from autotune.importing.commands import heredoc, redirections, shown
from autotune.importing.effects import ELSEWHERE, called
from autotune.importing.shell import Known, Shell, Unknown, Value, joined
from autotune.importing.syntax import Node, descendants, written
from autotune.importing.words import text

APPENDING = ("-a", "--append")
WRITING = (">", ">>", ">|", "&>", "&>>")


def write(words: Sequence[Value], statement: Node, shell: Shell) -> bool:
    """Remember what a command writes to files; return whether it does nothing else and that is known."""
    content = _content(words, statement, shell)
    targets = [*_redirected(statement, shell), *_teed(words), *_piped(statement, shell)]
    for path, more in targets:
        _put(path, content, shell, more=more)
    return bool(targets) and isinstance(content, Known)


def spoil(node: Node, shell: Shell) -> None:
    """Make unknown what a statement that is not read, or of several commands, writes to files."""
    for each in descendants(node, without=ELSEWHERE):
        because = f"{shown(each)} writes to it"
        if each.type == "file_redirect":
            for path, _ in _target(each, shell):
                _put(path, Unknown("", because), shell, more=False)
        elif each.type == "command" and called(each) == "tee":
            for word in each.named_children[1:]:
                _put(text(word, shell).text, Unknown("", because), shell, more=False)


def touch(words: Sequence[Value], statement: Node, shell: Shell) -> None:
    """Make unknown the files that a program is told of, as it may change them."""
    for path in shell.files:
        if any(path in word.text for word in words):
            shell.files[path] = Unknown("", f"{shown(statement)} is not run")


def _put(path: str, content: Value, shell: Shell, *, more: bool) -> None:
    if path not in {"", "/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"} and not path.startswith("-"):
        before = [shell.files[path]] if more and path in shell.files else []
        shell.files[path] = joined([*before, content])


def _content(words: Sequence[Value], statement: Node, shell: Shell) -> Value:
    """Return what a command prints or passes on."""
    name, given = words[0].text if words else "", words[1:]
    passed = heredoc(statement, shell)
    if name in {"cat", "tee"} and passed is not None and (name == "tee" or not given):
        return passed
    line = joined([part for word in given for part in (Known(" "), word)][1:])
    if name == "echo" and not line.text.startswith("-") and "\\" not in line.text:
        return joined([line, Known("\n")])
    return Unknown("", f"{shown(statement)} is not run")


def _redirected(statement: Node, shell: Shell) -> Iterator[tuple[str, bool]]:
    for redirection in redirections(statement):
        if redirection.type == "file_redirect":
            yield from _target(redirection, shell)


def _target(redirection: Node, shell: Shell) -> Iterator[tuple[str, bool]]:
    """Yield the path that a redirection writes to, and whether it appends."""
    signs = [written(child) for child in redirection.children if not child.is_named]
    targets = [child for child in redirection.named_children if child.type != "file_descriptor"]
    if targets and signs and signs[0] in WRITING and written(redirection)[:1] != "2":
        yield text(targets[0], shell).text, ">>" in signs[0]


def _teed(words: Sequence[Value]) -> Iterator[tuple[str, bool]]:
    if words and words[0].text == "tee":
        more = any(word.text in APPENDING for word in words)
        yield from ((word.text, more) for word in words[1:] if not word.text.startswith("-"))


def _piped(statement: Node, shell: Shell) -> Iterator[tuple[str, bool]]:
    """Yield where the text of `cat <<END | tee file` goes."""
    for redirection in statement.named_children:
        pipes = [child for child in redirection.named_children if child.type == "pipeline"]
        if redirection.type == "heredoc_redirect" and [called(pipe.named_children[0]) for pipe in pipes] == ["tee"]:
            tee = pipes[0].named_children
            if len(tee) == 1:
                yield from _teed([text(word, shell) for word in tee[0].named_children])
