"""What can happen to a trial: a value that crosses processes and is kept as JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from evals import Verdict
from trials.engines.asked import Mismatch
from trials.files import write_whole
from trials.load.metrics import PointMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """
    What one gate says, asked so many questions at once.

    Attributes:
        correct: Its answers by filter, in the order asked: what a paired test against this trial reads.
    """

    concurrency: int
    verdict: Verdict
    correct: dict[str, tuple[bool | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    The config ran: its numbers, and what the gates say of them.

    Attributes:
        points: One for each concurrency of the ladder, in its order.
        judged: One for each gate of each launch; none only where no gate was asked: later launches of a confirmation.
        seconds: Wall time of each phase of the trial.
        mismatches: Settings that the engine says it runs otherwise than asked: what was measured is without them.
    """

    points: tuple[PointMetrics, ...]
    judged: tuple[Judgement, ...]
    seconds: dict[str, float]
    mismatches: tuple[Mismatch, ...] = ()
    kind: Literal["measured"] = "measured"

    @property
    def ignored(self) -> tuple[str, ...]:
        """The options and variables that were asked for in vain."""
        return tuple(each.setting for each in self.mismatches)

    @property
    def worst(self) -> Judgement | None:
        """The judgement that is farthest from a pass: all pass if it does."""
        return max(self.judged, key=lambda each: each.verdict.violation, default=None)

    @property
    def verdict(self) -> Verdict | None:
        """The worst judgement's verdict."""
        return self.worst.verdict if self.worst else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeasible:
    """The config's fault, learned from: it was refused, ran out of memory, got stuck or answered garbage."""

    failure: Literal["refused", "memory", "wrong", "stuck", "unknown", "rule"]
    reason: str
    seconds: dict[str, float]
    kind: Literal["infeasible"] = "infeasible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The world's fault: nothing is learned of the config, and it may be tried again."""

    reason: str
    seconds: dict[str, float]
    kind: Literal["lost"] = "lost"


Outcome = Annotated[Measured | Infeasible | Lost, Field(discriminator="kind")]

_JSON: TypeAdapter[Outcome] = TypeAdapter(Outcome)


def write(path: Path, outcome: Outcome) -> None:
    """Write an outcome as JSON; a reader sees the whole file or none."""
    write_whole(path, _JSON.dump_json(outcome, indent=2).decode() + "\n")


def read(path: Path) -> Outcome:
    """
    Return the outcome that `write` wrote.

    Raises:
        pydantic.ValidationError: If the file is not one.
    """
    return _JSON.validate_json(path.read_bytes())
