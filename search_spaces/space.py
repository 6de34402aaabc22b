"""
A search space: what is served, under which load, what may vary, and what must hold.

Everything here is frozen and does no I/O; the JSON Schema of space files comes from these types.
"""

import math
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from search_spaces import check
from search_spaces.expression import Scalar, expression_words, words
from search_spaces.fields import (
    Condition,
    Count,
    EnvName,
    File,
    Formula,
    Frozen,
    KnobName,
    Positive,
    RelativePath,
    Value,
)
from search_spaces.gate import Gates
from search_spaces.knob import Derived, Knob
from search_spaces.workload import Workload

Config = dict[str, Scalar]
"""A value for every knob."""

WARMUP_RUNS = 5
MEASURED_RUNS = 2
"""The most runs of a point: it is measured when it is warm or won't get warmer, and once more when that was invalid."""

STUCK_S = 120.0
"""A stream without a token for so long is stuck: the prefill of 50,000 tokens takes seconds, up to tens of them."""


class Target(Frozen):
    """What is served, by which engine, on what; any launcher but `process` runs the engine of the image."""

    engine: str
    model: str
    image: str | None = None
    launcher: Literal["process", "docker", "podman", "apptainer"] = "process"
    hardware: str
    files: dict[KnobName, File] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _image_to_launch(self) -> Self:
        if self.launcher != "process" and not self.image:
            raise ValueError(f"{self.launcher} needs an image: write image, or launcher: process")
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


class Rehearsal(Frozen):
    """
    Where a rehearsal starts, if not at the baseline.

    Attributes:
        baseline: What it sets apart from the baseline.
    """

    baseline: dict[KnobName, Value]
    because: str


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


class Memory(Frozen):
    """
    What one GPU must hold before the engine can serve anything; what is not known is left out, never guessed.

    Attributes:
        weights_gb: Of the whole checkpoint, 10^9 bytes.
        gpus: That the weights are divided over.
        share: Of a GPU's memory that all of this must fit in, as the engine is told.
        activation_bytes: On one GPU, of one step.
        kv_bytes_per_token: On one GPU.
        kv_tokens: That the KV cache must hold for the engine to start: its longest sequence.
    """

    weights_gb: Positive
    gpus: Formula
    share: Formula
    activation_bytes: Formula = 0
    kv_bytes_per_token: Formula = 0
    kv_tokens: Formula = 0
    source: str


Metric = Literal["total_tok_per_s_per_gpu", "output_tok_per_s_per_gpu"]


class Objective(Frozen):
    """What is maximised: the geometric mean of `metric` over the ladder, weighted by concurrency."""

    metric: Metric = "total_tok_per_s_per_gpu"
    weights: dict[int, Positive] = Field(default_factory=dict)


class Budget(Frozen):
    """
    When a study ends: `trials` beside the baseline; `confirm_launches` an arm at most in confirmation, 2 to 6.

    Attributes:
        ablation_launches: In all, to say what each knob of the winner brings; 0: nobody asks.
        regime_launches: In all, each at one concurrency, to prove that another recipe is better there; 0: nobody asks.
    """

    trials: Count
    hours: Positive
    confirm_launches: Annotated[int, Field(strict=True, ge=2, le=6)]
    ablation_launches: Annotated[int, Field(strict=True, ge=0)] = 16
    regime_launches: Annotated[int, Field(strict=True, ge=0)] = 12


class Defaults(Frozen):
    """
    What of the baseline is no choice: everything else is left to the engine in the recipe of its own defaults.

    Attributes:
        keep: Knobs and derived values without which the engine does not serve this workload; the layout is kept anyway.
    """

    keep: tuple[KnobName, ...] = ()


class Reference(Frozen):
    """
    Another engine, or a published figure, that the result is shown beside: quoted figures, or a space to launch.

    Attributes:
        source: Where the figures were published.
        figures: Of `metric`, by concurrency.
        space: A space whose baseline is launched beside the confirmation, under this workload: a shipped one by its
            name, or a file beside this one.
    """

    label: Annotated[str, Field(min_length=1)]
    metric: Metric = "total_tok_per_s_per_gpu"
    source: str | None = None
    figures: dict[int, Positive] = Field(default_factory=dict)
    space: RelativePath | None = None

    @model_validator(mode="after")
    def _quoted_or_launched(self) -> Self:
        if bool(self.figures) == bool(self.space):
            raise ValueError("a reference is either figures, by concurrency, or a space to launch: write one")
        if self.figures and not self.source:
            raise ValueError("quoted figures need a source: where they were published")
        return self


class Deadlines(Frozen):
    """
    How long the engine may take to be ready, to stop and to answer one request, and how long a phase may take.

    Where `load_s` or `judge_s` is absent it is the longest that can pass while every request keeps to `request_s`.
    `stall_s` is `STUCK_S` where it is absent, or `request_s` if that is less: a stream that stands still is then found
    while its request may go on, and not by its request's own timeout. Where an engine prefills a whole wave before it
    decodes, its first streams stand still meanwhile: 256 prompts of 8,192 tokens take `STUCK_S` at 17,500 tokens a
    second; write more for a slower one.
    """

    ready_s: Positive
    stop_s: Positive
    request_s: Positive
    silent_s: Positive | None = None
    stall_s: Positive | None = None
    load_s: Positive | None = None
    judge_s: Positive | None = None

    def silence(self) -> float:
        """Return the seconds that may pass in a start without a word in the log, unless something is being built."""
        return math.inf if self.silent_s is None else self.silent_s

    def stall(self) -> float:
        """Return the seconds that one stream may stand still between two tokens, and all of them without any."""
        return min(self.request_s, STUCK_S) if self.stall_s is None else self.stall_s

    def load(self, workload: Workload) -> float:
        """Return the seconds that one point of the ladder may take."""
        if self.load_s is not None:
            return self.load_s
        waves = WARMUP_RUNS * workload.warmup_waves + MEASURED_RUNS * workload.waves
        # a slot that takes its share of each run as slowly as it may; the last request of a run may begin a wave late
        asked_s = (waves + WARMUP_RUNS + MEASURED_RUNS) * self.request_s
        return asked_s + waves * max(workload.concurrency) / (workload.request_rate or math.inf)

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
    rehearsal: Rehearsal | None = None
    knobs: Annotated[dict[KnobName, Knob], Field(min_length=1)]
    derived: dict[KnobName, Derived] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    memory: Memory | None = None
    gates: Gates = Field(alias="gate")
    objective: Objective = Objective()
    defaults: Defaults = Defaults()
    reference: Reference | None = None
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
