"""A wall clock that jumps by hours: nothing that is measured, and no deadline, may read it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.bench import Bench

SOURCE = Path(__file__).parents[1] / "fakes/jumping_clock.c"
READ_TWICE = "import time; a = time.time(); time.sleep(1); print(abs(time.time() - a) > 3000)"


@pytest.fixture(scope="session")
def jumping_clock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment in which a program's wall clock jumps."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for the clock")
    library = tmp_path_factory.mktemp("clock") / "jumping_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return {"LD_PRELOAD": str(library)}


def test_the_clock_of_this_test_jumps(jumping_clock: dict[str, str]) -> None:
    ran = subprocess.run([sys.executable, "-c", READ_TWICE], env=jumping_clock, capture_output=True, check=True)
    assert ran.stdout == b"True\n"


def test_no_duration_of_a_study_follows_the_wall_clock(bench: Bench, jumping_clock: dict[str, str]) -> None:
    bench.write_space(
        {"slow": {"flag": "--token-s", "choice": [0.002, 0.01]}}, {"slow": 0.002}, workload={"waves": 100}
    )
    ran = bench.run("study", "fake.yaml", "--dispatcher", "local", env=jumping_clock)
    assert ran.returncode == 0, ran.stderr
    for trial in bench.trials():
        outcome = trial["outcome"]
        assert outcome["kind"] == "measured"
        assert all(0 <= seconds < 100 for seconds in outcome["seconds"].values())
        (point,) = outcome["points"]
        assert all(0 < milliseconds < 10_000 for milliseconds in point["e2el_ms"].values())
