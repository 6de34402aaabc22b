"""The gates of a study: what its space says of them, made whole by the exams themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals import Exam, Gate, Reference
from search_spaces import GateSettings, SearchSpace
from trials.data import locate
from trials.gates import exam
from trials.outcome import Judgement

TASKS = "tasks"
"""Folder under the data root: `tasks/gsm8k/test.jsonl` stands for that split of that task."""


@dataclass(frozen=True, slots=True)
class GateOfStudy:
    """One gate of a space, and its exam; `data` are files of JSON lines in place of the task's own, by split."""

    settings: GateSettings
    exam: Exam
    data: dict[str, str]
    ladder: tuple[int, ...]

    def searching(self) -> Gate:
        """Return the gate of a trial of the search: against the threshold alone, and decided as early as may be."""
        return self._gate(
            questions=self.settings.questions.search,
            concurrency=self.settings.at_once(self.ladder, early=True),
            early=True,
        )

    def confirming(self, concurrency: int, reference: Judgement | None) -> Gate:
        """Return the gate of a confirming launch: every question, and no worse than the baseline answered them."""
        return self._gate(
            questions=self.settings.questions.confirm,
            concurrency=concurrency,
            reference=_held_against(reference) if reference else None,
        )

    @property
    def confirmed_at(self) -> tuple[int, ...]:
        """How many questions at once the confirming gates ask."""
        return self.settings.confirmed_at(self.ladder)

    def _gate(
        self, *, questions: int | None, concurrency: int, early: bool = False, reference: Reference | None = None
    ) -> Gate:
        settings, count = self.settings, questions or len(self.exam.questions)
        return Gate(
            task=self.exam.source,
            endpoint=settings.endpoint,
            data=self.data,
            threshold=settings.threshold,
            filters=settings.filters or self.exam.filters,
            questions=count,
            smell=min(settings.smell, count),
            concurrency=concurrency,
            max_tokens=settings.max_tokens,
            alpha=settings.alpha,
            early=early,
            reference=reference,
            margin=settings.margin if reference else None,
        )


def _held_against(judgement: Judgement) -> Reference:
    return Reference(protocol=judgement.verdict.protocol, correct=judgement.correct)


def gates(space: SearchSpace, *, space_folder: Path, data_root: Path) -> tuple[GateOfStudy, ...]:
    """
    Load the exams of a space.

    Raises:
        evals.TaskError: If a task can't be loaded.
        trials.data.DataMissing: If a file with a task's data is not here.
    """
    return tuple(_load(settings, space, space_folder, data_root) for settings in space.gates)


def _load(settings: GateSettings, space: SearchSpace, space_folder: Path, data_root: Path) -> GateOfStudy:
    found = locate(settings.data, space_folder=space_folder, data_root=data_root) or _kept(settings.task, data_root)
    data = {split: str(path) for split, path in found.items()}
    loaded = exam(settings.source(space_folder), settings.endpoint, tuple(data.items()))
    return GateOfStudy(settings, loaded, data, space.workload.concurrency)


def _kept(task: str, data_root: Path) -> dict[str, Path]:
    """Return the splits of a task that somebody put under the data root, for machines without the network."""
    return {path.stem: path for path in sorted((data_root / TASKS / task).glob("*.jsonl"))}


def confirming(every: Sequence[GateOfStudy], references: Sequence[Judgement] | None) -> Iterator[Gate]:
    """Yield the gates of a confirming launch; `references` are those of the baseline's, in the same order."""
    asked = [(gate, concurrency) for gate in every for concurrency in gate.confirmed_at]
    for place, (gate, concurrency) in enumerate(asked):
        yield gate.confirming(concurrency, references[place] if references else None)
