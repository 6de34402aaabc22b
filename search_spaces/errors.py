"""What can be wrong with a space, a recipe or a setting, and the words that help."""

import difflib
from collections.abc import Iterable


class SpaceError(ValueError):
    """A space, a recipe or a setting is wrong; each line says where, what, and the nearest right name."""


class RuleBroken(SpaceError):
    """A config that its space forbids: no fault of the file, the config is infeasible."""

    def __init__(self, rule: str, because: str) -> None:
        """Keep the rule's words apart from its reason."""
        super().__init__(rule, because)
        self.rule = rule
        self.because = because

    def __str__(self) -> str:
        """Return the rule, then why it is there."""
        return f"{self.rule}, because {self.because}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint to append to a message: the nearest known name, or nothing when none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint to append to a message: the nearest known name, or all of them when none is near."""
    names = list(known)
    return did_you_mean(name, names) or (f"; known: {', '.join(names)}" if names else "")
