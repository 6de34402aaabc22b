"""Engines that outlived their driver: waited for, and named when they do not end."""

import json
import os
import subprocess
import sys
from pathlib import Path

from autotune.leftovers import Leftover, outwait
from search_spaces import SearchSpace
from tests.autotune.drivers import begun
from tests.conftest import ROOT
from tests.fakes.running import ENGINE


def test_an_engine_of_a_killed_owner_is_waited_for_until_it_has_drained(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    trial = study.root / "trials/0000"
    trial.mkdir(parents=True)
    with owner(trial, "--drain", "2") as process:
        engine = json.loads((trial / "supervisor.json").read_text())["engine_pid"]
        process.kill()
    assert outwait(study, within_s=0) == [Leftover(engine, trial)]
    assert outwait(study, within_s=60) == []
    assert (trial / "engine.log").read_text().endswith("SIGTERM: draining\ndrained\n")


def owner(folder: Path, *flags: str) -> "subprocess.Popen[str]":
    """Start a process that serves an engine until it is killed; return it once the engine is ready."""
    argv = [sys.executable, str(ROOT / "tests/fakes/owner.py"), str(folder), "hang", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AUTOTUNE_LLAMA_SERVER": str(ENGINE)}
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    return process
