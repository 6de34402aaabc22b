"""The evidence of a sweep: a row for each cell, with what is behind it."""

import re
from pathlib import Path

import pytest

from autotune.evidence.sweep import Swept, swept, write_sweep
from autotune.evidence.words import CHINESE
from tests.autotune.comparing import rates
from tests.autotune.evidence import whole
from tests.autotune.studies import MEMORY

SHORT, LONG = 1000, 50_000


@pytest.fixture
def sweep(tmp_path: Path) -> Swept:
    """Return a sweep in which B is as fast as A at a short context and slower at a long one."""
    return swept(whole.swept(tmp_path))


def table(sweep: Swept) -> list[str]:
    """Return the rows of the table, without its head."""
    write_sweep(sweep)
    text = (sweep.root / "sweep.md").read_text().split("## By batch and context")[1].split("\n## ")[0]
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_a_loss_at_a_long_context_is_not_claimed_at_a_short_one(sweep: Swept) -> None:
    said = [(each.cell.batch, each.cell.context, each.verdict.result) for each in sweep.found]
    assert said == [(1, SHORT, "tie"), (2, SHORT, "tie"), (1, LONG, "loss"), (2, LONG, "loss")]
    assert "B is slower from 50,000 tokens of context in the batch on" in sweep.lines[-1]
    assert "up to 2,000 no loss is claimed" in sweep.lines[-1]


def test_every_cell_leads_to_the_launches_behind_it(sweep: Swept) -> None:
    assert ["](context-1000/evidence.md)" in row for row in table(sweep)] == [True, True, False, False]
    for row in table(sweep):
        links = re.findall(r"\]\((.+?)\)", row)
        assert len(links) == 5  # the context's own evidence, and two launches of each
        assert all((sweep.root / link).is_file() for link in links)


def test_a_raw_file_that_is_gone_is_said_in_the_rows_of_its_context(sweep: Swept) -> None:
    assert not any("missing" in row for row in table(sweep))
    (sweep.root / "context-50000/02-B/requests.parquet").unlink()
    said = ["**missing: context-50000/02-B/requests.parquet**" in row for row in table(swept(sweep.root))]
    assert said == [False, False, True, True]


def test_it_is_told_in_both_languages_with_its_plot(sweep: Swept) -> None:
    write_sweep(sweep)
    for name in ("sweep.md", "sweep.html"):
        english, chinese = (sweep.root / name).read_text(encoding="utf-8").split("中文说明")
        assert sweep.lines[-1] in english
        assert CHINESE(sweep.verdict) in chinese
    assert "![B against A by context](plots/crossover.svg)" in (sweep.root / "sweep.md").read_text()
    drawn = (sweep.root / "plots/crossover.svg").read_text(encoding="utf-8")
    assert [label for label in ("1,000", "10,000", "100,000") if f">{label}<" not in drawn] == []
    assert (sweep.root / "plots/crossover.png").is_file()


def test_a_context_at_which_nothing_serves_is_named(tmp_path: Path) -> None:
    whole.at(tmp_path, SHORT, rates(100.0, 100.0, 100.01, 100.01))
    whole.at(tmp_path, LONG, [*rates(100.0), MEMORY, MEMORY])
    found = swept(tmp_path / "sweep")
    write_sweep(found)
    text = (found.root / "sweep.md").read_text()
    assert "context-50000: Nothing is compared: B failed: memory: out of memory." in text
    assert "B loses at no cell" in found.lines[-1]
