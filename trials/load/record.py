"""Raw timings on disk: one Parquet file a trial. The only file that imports pyarrow."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from trials.load.metrics import RequestTiming

SCHEMA = pa.schema(
    [
        ("concurrency", pa.int32()),
        ("window", pa.int32()),  # as `Loaded.rows` counts them
        ("slot", pa.int32()),
        ("sent_s", pa.float64()),
        ("first_token_s", pa.float64()),
        ("ended_s", pa.float64()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
        ("error", pa.string()),
        ("timed_out", pa.bool_()),
        ("resent", pa.bool_()),
    ]
)


def write(path: Path, rows: Iterable[tuple[int, int, RequestTiming]]) -> None:
    """Write (concurrency, window, timing) rows; a reader sees the whole file or none."""
    columns = [{"concurrency": c, "window": w, **asdict(timing)} for c, w, timing in rows]
    part = path.with_name(f"{path.name}.part")
    pq.write_table(pa.Table.from_pylist(columns, schema=SCHEMA), part)
    part.replace(path)


def read(path: Path) -> list[tuple[int, int, RequestTiming]]:
    """Return the rows that `write` wrote."""
    rows = pq.read_table(path).to_pylist()
    return [(row.pop("concurrency"), row.pop("window"), RequestTiming(**row)) for row in rows]
