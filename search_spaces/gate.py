"""What a space file says of its gates, and the thresholds that it may leave out. No I/O."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from search_spaces.fields import Count, File, Frozen, inside

TASK_FILES = (".yaml", ".yml")
FEWEST_AT_ONCE = 16
"""InferenceX evaluates at no lower concurrency, where there is a higher one (MIN_EVAL_CONC at 843c6254)."""

Accuracy = Annotated[float, Field(strict=True, gt=0, le=1)]
Probability = Annotated[float, Field(strict=True, gt=0, lt=1)]


def _task(task: str) -> str:
    return inside(task) if task.endswith(TASK_FILES) else task


def _threshold_may_be_left_out(schema: dict[str, Any]) -> None:
    schema["required"].remove("threshold")


class Questions(Frozen):
    """How many questions a verdict is about, in search and in confirmation; None: all of the task."""

    search: Count | None = None
    confirm: Count | None = None


class GateSettings(Frozen):
    """
    What must not get worse: a task, and the score that every filter must reach.

    Attributes:
        task: A name of ours or of lm-eval's, or the path of a YAML file beside the space file.
        data: Files of JSON lines instead of the task's own data set, by split.
        threshold: May be left out of a file where `thresholds.yaml` has one for the task.
        filters: Those that must reach it; None: every one of the task.
        concurrency: Questions at once; None: the highest of the ladder.
        in_flight: The most at once in search, where those in flight when the verdict is reached were asked in vain.
        max_tokens: The cap on an answer; None: as InferenceX derives it from the context that the server serves.
        alpha: The chance, at most, that a verdict in search is not that of all questions, each way.
        margin: The accuracy that confirmation may find lost against the baseline; None: only a significant loss fails.
    """

    model_config = ConfigDict(json_schema_extra=_threshold_may_be_left_out)

    task: Annotated[str, AfterValidator(_task)]
    endpoint: Literal["chat", "completions"] = "chat"
    data: dict[str, File] = Field(default_factory=dict)
    threshold: Accuracy
    filters: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    questions: Questions = Questions()
    smell: Count = 16
    concurrency: Count | None = None
    in_flight: Count = 64
    max_tokens: Count | None = None
    alpha: Probability = 0.01
    margin: Probability | None = 0.02

    def source(self, space_folder: Path) -> str:
        """Return what the exam is loaded by: the task's name, or the path of its file."""
        return str(space_folder / self.task) if self.task.endswith(TASK_FILES) else self.task

    def at_once(self, ladder: Sequence[int], *, early: bool) -> int:
        """Return how many questions are asked at once; fewer where the verdict may come early."""
        served = self.concurrency if self.concurrency is not None else max(ladder)
        return min(served, self.in_flight) if early else served

    def confirmed_at(self, ladder: Sequence[int]) -> tuple[int, ...]:
        """Return the concurrencies at which the full set is asked: as InferenceX, the highest and the median."""
        if self.concurrency is not None:
            return (self.concurrency,)
        eligible = sorted(each for each in ladder if each >= FEWEST_AT_ONCE) or sorted(ladder)
        return tuple(dict.fromkeys((eligible[-1], eligible[len(eligible) // 2])))


def _listed(gates: object) -> object:
    """Take one gate for a list of one."""
    return [gates] if isinstance(gates, dict | GateSettings) else gates


def _some(gates: tuple[GateSettings, ...]) -> tuple[GateSettings, ...]:
    if not gates:
        raise ValueError("write at least one gate: without one nothing is known of accuracy")
    return gates


Gates = Annotated[
    tuple[GateSettings, ...],
    AfterValidator(_some),
    BeforeValidator(_listed, json_schema_input_type=GateSettings | tuple[GateSettings, ...]),
]


class Thresholds(Frozen):
    """
    The least accuracy of each task, for models in general and for those that do better.

    Attributes:
        names: The key in `models` of a model, by the id under which it is served.
    """

    default: dict[str, Accuracy]
    models: dict[str, dict[str, Accuracy]]
    names: dict[str, str]

    def of(self, task: str, model: str) -> float | None:
        """Return the threshold of a task for a model, or None where none is known."""
        own = self.models.get(self.names.get(model, model), {})
        return own.get(task, self.default.get(task))
