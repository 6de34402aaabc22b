"""The benchmark of the overhead as the program it is; its figures are for people, not for a test."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.ray
@pytest.mark.long
def test_two_trials_print_both_figures_beside_their_targets() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.overhead", "--trials", "2"],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    trial, memory = ran.stdout.splitlines()
    assert trial.startswith("overhead a trial, median: ")
    assert memory.startswith("driver's peak memory: ")
    assert all(" of it" in line for line in (trial, memory))
