"""What is read of a study's index beside its search, whatever its driver is doing."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import optuna
import pytest

from autotune.search.index import FEWEST, NoIndex, copied, importance
from autotune.search.search import Search
from search_spaces import SearchSpace
from tests.autotune.studies import LOST, MEMORY, complete
from tests.support import measured

KILLED = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN")
database.execute("UPDATE trial_values SET value = -1")
database.execute("CREATE TABLE filler AS SELECT randomblob(100000) AS x")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return where an index is to be."""
    return tmp_path / "study.db"


def searched(space: SearchSpace, database: Path, count: int) -> Search:
    """Return a search of so many measured trials, in which the number of threads is all that matters; some failed."""
    made = Search(space, sampler="random", seed=1, database=database)
    for number in range(count):
        threads = 1 + number % 4
        config = complete(space, {"threads": threads, "cache": ("f16", "q8_0")[number // 4 % 2]})
        made.replay(config, measured(100.0 + 20 * threads + number / 100))
    for cache in ("q4_0", "q8_0"):
        made.replay(complete(space, {"cache": cache, "unified": True}), MEMORY)
    made.replay(complete(space, {"unified": True}), LOST)
    return made


def test_what_decides_is_the_most_important(small: SearchSpace, database: Path) -> None:
    searched(small, database, 24)
    found = importance(database)
    assert found.measured == 24
    assert next(iter(found.shares)) == "threads"
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_what_failed_has_no_value_and_too_few_values_no_importance(small: SearchSpace, database: Path) -> None:
    searched(small, database, FEWEST - 1)
    assert importance(database).measured == FEWEST - 1
    assert importance(database).shares == {}


def test_equal_values_have_no_importance(small: SearchSpace, database: Path) -> None:
    made = Search(small, sampler="random", seed=1, database=database)
    for threads in (1, 2, 3, 4) * 3:
        made.replay(complete(small, {"threads": threads}), measured(100.0))
    assert importance(database).shares == {}


def test_reading_leaves_an_index_as_it_is_while_its_driver_writes(small: SearchSpace, database: Path) -> None:
    made = searched(small, database, 12)
    made.ask()
    before = database.read_bytes()
    with closing(sqlite3.connect(database, isolation_level=None)) as driver:
        driver.execute("BEGIN IMMEDIATE")
        assert importance(database).measured == 12
        copied(database, "a copy")
    assert database.read_bytes() == before


def test_a_copy_has_its_own_name_and_every_trial(small: SearchSpace, database: Path) -> None:
    made = searched(small, database, 3)
    made.ask()
    copy = optuna.load_study(study_name="EMULATED one", storage=copied(database, "EMULATED one"))
    assert [trial.state.name for trial in copy.trials] == ["COMPLETE"] * 5 + ["FAIL", "RUNNING"]
    assert copy.best_value == made._study.best_value


def test_what_a_killed_driver_was_writing_does_not_count(small: SearchSpace, database: Path) -> None:
    searched(small, database, 12)
    killed = subprocess.run([sys.executable, "-c", KILLED, database], check=False)
    assert killed.returncode < 0
    assert database.with_name("study.db-journal").exists()
    copy = optuna.load_study(study_name="x", storage=copied(database, "x"))
    assert copy.best_value > 0


@pytest.mark.parametrize("held", [None, b"", b"this is no database, whatever it is called" * 100])
def test_without_an_index_there_is_one_message(database: Path, held: bytes | None) -> None:
    if held is not None:
        database.write_bytes(held)
    with pytest.raises(NoIndex, match=r"study\.db, the index of the search, .*`autotune resume` makes it anew"):
        importance(database)
    assert database.exists() == (held is not None)
