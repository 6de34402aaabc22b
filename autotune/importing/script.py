"""Reads a bash script up to the start of its server, for given values of its variables; nothing of it is run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autotune.importing.commands import NAME, command_words, heredoc, server, shown, touched, write
from autotune.importing.conditions import holds
from autotune.importing.launch import Doubt, Launch, NoServer
from autotune.importing.shell import HOW, Known, Shell, TooLong, Undecided, Unknown, Value
from autotune.importing.syntax import Node, descendants, line, parse, written
from autotune.importing.words import elements, matches, text

SILENT = ("", ":", "echo", "grep", "head", "printf", "set", "shopt", "sleep", "tail", "tee", "trap", "true", "wait")
"""Commands that can't change what the server gets; they are not listed."""
SUCCEED = (":", ".", "cd", "echo", "mkdir", "pushd", "set", "source", "true")
"""Commands that are taken to succeed where something depends on it."""


@dataclass(frozen=True)
class Ended:
    """Where the script, or without `whole` one of its functions, ends before it has started a server."""

    line: int
    whole: bool


def read_script(script: str, given: Mapping[str, str]) -> Launch:
    """
    Return what a script starts.

    Args:
        given: Values of variables, as from the environment; one that the script takes from a program has it too.

    Raises:
        NoServer: The script ends before it starts a server, or starts none that is known.
    """
    tree = parse(script)
    reader = _Reader(Shell(given))
    try:
        reader.read(tree.named_children)
    except TooLong:
        raise NoServer("it has more steps than any launch script") from None
    except RecursionError:
        raise NoServer("it is nested deeper than any launch script") from None
    values = ", ".join(f"{name}={value}" for name, value in given.items()) or "nothing set"
    if isinstance(reader.found, Ended):
        raise NoServer(f"line {reader.found.line}: with {values} it ends here, before it starts a server")
    if reader.found is None:
        doubts = "".join(f"\n{doubt}" for doubt in sorted(reader.doubts) if doubt.kind == "undecided")
        raise NoServer(f"with {values} it starts no server of vLLM, ATOM, SGLang or llama.cpp{doubts}")
    doubts_too = {*reader.doubts, *_broken(tree, reader.found.line), *_assumed(reader.shell)}
    return replace(reader.found, doubts=tuple(sorted({*reader.found.doubts, *doubts_too})))


def _broken(tree: Node, last: int) -> Iterator[Doubt]:
    """Yield a doubt for each stretch up to the server's start that is no bash."""
    for node in descendants(tree):
        if (node.type == "ERROR" or node.is_missing) and line(node) <= last:
            yield Doubt(line(node), "undecided", f"{shown(node)} is no bash that can be read")


def _assumed(shell: Shell) -> Iterator[Doubt]:
    for name, where in shell.assumed.items():
        yield Doubt(where, "assumed", f"{name} is not set, so it is taken for empty; --set {name}=VALUE if it has one")


