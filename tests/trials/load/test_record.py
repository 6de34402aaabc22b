"""Raw timings on disk: what was written is what is read."""

from pathlib import Path

import pandas as pd

from trials.load.metrics import RequestTiming
from trials.load.record import SCHEMA, read, write

WHOLE = RequestTiming(
    slot=3,
    sent_s=1234.000000001,
    first_token_s=1234.1,
    ended_s=1235.3000000000002,
    prompt_tokens=64,
    completion_tokens=48,
    resent=True,
)
FAILED = RequestTiming(
    slot=0,
    sent_s=0.1,
    first_token_s=None,
    ended_s=0.2,
    prompt_tokens=None,
    completion_tokens=None,
    error="ReadError: 'no' \n «answer»",
    timed_out=True,
)


def test_what_is_read_is_what_was_written_and_absent_stays_absent(tmp_path: Path) -> None:
    rows = [(1, 0, FAILED), (4, 2, WHOLE)]
    write(tmp_path / "requests.parquet", rows)
    assert read(tmp_path / "requests.parquet") == rows


def test_rows_may_come_one_by_one(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", ((2, window, WHOLE) for window in range(3)))
    assert [window for _, window, _ in read(tmp_path / "requests.parquet")] == [0, 1, 2]


def test_no_request_is_a_file_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", [])
    assert read(tmp_path / "requests.parquet") == []


def test_a_file_is_replaced_as_a_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    for rows in ([(1, 1, WHOLE)], [(1, 1, FAILED)]):
        write(tmp_path / "requests.parquet", rows)
    assert read(tmp_path / "requests.parquet") == [(1, 1, FAILED)]
    assert [path.name for path in tmp_path.iterdir()] == ["requests.parquet"]


def test_anybodys_reader_finds_the_columns_and_their_holes(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", [(1, 0, FAILED), (4, 2, WHOLE)])
    table = pd.read_parquet(tmp_path / "requests.parquet")
    assert list(table.columns) == SCHEMA.names
    assert table["first_token_s"].isna().tolist() == [True, False]
