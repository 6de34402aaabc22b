"""Every command of the README, run in its order, as a reader would."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Autotune

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.split("  #")[0].strip() for line in re.findall(r"^    (\S.*)$", README, re.MULTILINE)]
ELSEWHERE = {
    "make test": "this suite is what it runs",
    "make demo": "test_make_demo_is_the_readmes_way_in runs it short, the campaign of tests/e2e/test_demo.py in full",
}


def test_every_command_of_the_readme_is_run_by_a_test() -> None:
    assert {command for command in COMMANDS if not command.startswith("autotune ")} == set(ELSEWHERE)


@pytest.mark.engine
@pytest.mark.ray
@pytest.mark.timeout(600)
def test_the_autotune_commands_of_the_readme_run_in_their_order(
    autotune: Autotune, demo_engine: Path, tmp_path: Path
) -> None:
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        if program == "autotune":
            ran = autotune(*arguments, cwd=tmp_path, timeout_s=500, AUTOTUNE_DATA=str(demo_engine))
            assert ran.returncode == 0, f"{command}: {ran.stderr}"
    assert (tmp_path / "studies/quick/evidence.md").is_file()


@pytest.mark.engine
def test_make_demo_is_the_readmes_way_in(demo_engine: Path, tmp_path: Path) -> None:
    """With this environment and the fetched engine it has nothing to install; a study of no trials is its shortest."""
    short = f"--trials 0 --dispatcher local --studies {tmp_path}"
    variables = [f"VENV={sys.prefix}", f"DEMO={short}", f"AUTOTUNE_DATA={demo_engine}", "--assume-old=pyproject.toml"]
    ran = subprocess.run(
        ["make", "demo", *variables], cwd=ROOT, capture_output=True, text=True, timeout=250, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "sha256 checked" in ran.stdout
    assert (tmp_path / "demo/recipe.yaml").is_file()
