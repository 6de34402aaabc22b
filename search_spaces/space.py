"""
A search space: what is served, under which load, what may vary, and what must hold.

Everything here is frozen and does no I/O; the JSON Schema of space files comes from these types.
"""

import math
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from search_spaces import check
from search_spaces.expression import Scalar, expression_words, words
from search_spaces.fields import (
    Condition,
    Count,
    EnvName,
    Formula,
    Frozen,
    KnobName,
    NonNegative,
    Positive,
    Share,
    Value,
)
from search_spaces.knob import Derived, Knob

Config = dict[str, Scalar]
"""A value for every knob."""


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts:
        raise ValueError(f"{path!r} leaves its folder; write a relative path without '..'")
    return path


RelativePath = Annotated[str, AfterValidator(_inside)]


class File(Frozen):
    """A file that the engine reads: under the data root, or beside the space file."""

    data: RelativePath | None = None
    space: RelativePath | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _one_root(self) -> Self:
        if (self.data is None) == (self.space is None):
            raise ValueError("a file is under data (the data root) or space (beside the space file): write one")
        return self

    def locate(self, *, data_root: Path, space_folder: Path) -> Path:
        """Return where the file should be."""
        return data_root / self.data if self.data is not None else space_folder / str(self.space)


class Target(Frozen):
    """What is served, by which engine, on what."""

    engine: str
    model: str
    image: str | None = None
    hardware: str
    files: dict[KnobName, File] = Field(default_factory=dict)


class Workload(Frozen):
    """The load: token lengths, and the ladder of concurrencies at which it is measured."""

    input_tokens: Count
    output_tokens: Annotated[int, Field(strict=True, ge=2)]  # with one there is no time per output token
    concurrency: Annotated[tuple[Count, ...], Field(min_length=1)]
    warmup_s: NonNegative
    window_s: Positive
    windows: Count = 1

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len(set(self.concurrency)) != len(self.concurrency):
            raise ValueError("a concurrency is listed twice")
        return self


class Fixed(Frozen):
    """What every recipe of the space has; `${name}` in an argument or a variable is a file of the target."""

    args: tuple[Value, ...] = ()
    env: dict[EnvName, Value] = Field(default_factory=dict)


class Override(Frozen):
    """At these concurrencies a knob that is left at its baseline takes this value instead."""

    concurrency: Condition
    set: dict[KnobName, Formula]


class Known(Frozen):
    """A recipe that is worth trying first: what it sets apart from the baseline."""

    name: str
    set: dict[KnobName, Value]
    source: str | None = None


class Rule(Frozen):
    """What a config must not be, must be, or thereby becomes."""

    forbid: dict[KnobName, Condition] | None = None
    require: dict[KnobName, Condition] | None = None
    imply: dict[KnobName, Formula] | None = None
    when: dict[KnobName, Condition] = Field(default_factory=dict)
    because: str
    source: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(bool(kind) for kind in (self.forbid, self.require, self.imply)) != 1:
            raise ValueError("a rule is one of forbid, require and imply, and not empty")
        if self.imply and not self.when:
            raise ValueError("imply needs a when; what always holds belongs to serve")
        return self

    @property
    def words(self) -> str:
        """The rule as a reader says it."""
        if self.imply:
            stated = "imply " + " and ".join(f"{name} is {expression_words(e)}" for name, e in self.imply.items())
        elif self.require:
            stated = f"require {words(self.require)}"
        else:
            stated = f"forbid {words(self.forbid or {})}"
        return f"{stated} when {words(self.when)}" if self.when else stated


class Questions(Frozen):
    """How many questions the gate may ask."""

    search: Count
    confirm: Count


class GateSettings(Frozen):
    """What must not get worse: a task, and the score that every filter must reach."""

    task: str
    threshold: Share
    filters: Annotated[tuple[str, ...], Field(min_length=1)]
    questions: Questions
    smell: Count
    concurrency: Count
    max_tokens: Count


class Objective(Frozen):
    """What is maximised: the geometric mean of `metric` over the ladder, weighted by concurrency."""

    metric: Literal["total_tok_per_s_per_gpu", "output_tok_per_s_per_gpu"] = "total_tok_per_s_per_gpu"
    weights: dict[int, Positive] = Field(default_factory=dict)


class Budget(Frozen):
    """When a study ends: `trials` beside the baseline; `confirm_launches` an arm at most in confirmation, 2 to 6."""

    trials: Count
    hours: Positive
    confirm_launches: Annotated[int, Field(strict=True, ge=2, le=6)]


class Deadlines(Frozen):
    """
    How long the engine may take to be ready, to stop and to answer one request, and how long a phase may take.

    Where `load_s` or `judge_s` is absent it is the longest that can pass while every request keeps to `request_s`.
    """

    ready_s: Positive
    stop_s: Positive
    request_s: Positive
    stall_s: Positive | None = None
    load_s: Positive | None = None
    judge_s: Positive | None = None

    def stall(self) -> float:
        """Return the seconds that may pass under load without a token of any stream."""
        return self.request_s if self.stall_s is None else self.stall_s

    def load(self, workload: Workload) -> float:
        """Return the seconds that one point of the ladder may take."""
        if self.load_s is not None:
            return self.load_s
        lasting_s = workload.warmup_s + workload.windows * workload.window_s
        # beyond its own time: a warm-up waits for one request, a window for three (one over its edge), the end for one
        return lasting_s + (2 + 3 * workload.windows) * self.request_s

    def judge(self, *, questions: int, concurrency: int) -> float:
        """Return the seconds that so many questions of the gate may take."""
        return self.judge_s if self.judge_s is not None else math.ceil(questions / concurrency) * self.request_s


class SearchSpace(Frozen):
    """One space file; `name` and `folder` say where it was found."""

    name: SkipJsonSchema[str] = ""
    folder: SkipJsonSchema[Path] = Path()
    summary: str
    target: Target
    workload: Workload
    serve: Fixed = Fixed()
    baseline: dict[KnobName, Value]
    overrides: tuple[Override, ...] = ()
    known: tuple[Known, ...] = ()
    knobs: Annotated[dict[KnobName, Knob], Field(min_length=1)]
    derived: dict[KnobName, Derived] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    gate: GateSettings
    objective: Objective = Objective()
    budget: Budget
    deadlines: Deadlines
    sampler: str = "tpe"

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        trusted = bool((info.context or {}).get("trusted"))
        if faults := check.faults(self, trusted=trusted):
            lines = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
            raise PydanticCustomError("faults", "{lines}", {"lines": lines, "faults": faults})
        return self
