"""The demo's exam, loaded once, and who answers it rightly."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import evals
from evals.exam import Exam
from evals.harness import load

SUMS = Path(evals.__file__).parent / "tasks" / "sums" / "test.jsonl"


@pytest.fixture(scope="session")
def sums() -> Exam:
    """Return the exam of the shipped task."""
    return load("sums", endpoint="completions")


@pytest.fixture(scope="session")
def solutions() -> Mapping[str, str]:
    """Return the worked answer to each prompt of the shipped task."""
    rows = [json.loads(line) for line in SUMS.read_text(encoding="utf-8").splitlines()]
    return {f"Question: {row['question']}\nAnswer:": row["answer"] for row in rows}
