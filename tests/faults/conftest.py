"""A bench for each test, and the check after it that nothing of it still runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bench import STOP_S, Bench

MARGIN_S = 20.0  # beyond an engine's grace: Ray's own processes, on a machine under load


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Return a bench; after the test no process that came of it may be left."""
    made = Bench(tmp_path)
    yield made
    left = made.left_after(STOP_S + MARGIN_S)
    for process in made.living():
        process.kill()
    assert left == []
