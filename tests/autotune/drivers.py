"""A study that has begun, and a driver of it that is another process."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autotune.folder import StudyFolder, study_folder
from search_spaces import SearchSpace
from tests.autotune.studies import settings
from tests.conftest import ROOT

DRIVER = ROOT / "tests/fakes/driver.py"


def begun(folder: Path, space: SearchSpace) -> StudyFolder:
    """Return the folder of a study that has just begun, in `studies` below a folder."""
    study = study_folder(folder / "studies", "one")
    study.begin(settings(folder), space, {"host": "a host"})
    return study


@contextlib.contextmanager
def driven(study: StudyFolder, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    """Let another process hold a study's lock for the block."""
    argv = [sys.executable, str(DRIVER), str(study.root), *flags]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as driver:
        try:
            assert driver.stdout
            assert driver.stdout.readline() == "locked\n"
            yield driver
        finally:
            driver.kill()
