"""The benchmark of the load generator as the program it is; its figures are for people, not for a test."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the benchmark compiles its server with gcc")
def test_every_client_has_a_row_beside_the_compiled_one() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.load_generator", "--short"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    head, titles, *rows = ran.stdout.strip().splitlines()
    assert head.startswith("4 streams")
    assert titles.startswith("client")
    assert [row.split()[0] for row in rows] == ["C", "ours", "aiohttp", "aiohttp-uvloop", "httpx"]
