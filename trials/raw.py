"""What a trial saw: every request and every answer, kept in its folder however it ends."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from evals import Scored
from trials.files import write_whole
from trials.load import record
from trials.load.closed_loop import Loaded, Point


@dataclass(slots=True)
class RawData:
    """Raw data of a trial, as it comes in; of several launches one after the other."""

    loads: list[tuple[Point, Loaded]] = field(default_factory=list)
    answers: list[Scored] = field(default_factory=list)

    def keep(self, folder: Path) -> None:
        """Write `requests.parquet` and `answers.jsonl`, as far as there is anything to write."""
        if self.loads:
            rows = ((point.concurrency, *row) for point, loaded in self.loads for row in loaded.rows())
            record.write(folder / "requests.parquet", rows)
        if self.answers:
            lines = (json.dumps(asdict(one), ensure_ascii=False) for one in self.answers)
            write_whole(folder / "answers.jsonl", "".join(f"{line}\n" for line in lines))
