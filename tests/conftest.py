"""Options and fixtures of the whole suite: real engines, and the seeds of campaigns."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.fetch import FETCHES, fetch
from trials.data import data_root

ROOT = Path(__file__).parents[1]
SEEDS = {"demo": range(3), "kill": range(1), "rehearsal": range(3), "same": range(5)}

Autotune = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch between `make test` and `make campaigns`."""
    parser.addoption("--all-seeds", action="store_true", help="run campaigns in full, every seed")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `campaign_seed` its campaign's seeds: the first, or all."""
    if "campaign_seed" in metafunc.fixturenames:
        (mark,) = metafunc.definition.iter_markers("campaign")
        seeds = SEEDS[mark.args[0]]
        metafunc.parametrize("campaign_seed", seeds if metafunc.config.getoption("all_seeds") else seeds[:1])


@pytest.fixture
def campaign_seeds(request: pytest.FixtureRequest) -> range:
    """Return the seeds of a campaign whose test looks at all of them together: the first, or all."""
    (mark,) = request.node.iter_markers("campaign")
    seeds = SEEDS[mark.args[0]]
    return seeds if request.config.getoption("all_seeds") else seeds[:1]


@pytest.fixture(scope="session")
def all_seeds(request: pytest.FixtureRequest) -> bool:
    """Say whether campaigns run in full."""
    return bool(request.config.getoption("all_seeds"))


@pytest.fixture(scope="session")
def demo_engine() -> Path:
    """Return the data root with the demo's engine and weights; fetch what is missing."""
    root = data_root()
    for name in FETCHES:
        list(fetch(name, root))
    return root


@pytest.fixture(scope="session")
def autotune() -> Autotune:
    """Return a function that runs the command line as a user does."""

    def run(*args: str | Path, cwd: Path, timeout_s: float = 250, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [Path(sys.executable).with_name("autotune"), *args],
            cwd=cwd,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run
