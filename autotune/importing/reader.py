"""Reads the statements of a bash script in order; what it can't read becomes a doubt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autotune.importing import declarations, writes
from autotune.importing.commands import command_words, heredoc, prefix, server, shown
from autotune.importing.conditions import holds
from autotune.importing.effects import DECLARING, NAME, called, silent, touched, unnamed
from autotune.importing.launch import Doubt, Launch
from autotune.importing.shell import HOW, Known, Shell, Undecided, Unknown, Value
from autotune.importing.syntax import Node, descendants, line, parse, written
from autotune.importing.words import matches, text

SUCCEED = (":", ".", "cd", "echo", "mkdir", "pushd", "set", "source", "true")
"""Commands that are taken to succeed where something depends on it."""
IN_HEREDOC = ("file_redirect", "file_descriptor", "heredoc_start", "heredoc_body", "heredoc_end")


@dataclass(frozen=True)
class Ended:
    """Where the script, or without `whole` one of its functions, ends before it has started a server."""

    line: int
    whole: bool


@dataclass
class Reader:
    """Reads statements in order until one starts a server or ends the script; what it can't read becomes a doubt."""

    shell: Shell
    doubts: set[Doubt] = field(default_factory=set)
    found: Launch | Ended | None = None
    last: int = 0

    def read(self, nodes: Iterable[Node]) -> None:
        """Read statements one after the other."""
        for node in nodes:
            if self.found is None and node.type != "comment":
                self.shell.step()
                if node.next_sibling is not None and node.next_sibling.type == "&":
                    self.apart(node)
                else:
                    self.statement(node)

    def statement(self, node: Node) -> None:
        """Read one statement."""
        match node.type:
            case "command":
                self.command(node, node)
            case "redirected_statement" if node.named_children[0].type == "command":
                self.command(node.named_children[0], node)
                self.after_heredoc(node)
            case "redirected_statement" | "pipeline" | "subshell":
                self.several(node)
            case "if_statement":
                self.branches(node)
            case "case_statement":
                self.cases(node)
            case "compound_statement" if node.children[0].type == "{":
                self.read(node.named_children)
            case "compound_statement" | "list" | "negated_command" | "test_command":
                self.decided(node)
            case _:
                self.change(node)

    def several(self, node: Node) -> None:
        """Read commands that run apart, or that are redirected together."""
        if node.type == "redirected_statement":
            self.read(child for child in node.named_children if not child.type.endswith("_redirect"))
            if self.found is None:
                writes.spoil(node, self.shell)
            return
        for each in [node] if node.type == "subshell" else node.named_children:
            if self.found is None:
                self.apart(each)

    def change(self, node: Node) -> None:
        """Read what sets or removes variables, or say that it is not read."""
        match node.type:
            case "function_definition":
                self.shell.functions.update(_functions(node))
                self.shell.doubtful.difference_update(_functions(node))
            case "variable_assignment" | "variable_assignments":
                for assignment in [node] if node.type == "variable_assignment" else node.named_children:
                    declarations.assign(assignment, self.shell)
            case "declaration_command":
                declarations.declare(written(node.children[0]), node.named_children, node, self.shell)
            case "unset_command":
                declarations.unset(node.named_children, node, self.shell)
            case "for_statement" | "c_style_for_statement" | "while_statement":
                self.uncertain([node], f"{shown(node)} is a loop, and none is read")
            case _:
                self.uncertain([node], f"{shown(node)} is not read")

    def command(self, node: Node, statement: Node) -> None:
        """Read a command: the server's start, a function of the script, the end of it, or one that is not run."""
        words = command_words(node, statement, self.shell)
        own = [word for word in words if isinstance(word, Unknown) or not word.omitted]
        name = own[0].text if own else ""
        if name in self.shell.doubtful:
            self.uncertain([statement], f"whether {shown(statement)} calls a function is not decided")
        elif name in self.shell.functions and name not in self.shell.calls:
            self.call(name, own[1:], prefix(node, self.shell))
        elif found := server(words, node, self.shell):
            self.found, self.last = found, statement.end_point.row + 1
        elif name in {"exit", "return"}:
            self.found = Ended(line(node), whole=name == "exit" or not self.shell.calls)
        elif not self.builtin(own, node, statement):
            self.not_run(words, statement)

    def builtin(self, words: Sequence[Value], node: Node, statement: Node) -> bool:
        """Read a builtin that changes variables or arguments; return whether it is one."""
        name, nodes = called(node), [each for each in node.named_children if each.type != "command_name"]
        if name in {"builtin", "command"} and nodes:
            name, nodes, words = written(nodes[0]), nodes[1:], words[1:]
        if name in DECLARING:
            declarations.declare(name, nodes, statement, self.shell)
        elif name == "unset":
            declarations.unset(nodes, statement, self.shell)
        elif name == "set":
            declarations.set_(words[1:], statement, self.shell)
        elif name == "shift":
            declarations.shift(words[1:], statement, self.shell)
        elif name == "eval" and all(isinstance(word, Known) and not word.absent for word in words):
            said = parse(" ".join(word.text for word in words[1:]), at=line(node))
            if said.has_error:
                return False
            self.read(said.named_children)
        else:
            return False
        return True

    def not_run(self, words: Sequence[Value], statement: Node) -> None:
        """List a command, but not one that only writes a file, and make unknown what it sets and the files it gets."""
        command = statement if statement.type == "command" else statement.named_children[0]
        prefix(command, self.shell)
        heredoc(statement, self.shell)
        known = writes.write(words, statement, self.shell)
        if not known and not silent(command):
            writes.touch(words, statement, self.shell)
            self.doubts.add(Doubt(line(command), "not run", f"{shown(statement)} is not run"))
        for name, _ in touched(command, self.shell.functions, expanded=True):
            self.shell.doubt(name, f"{shown(statement)} is not run")

    def after_heredoc(self, statement: Node) -> None:
        """Read what stands behind the mark of a here-document, as in `cat <<END | tee file`."""
        texts = [child for child in statement.named_children if child.type == "heredoc_redirect"]
        rest = [each for content in texts for each in content.named_children if each.type not in IN_HEREDOC]
        passed = rest and rest[0].type == "pipeline" and called(rest[0].named_children[0]) == "tee"
        if self.found is None and rest and not passed:
            self.uncertain(rest, f"{shown(rest[0])} stands behind a here-document, and that is not read")

    def call(self, name: str, arguments: Sequence[Value], own: Mapping[str, Value]) -> None:
        """Read a function of the script with its arguments, and what is assigned in front of its call."""
        outer = self.shell.arguments
        self.shell.enter(name, arguments)
        for variable, value in own.items():
            self.shell.hide(variable)
            self.shell.assign(variable, value)
            self.shell.exported.add(variable)
        self.read(self.shell.functions[name].named_children[1:])
        if self.found is None or (isinstance(self.found, Ended) and not self.found.whole):
            self.found = None
            self.shell.leave()
            self.shell.arguments = outer
            body = self.shell.functions[name].named_children[-1]
            for variable in own.keys() & {touch for touch, _ in touched(body, self.shell.functions)}:
                said = f"{name} sets {variable}, which is also set in front of its call, and that is not read"
                self.shell.doubt(variable, said)
                self.shell.miss(body, f"{said}; not known then: {variable}")

    def apart(self, node: Node) -> None:
        """Read what runs in a subshell: what it sets is gone after it, and it ends but itself."""
        outer = self.shell
        self.shell = outer.copy()
        if node.type == "subshell":
            self.read(node.named_children)
        else:
            self.statement(node)
        if not isinstance(self.found, Launch):
            self.shell, self.found = outer, None

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
        if node.type.startswith("variable_") and any(each.type == "command_substitution" for each in descendants(node)):
            raise Undecided(f"it depends on whether {shown(node)} succeeds")
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
                listed = command.type == "command" and called(command) not in {"exit", "return", "break", "continue"}
                if unnamed(command) or (listed and not silent(command)):
                    self.doubts.add(Doubt(line(command), "not run", f"{shown(_whole(command))} is not run"))
            writes.spoil(node, self.shell)
        names = {name: exports for node in nodes for name, exports in touched(node, self.shell.functions)}
        for name, exports in names.items():
            self.shell.doubt(name, because or f"{shown(nodes[0])} is not run")
            if exports:
                self.shell.exported.add(name)
        if because and names:
            self.doubts.add(Doubt(line(nodes[0]), "undecided", f"{because}; not known then: {', '.join(names)}"))
        if because and self.shell.calls and any(map(_returns, nodes)):
            said = f"{because}; it may leave {self.shell.calls[-1]} there, and is read as if it did not"
            self.doubts.add(Doubt(line(nodes[0]), "undecided", said))


def _returns(node: Node) -> bool:
    return any(each.type == "command" and called(each) == "return" for each in descendants(node))


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
