"""The README's commands, run once for every test that looks at what they leave."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Autotune

README = (ROOT / "README.md").read_text(encoding="utf-8")
GSM8K = ROOT.parent / "shared" / "data" / "gsm8k"
COMMANDS = [line.split("  #")[0].strip() for line in re.findall(r"^    (\S.*)$", README, re.MULTILINE)]

Ran = dict[str, "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def readers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which a reader of the README works."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(scope="session")
def gsm8k(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Return a data folder with GSM8K in it, as a machine without the network has it; None where it is not here."""
    if not (GSM8K / "test.jsonl").is_file():
        return None
    root = tmp_path_factory.mktemp("data")
    tasks = root / "tasks" / "gsm8k"
    tasks.mkdir(parents=True)
    (tasks / "test.jsonl").symlink_to(GSM8K / "test.jsonl")
    (tasks / "train.jsonl").symlink_to(GSM8K / "train_head.jsonl")
    return root


@pytest.fixture(scope="session")
def readme(autotune: Autotune, demo_engine: Path, readers_folder: Path, gsm8k: Path | None) -> Ran:
    """Run every `autotune` command of the README in its order, a rehearsal where GSM8K is; return what each said."""
    ran = {}
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        data = gsm8k if "--emulate" in arguments else demo_engine
        if program == "autotune" and data:
            ran[command] = autotune(*arguments, cwd=readers_folder, timeout_s=500, AUTOTUNE_DATA=str(data))
    return ran
