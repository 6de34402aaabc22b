"""Every command of the README, run in its order, as a reader would."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import COMMANDS, Ran

ELSEWHERE = {
    "make test": "this suite is what it runs",
    "make demo": "test_make_demo_is_the_readmes_way_in runs it short, the campaign of tests/e2e/test_demo.py in full",
}


def test_every_command_of_the_readme_is_run_by_a_test() -> None:
    assert {command for command in COMMANDS if not command.startswith("autotune ")} == set(ELSEWHERE)


@pytest.mark.engine
@pytest.mark.ray
@pytest.mark.timeout(600)
def test_the_autotune_commands_of_the_readme_run_in_their_order(readme: Ran, readers_folder: Path) -> None:
    failed = {command: ran.stderr for command, ran in readme.items() if ran.returncode != 0}
    assert not failed
    assert (readers_folder / "studies/quick/evidence.html").is_file()


@pytest.mark.engine
@pytest.mark.ray
@pytest.mark.timeout(600)
def test_the_rehearsal_of_the_readme_runs_too(readme: Ran, readers_folder: Path, *, gsm8k: Path | None) -> None:
    if gsm8k is None:
        pytest.skip("GSM8K is not beside the project, and the network is not to be counted on")
    assert any("--emulate" in command for command in readme)
    assert "EMULATED" in (readers_folder / "studies/rehearsal/evidence.md").read_text(encoding="utf-8")


@pytest.mark.engine
def test_make_demo_is_the_readmes_way_in(demo_engine: Path, tmp_path: Path) -> None:
    """With this environment and the fetched engine it has nothing to install; a study of no trials is its shortest."""
    short = f"--trials 0 --dispatcher local --studies {tmp_path}"
    variables = [f"VENV={sys.prefix}", f"DEMO={short}", f"AUTOTUNE_DATA={demo_engine}"]
    installed = [f"--assume-old={sys.prefix}/bin/.runtime", f"--old-file={sys.prefix}/bin/.runtime"]
    ran = subprocess.run(
        ["make", "demo", *variables, *installed], cwd=ROOT, capture_output=True, text=True, timeout=250, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "sha256 checked" in ran.stdout
    assert (tmp_path / "demo/recipe.yaml").is_file()
