"""The README's commands, run once for every test that looks at what they leave."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Autotune

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.split("  #")[0].strip() for line in re.findall(r"^    (\S.*)$", README, re.MULTILINE)]

Ran = dict[str, "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def readers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which a reader of the README works."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(scope="session")
def readme(autotune: Autotune, demo_engine: Path, readers_folder: Path) -> Ran:
    """Run every `autotune` command of the README in its order; return what each said."""
    ran = {}
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        if program == "autotune":
            ran[command] = autotune(*arguments, cwd=readers_folder, timeout_s=500, AUTOTUNE_DATA=str(demo_engine))
    return ran
