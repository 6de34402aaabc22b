"""Raw timings on disk: one Parquet file a trial. The only file that imports pyarrow."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trials.load.timing import RequestTiming

SCHEMA = pa.schema(
    [
        ("concurrency", pa.int32()),
        ("run", pa.string()),  # warm-up 1, warm-up 2, ..., measured 1
        ("number", pa.int32()),
        ("slot", pa.int32()),
        ("due_s", pa.float64()),
        ("sent_s", pa.float64()),
        ("first_token_s", pa.float64()),
        ("last_token_s", pa.float64()),
        ("ended_s", pa.float64()),
        ("asked_input_tokens", pa.int32()),
        ("asked_output_tokens", pa.int32()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("cached_tokens", pa.int32()),
        ("chunks", pa.int32()),
        ("gaps_s", pa.list_(pa.float32())),
        ("finish_reason", pa.string()),
        ("error", pa.string()),
        ("refused", pa.bool_()),
        ("timed_out", pa.bool_()),
        ("resent", pa.bool_()),
    ]
)


def write(path: Path, rows: Iterable[tuple[int, str, RequestTiming]]) -> None:
    """Write (concurrency, run, timing) rows; a reader sees the whole file or none. Gaps are kept to 7 digits."""
    names = [field.name for field in fields(RequestTiming)]
    columns = [{"concurrency": c, "run": run, **{n: getattr(timing, n) for n in names}} for c, run, timing in rows]
    part = path.with_name(f"{path.name}.part")
    pq.write_table(pa.Table.from_pylist(columns, schema=SCHEMA), part)
    part.replace(path)


def read(path: Path) -> list[tuple[int, str, RequestTiming]]:
    """Return the rows that `write` wrote."""
    rows = pq.read_table(path).to_pylist()
    return [
        (row.pop("concurrency"), row.pop("run"), RequestTiming(**{**row, "gaps_s": tuple(row["gaps_s"])}))
        for row in rows
    ]
