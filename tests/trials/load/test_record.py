"""Raw timings on disk: what was written is what is read."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from trials.load.record import SCHEMA, read, write
from trials.load.timing import RequestTiming

WHOLE = RequestTiming(
    number=17,
    slot=3,
    due_s=1233.9999,
    sent_s=1234.000000001,
    first_token_s=1234.1,
    last_token_s=1235.2,
    ended_s=1235.3000000000002,
    asked_input_tokens=63,
    asked_output_tokens=48,
    prompt_tokens=64,
    completion_tokens=48,
    cached_tokens=16,
    chunks=3,
    gaps_s=(0.5, 0.015625),
    finish_reason="length",
    resent=True,
)
FAILED = RequestTiming(
    number=0,
    slot=0,
    due_s=0.1,
    sent_s=0.1,
    first_token_s=None,
    last_token_s=None,
    ended_s=0.2,
    asked_input_tokens=None,
    asked_output_tokens=3,
    prompt_tokens=None,
    completion_tokens=None,
    chunks=0,
    error="ReadError: 'no' \n «answer»",
    refused=True,
    timed_out=True,
)


def test_what_is_read_is_what_was_written_and_absent_stays_absent(tmp_path: Path) -> None:
    rows = [(1, "warm-up 1", FAILED), (4, "measured 1", WHOLE)]
    write(tmp_path / "requests.parquet", rows)
    assert read(tmp_path / "requests.parquet") == rows


def test_rows_may_come_one_by_one(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", ((2, f"warm-up {n}", WHOLE) for n in range(3)))
    assert [run for _, run, _ in read(tmp_path / "requests.parquet")] == [f"warm-up {n}" for n in range(3)]


def test_no_request_is_a_file_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", [])
    assert read(tmp_path / "requests.parquet") == []


def test_a_file_is_replaced_as_a_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    for rows in ([(1, "measured 1", WHOLE)], [(1, "measured 1", FAILED)]):
        write(tmp_path / "requests.parquet", rows)
    assert read(tmp_path / "requests.parquet") == [(1, "measured 1", FAILED)]
    assert [path.name for path in tmp_path.iterdir()] == ["requests.parquet"]


def test_anybodys_reader_finds_the_columns_and_their_holes(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", [(1, "warm-up 1", FAILED), (4, "measured 1", WHOLE)])
    table = pd.read_parquet(tmp_path / "requests.parquet")
    assert list(table.columns) == SCHEMA.names
    assert table["first_token_s"].isna().tolist() == [True, False]
    assert [list(gaps) for gaps in table["gaps_s"]] == [[], [0.5, 0.015625]]


def test_a_gap_is_kept_to_a_few_nanoseconds(tmp_path: Path) -> None:
    write(tmp_path / "requests.parquet", [(1, "measured 1", replace(WHOLE, gaps_s=(0.0201234567, 1.3)))])
    ((_, _, timing),) = read(tmp_path / "requests.parquet")
    assert timing.gaps_s == pytest.approx((0.0201234567, 1.3), rel=1e-7)
