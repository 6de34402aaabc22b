"""A bench for each test, and the check after it that nothing of it still runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bench import STOP_S, Bench, leaving_nothing

MARGIN_S = 45.0  # beyond an engine's grace: Ray's own processes, on a machine under load


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Return a bench; after the test no process that came of it may be left."""
    with leaving_nothing(Bench(tmp_path), within_s=STOP_S + MARGIN_S) as made:
        yield made