@dataclass
class _Reader:
    """Reads statements in order until one starts a server or ends the script; what it can't read becomes a doubt."""

    shell: Shell
    doubts: set[Doubt] = field(default_factory=set)
    found: Launch | Ended | None = None

    def read(self, nodes: Iterable[Node]) -> None:
        """Read statements one after the other."""
        for node in nodes:
            if self.found is None and node.type != "comment":
                self.shell.step()
                self.statement(node)

    def statement(self, node: Node) -> None:
        """Read one statement."""
        match node.type:
            case "command":
                self.command(node, node)
            case "redirected_statement" if node.named_children[0].type == "command":
                self.command(node.named_children[0], node)
            case "redirected_statement":
                self.read(node.named_children[:1])
            case "pipeline":
                self.piped(*node.named_children)
            case "if_statement":
                self.branches(node)
            case "case_statement":
                self.cases(node)
            case "subshell":
                self.apart(node)
            case "compound_statement" if node.children[0].type == "{":
                self.read(node.named_children)
            case "compound_statement" | "list" | "negated_command" | "test_command":
                self.decided(node)
            case _:
                self.change(node)

    def piped(self, first: Node, *others: Node) -> None:
        """Read the first command of a pipeline; the others get what it prints, and can change nothing."""
        self.read([first])
        if self.found is None:
            self.uncertain(others, None)

    def change(self, node: Node) -> None:
        """Read what sets or removes variables, or say that it is not read."""
        match node.type:
            case "function_definition":
                self.shell.functions.update(_functions(node))
                self.shell.doubtful.difference_update(_functions(node))
            case "variable_assignment" | "variable_assignments":
                for assignment in [node] if node.type == "variable_assignment" else node.named_children:
                    self.assign(assignment)
            case "declaration_command":
                self.declare(node)
            case "unset_command":
                for name in (child for child in node.named_children if child.type == "variable_name"):
                    self.shell.unset(written(name))
            case "for_statement" | "c_style_for_statement" | "while_statement":
                self.uncertain([node], f"{shown(node)} is a loop, and none is read")
            case _:
                self.uncertain([node], f"{shown(node)} is not read")

    def assign(self, node: Node) -> None:
        """Read `name=value`, `name+=value` or `name=(...)`."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            self.uncertain([node], f"{shown(node)} sets one element of an array, and that is not read")
            return
        more = any(child.type == "+=" for child in node.children)
        if value is not None and value.type == "array":
            self.shell.assign(written(name), elements(value, self.shell), more=more)
        else:
            self.shell.assign(written(name), Known("") if value is None else text(value, self.shell), more=more)

    def declare(self, node: Node) -> None:
        """Read `export`, `declare`, `local` or `readonly`."""
        options = "".join(written(child) for child in node.named_children if written(child).startswith("-"))
        export = written(node.children[0]) == "export"
        for child in node.named_children:
            if child.type not in {"variable_assignment", "variable_name"}:
                continue
            name = written(child).partition("=")[0].rstrip("+")
            if child.type == "variable_assignment":
                self.assign(child)
            if export and "n" in options:
                self.shell.exported.discard(name)
            elif export or "x" in options:
                self.shell.exported.add(name)

    def command(self, node: Node, statement: Node) -> None:
        """Read a command: the server's start, a function of the script, the end of it, or one that is not run."""
        words = command_words(node, statement, self.shell)
        name = words[0].text if words else ""
        content = heredoc(statement, self.shell)
        if found := server(words, node, self.shell):
            self.found = found
        elif name in self.shell.doubtful:
            self.uncertain([statement], f"whether {shown(statement)} calls a function is not decided")
        elif name in self.shell.functions and name not in self.shell.calls:
            self.call(name, [word for word in words[1:] if isinstance(word, Unknown) or not word.omitted])
        elif name in {"exit", "return"}:
            self.found = Ended(line(node), whole=name == "exit" or not self.shell.calls)
        elif not (name == "cat" and content is not None and write(statement, content, self.shell)):
            self.uncertain([statement], None)

    def call(self, name: str, arguments: Sequence[Value]) -> None:
        """Read a function of the script with its arguments."""
        outer = self.shell.arguments, self.shell.calls
        self.shell.arguments, self.shell.calls = arguments, (*self.shell.calls, name)
        self.read(self.shell.functions[name].named_children[1:])
        self.shell.arguments, self.shell.calls = outer
        if isinstance(self.found, Ended) and not self.found.whole:
            self.found = None

    def apart(self, node: Node) -> None:
        """Read a subshell: what it sets is gone after it."""
        outer = self.shell
        self.shell = replace(outer, variables={**outer.variables}, exported={*outer.exported}, removed={*outer.removed})
        self.read(node.named_children)
        if self.found is None:
            self.shell = outer

    def branches(self, node: Node) -> None:
        """Read the branch of an `if` that is taken; where that is not known, none."""
        arms = list(_arms(node))
        for place, (condition, body) in enumerate(arms):
            try:
                taken = all([self.status(each) for each in condition][-1:])
            except Undecided as missing:
                bodies = [each for _, later in arms[place:] for each in later]
                self.uncertain(bodies, f"{shown(condition[-1])} is not decided: {missing}")
                return
            if taken:
                self.read(body)
                return

    def cases(self, node: Node) -> None:
        """Read the branch of a `case` that is taken; where that is not known, none."""
        word, *items = [child for child in node.named_children if child.type != "comment"]
        for place, item in enumerate(items):
            closing = next(index for index, child in enumerate(item.children) if child.type == ")")
            patterns = [child for child in item.children[:closing] if child.is_named]
            try:
                value = text(word, self.shell)
                taken = any(matches(value, pattern, self.shell, at=word) for pattern in patterns)
            except Undecided as missing:
                self.uncertain(items[place:], f"`case {written(word)}` is not decided: {missing}")
                return
            if taken and item.children[-1].type in {";&", ";;&"}:
                self.uncertain(items[place:], f"`{item.children[-1].type}` is not read")
                return
            if taken:
                self.read(child for child in item.children[closing + 1 :] if child.is_named)
                return

    def decided(self, node: Node) -> None:
        """Read a statement whose parts depend on each other's success."""
        try:
            self.status(node)
        except Undecided:
            return  # `status` has said what depends on it

    def status(self, node: Node) -> bool:
        """
        Read a statement and return whether it succeeds.

        Raises:
            Undecided: It is not known.
        """
        if node.type == "test_command" or node.children[0].type == "((":
            return holds(node, self.shell)
        if node.type == "subshell" and written(node).startswith("(("):  # the grammar's reading of `! (( ))`
            return holds(parse(written(node)).named_children[0], self.shell)
        if node.type == "negated_command":
            return not self.status(node.named_children[0])
        if node.type == "list":
            return self.chained(*node.children)
        self.read([node])
        name = written(node.named_children[0]) if node.type == "command" else ""
        if name == "false" or self.shell.given.get(name) in {"true", "false"}:
            return self.shell.given.get(name, name) == "true"
        succeeds = node.type in {"variable_assignment", "variable_assignments", "declaration_command"}
        if succeeds or (name and name in SUCCEED):
            return True
        decides = f"{HOW}{name}=true or false" if NAME.fullmatch(name) else ""
        raise Undecided(f"it depends on whether {shown(node)} succeeds{decides}")

    def chained(self, left: Node, sign: Node, right: Node) -> bool:
        """Return whether `left && right` or `left || right` succeeds."""
        try:
            first = self.status(left)
        except Undecided as missing:
            if self.found is None:
                self.uncertain([right], f"{shown(right)} is not decided: {missing}")
            raise
        return self.status(right) if self.found is None and first == (sign.type == "&&") else first

    def uncertain(self, nodes: Sequence[Node], because: str | None) -> None:
        """List commands that are not run, and make unknown what statements that may or may not be read would set."""
        for node in nodes:
            functions = _functions(node)
            self.shell.functions.update(functions)
            self.shell.doubtful.update(functions)
            for command in descendants(node, without=("function_definition", "command_substitution")):
                name = written(command.named_children[0]).strip('"') if command.type == "command" else ""
                if name not in {*SILENT, "exit", "return", "break", *self.shell.functions}:
                    self.doubts.add(Doubt(line(command), "not run", f"{shown(_whole(command))} is not run"))
        names = {name: exports for node in nodes for name, exports in touched(node, self.shell.functions)}
        for name, exports in names.items():
            self.shell.doubt(name, because or f"{shown(nodes[0])} is not run")
            if exports:
                self.shell.exported.add(name)
        if because and names:
            self.doubts.add(Doubt(line(nodes[0]), "undecided", f"{because}; not known then: {', '.join(names)}"))


def _whole(command: Node) -> Node:
    """Return a command with its redirections."""
    around = command.parent
    return around if around is not None and around.type == "redirected_statement" else command


def _functions(node: Node) -> dict[str, Node]:
    found = (each for each in descendants(node) if each.type == "function_definition")
    return {written(each.named_children[0]): each for each in found}


def _arms(node: Node) -> Iterator[tuple[list[Node], list[Node]]]:
    """Yield each branch of an `if`, its condition and its body; that of `else` has no condition."""
    place = next((index for index, child in enumerate(node.children) if child.type == "then"), 0)
    clauses = ("elif_clause", "else_clause")
    condition = [child for child in node.children[:place] if child.is_named]
    body = [child for child in node.children[place:] if child.is_named and child.type not in clauses]
    yield condition, body
    for child in node.children:
        if child.type in clauses:
            yield from _arms(child)
