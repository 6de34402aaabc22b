"""The state of a shell that runs nothing: what each variable holds, as far as that is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from autotune.importing.syntax import Node, line, written

LONGEST = 100_000  # characters; a script that doubles a variable must not fill the memory
HOW = "; --set "
MOST_STEPS = 20_000  # statements; a script is a few hundred
OF_BASH = (
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSION",
    "BASH_VERSINFO",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOME",
    "HOSTNAME",
    "HOSTTYPE",
    "LINENO",
    "MACHTYPE",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
)
"""Variables that have a value although no script gives them one."""


@dataclass(frozen=True)
class Known:
    """
    A text that is known.

    Attributes:
        text: The text.
        absent: Variables that nothing gave a value; bash takes them for empty.
        omitted: It is an unquoted variable that is empty, which is no argument at all.
    """

    text: str
    absent: frozenset[str] = frozenset()
    omitted: bool = False


@dataclass(frozen=True)
class Unknown:
    """
    A text that is not known, as it comes from a program that is not run.

    Attributes:
        text: What is written in its place.
        because: Why it is not known.
    """

    text: str
    because: str


Value: TypeAlias = Known | Unknown
Variable: TypeAlias = Value | tuple[Value, ...]
"""An array is a tuple."""


class Undecided(Exception):
    """A number or a condition needs what is not known; the message says what."""


class TooLong(Exception):
    """A script has more steps than any launch has."""


@dataclass(frozen=True)
class Hidden:
    """What a variable was before a function made it its own."""

    value: Variable | None
    exported: bool
    removed: bool


@dataclass
class Shell:
    """
    Variables, functions and files of a script, up to the statement that was read last.

    Attributes:
        given: Values that the caller set; they also stand in where the script takes them from a program.
        removed: Variables that were unset.
        doubtful: Functions that may or may not have been defined.
        calls: The functions that are being read, outermost first.
        arguments: Of the function that is being read, or as `set` gives them; None: those that the script is given.
        scopes: What each function that is being read has hidden, outermost first.
        typed: Variables to which `declare` gave a type, so that what is assigned to them changes.
        readonly: Variables that keep their value.
        exports_all: Whether all that is assigned is exported too, as with `set -a`.
        files: What was written to each path.
        assumed: What was taken for granted, by the line that first did.
        missed: What was not read, by its line.
    """

    given: Mapping[str, str]
    variables: dict[str, Variable] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    functions: dict[str, Node] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    arguments: Sequence[Value] | None = None
    calls: tuple[str, ...] = ()
    scopes: list[dict[str, Hidden]] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)
    readonly: set[str] = field(default_factory=set)
    exports_all: bool = False
    files: dict[str, Value] = field(default_factory=dict)
    assumed: dict[str, int] = field(default_factory=dict)
    missed: set[tuple[int, str]] = field(default_factory=set)
    steps: int = 0

    def step(self) -> None:
        """Count a statement; raise TooLong when there were too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def miss(self, node: Node, said: str) -> None:
        """Remember that something is not read."""
        self.missed.add((line(node), said))

    def assume(self, node: Node, said: str) -> None:
        """Remember what is taken for granted."""
        self.assumed.setdefault(said, line(node))

    def assume_empty(self, node: Node, absent: Iterable[str]) -> None:
        """Remember that variables are taken for empty."""
        for name in sorted(absent):
            self.assume(node, f"{name} is not set, so it is taken for empty; --set {name}=VALUE if it has one")

    def copy(self) -> "Shell":
        """Return a shell that starts where this one is; what it sets is its own."""
        return replace(
            self,
            variables={**self.variables},
            exported={*self.exported},
            removed={*self.removed},
            functions={**self.functions},
            doubtful={*self.doubtful},
            scopes=[{**scope} for scope in self.scopes],
            typed={*self.typed},
            readonly={*self.readonly},
        )

    def lookup(self, name: str) -> Variable | None:
        """Return what a variable or an argument holds, None where nothing gave it a value."""
        if name.isdigit() and self.arguments is not None:
            return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else None
        if name in self.variables:
            return self.variables[name]
        if name in self.given and name not in self.removed:
            return Known(self.given[name])
        if name in OF_BASH and name not in self.removed:
            return Unknown(f"${name}", f"it is {name} of where this runs{HOW}{name}=VALUE")
        return None

    def all_arguments(self, node: Node) -> Sequence[Value]:
        """Return `$@`; that the script is given none is an assumption."""
        if self.arguments is None:
            self.assume(node, f"`{written(node).strip()}`: the script is read as if it were given no arguments")
        return self.arguments or ()

    def text(self, name: str) -> Value:
        """Return a variable as `$name` has it: of an array the first element."""
        found = self.lookup(name)
        if isinstance(found, tuple):
            return found[0] if found else Known("")
        return Known("", frozenset({name})) if found is None else found

    def elements(self, name: str) -> tuple[Value, ...]:
        """Return a variable as `${name[@]}` has it."""
        found = self.lookup(name)
        if found is None:
            return ()
        return found if isinstance(found, tuple) else (found,)

    def assign(self, name: str, value: Variable, *, more: bool = False) -> None:
        """Set a variable, or append to it."""
        if isinstance(value, Unknown) and name in self.given:
            value = Known(self.given[name])
        before = self.lookup(name)
        if more and isinstance(value, tuple):
            value = (*self.elements(name), *value)
        elif more and not isinstance(value, tuple) and before is not None:
            value = joined([self.text(name), value])
        if isinstance(before, tuple) and not isinstance(value, tuple):
            value = (value, *before[1:])
        if name in self.typed:
            value = Unknown(f"${name}", "`declare` gave it a type, and what that makes of a value is not read")
        parts = value if isinstance(value, tuple) else (value,)
        if sum(len(part.text) + 1 for part in parts) > LONGEST:
            value = Unknown(f"${name}", f"it has more than {LONGEST} characters")
        if isinstance(value, Unknown) and HOW not in value.because:
            value = Unknown(value.text, f"{value.because}{HOW}{name}=VALUE")
        self.variables[name] = value
        if self.exports_all:
            self.exported.add(name)

    def unset(self, name: str) -> None:
        """Remove a variable; what is set again is no longer exported."""
        self.variables.pop(name, None)
        self.exported.discard(name)
        self.removed.add(name)

    def doubt(self, name: str, because: str) -> None:
        """Make a variable unknown, unless the caller gave it a value; `@` is the arguments."""
        if name == "@":
            self.arguments = (Unknown("$@", because),)
        else:
            self.variables.pop(name, None)
            self.assign(name, Unknown(f"${name}", because))

    def enter(self, call: str, arguments: Sequence[Value]) -> None:
        """Begin a function."""
        self.arguments, self.calls = arguments, (*self.calls, call)
        self.scopes.append({})

    def hide(self, name: str) -> None:
        """Make a variable the function's own: when it ends, the variable is as before."""
        if self.scopes:
            before = Hidden(self.variables.get(name), name in self.exported, name in self.removed)
            self.scopes[-1].setdefault(name, before)
        if self.variables.pop(name, None) is not None or name in self.given:
            self.variables[name] = Known("")

    def leave(self) -> None:
        """End a function."""
        self.calls = self.calls[:-1]
        for name, before in self.scopes.pop().items():
            self.variables.pop(name, None)
            for names, held in ((self.exported, before.exported), (self.removed, before.removed)):
                names.discard(name)
                names.update({name} if held else ())
            if before.value is not None:
                self.variables[name] = before.value


def joined(values: Sequence[Value]) -> Value:
    """Return values as one text; it is unknown where one of them is."""
    text = "".join(value.text for value in values)
    for value in values:
        if isinstance(value, Unknown):
            return Unknown(text, value.because)
    known = [value for value in values if isinstance(value, Known)]
    omitted = bool(known) and all(value.omitted for value in known)
    return Known(text, frozenset().union(*(value.absent for value in known)), omitted)
