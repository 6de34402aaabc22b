"""What a trial saw: every request and every answer, kept in its folder however it ends."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evals import Gate, Scored
from trials.files import write_whole
from trials.load import record
from trials.load.measure import Loaded


@dataclass(slots=True)
class RawData:
    """Raw data of a trial, as it comes in; of several launches one after the other."""

    loads: list[Loaded] = field(default_factory=list)
    answers: list[tuple[Gate, Scored]] = field(default_factory=list)

    def keep(self, folder: Path) -> None:
        """Write `requests.parquet`, `runs.jsonl` and `answers.jsonl`, as far as there is anything to write."""
        if self.loads:
            rows = ((loaded.point.concurrency, *row) for loaded in self.loads for row in loaded.rows())
            record.write(folder / "requests.parquet", rows)
            _write_lines(folder / "runs.jsonl", (run for loaded in self.loads for run in _runs(loaded)))
        if self.answers:
            answers = (
                {"task": gate.task, "concurrency": gate.concurrency, **asdict(one)} for gate, one in self.answers
            )
            _write_lines(folder / "answers.jsonl", answers)


def _runs(loaded: Loaded) -> Iterator[dict[str, Any]]:
    """Yield what is known of each run of a point beside its requests."""
    for run in (*loaded.warmup, *loaded.measured):
        yield {
            "concurrency": loaded.point.concurrency,
            "run": run.name,
            "begun_s": run.ran.begun_s,
            "ended_s": run.ran.ended_s,
            "tok_per_s": run.tok_per_s,
            "client": asdict(run.ran.client),
            "counted": asdict(run.counted) if run.counted else None,
            "built": run.built,
            "gpus": asdict(run.gpus) if run.gpus else None,
            "faults": [asdict(fault) for fault in run.faults],
        }


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_whole(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
