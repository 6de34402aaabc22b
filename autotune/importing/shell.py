"""The state of a shell that runs nothing: what each variable holds, as far as that is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from autotune.importing.syntax import Node

LONGEST = 100_000  # characters; a script that doubles a variable must not fill the memory
HOW = "; --set "
MOST_STEPS = 20_000  # statements; a script is a few hundred


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


@dataclass
class Shell:
    """
    Variables, functions and files of a script, up to the statement that was read last.

    Attributes:
        given: Values that the caller set; they also stand in where the script takes them from a program.
        removed: Variables that were unset.
        doubtful: Functions that may or may not have been defined.
        calls: The functions that are being read, outermost first.
        files: What was written to each path.
        assumed: Absent variables by the line that first took them for empty to decide something.
    """

    given: Mapping[str, str]
    variables: dict[str, Variable] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    functions: dict[str, Node] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    arguments: Sequence[Value] = ()
    calls: tuple[str, ...] = ()
    files: dict[str, Value] = field(default_factory=dict)
    assumed: dict[str, int] = field(default_factory=dict)
    steps: int = 0

    def step(self) -> None:
        """Count a statement; raise TooLong when there were too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def lookup(self, name: str) -> Variable | None:
        """Return what a variable holds, None where nothing gave it a value."""
        if name in self.variables:
            return self.variables[name]
        if name in self.given and name not in self.removed:
            return Known(self.given[name])
        return None

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
        if more and isinstance(value, tuple):
            value = (*self.elements(name), *value)
        elif more and not isinstance(value, tuple) and self.lookup(name) is not None:
            value = joined([self.text(name), value])
        parts = value if isinstance(value, tuple) else (value,)
        if sum(len(part.text) + 1 for part in parts) > LONGEST:
            value = Unknown(f"${name}", f"it has more than {LONGEST} characters")
        if isinstance(value, Unknown) and HOW not in value.because:
            value = Unknown(value.text, f"{value.because}{HOW}{name}=VALUE")
        self.variables[name] = value

    def unset(self, name: str) -> None:
        """Remove a variable; what is set again is no longer exported."""
        self.variables.pop(name, None)
        self.exported.discard(name)
        self.removed.add(name)

    def doubt(self, name: str, because: str) -> None:
        """Make a variable unknown, unless the caller gave it a value."""
        self.assign(name, Unknown(f"${name}", because))


def joined(values: Sequence[Value]) -> Value:
    """Return values as one text; it is unknown where one of them is."""
    text = "".join(value.text for value in values)
    for value in values:
        if isinstance(value, Unknown):
            return Unknown(text, value.because)
    known = [value for value in values if isinstance(value, Known)]
    omitted = bool(known) and all(value.omitted for value in known)
    return Known(text, frozenset().union(*(value.absent for value in known)), omitted)
