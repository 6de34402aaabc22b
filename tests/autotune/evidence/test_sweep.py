"""The evidence of a sweep: a row for each cell, with what is behind it."""

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.campaign import campaign
from autotune.comparisons import ComparisonFolder, Rules
from autotune.evidence.comparison import write
from autotune.evidence.sweep import Swept, swept, write_sweep
from search_spaces import SearchSpace
from tests.autotune.comparing import Told, leave_raw_files, rates, settings, sides
from trials.outcome import Measured

RULES = Rules(most=2, until="every level decided", judged=False)
SHORT, LONG = 1000, 50_000


def made(root: Path, small: SearchSpace, context: int, launches: list[Measured]) -> None:
    """Make the comparison of one context."""
    folder, own = ComparisonFolder(root / f"context-{context}"), sides(small)
    shape = {"input_tokens": context, "output_tokens": 8}
    load = type(own.a.workload).model_validate({**shape, "concurrency": [1, 2], "waves": 4, "warmup_waves": 1})
    a, b = (recipe.model_copy(update={"workload": load}) for recipe in (own.a, own.b))
    begun = replace(settings(root, RULES), name=folder.root.name)
    folder.begin(begun, replace(own, a=a, b=b), {"host": "a host"})
    list(campaign(folder, Told(launches)))
    leave_raw_files(folder)
    write(folder)


@pytest.fixture
def sweep(tmp_path: Path, small: SearchSpace) -> Swept:
    """Return a sweep in which B is as fast as A at a short context and slower at a long one."""
    root = tmp_path / "sweep"
    made(root, small, SHORT, rates(100.0, 100.0, 100.01, 100.01))
    made(root, small, LONG, rates(100.0, 80.0, 80.01, 100.01))
    return swept(root)


def table(sweep: Swept) -> list[str]:
    """Return the rows of the table, without its head."""
    write_sweep(sweep)
    return [line for line in (sweep.root / "sweep.md").read_text().splitlines() if line.startswith("|")][2:]


def test_a_loss_at_a_long_context_is_not_claimed_at_a_short_one(sweep: Swept) -> None:
    said = [(each.cell.batch, each.cell.context, each.verdict.result) for each in sweep.found]
    assert said == [(1, SHORT, "tie"), (2, SHORT, "tie"), (1, LONG, "loss"), (2, LONG, "loss")]
    assert "B is slower from 50,000 tokens of context in the batch on" in sweep.lines[-1]
    assert "up to 2,000 no loss is claimed" in sweep.lines[-1]


def test_every_cell_leads_to_the_launches_behind_it(sweep: Swept) -> None:
    assert ["](context-1000/evidence.md)" in row for row in table(sweep)] == [True, True, False, False]
    assert all(row.count("](context-") == 4 for row in table(sweep))


def test_a_raw_file_that_is_gone_is_said_in_the_rows_of_its_context(sweep: Swept) -> None:
    assert not any("missing" in row for row in table(sweep))
    (sweep.root / "context-50000/02-B/requests.parquet").unlink()
    said = ["missing: 02-B/requests.parquet" in row for row in table(swept(sweep.root))]
    assert said == [False, False, True, True]
