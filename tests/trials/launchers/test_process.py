"""A bare process: its own command, and whose port it is by its tree."""

import os
from pathlib import Path

import psutil

from trials.engines import engine
from trials.launchers import LAUNCHERS, Job
from trials.launchers.launcher import family
from trials.supervisor import Ended, Spec, Started

PROCESS = LAUNCHERS["process"]
ME = Started(os.getpid(), psutil.Process().create_time(), os.getpid(), psutil.Process().create_time())


def test_the_command_is_the_engines_own() -> None:
    job = Job(argv=["vllm"], env={"A": "1", "B": None}, image=None, reads=(), folder=Path("/l"), stop_s=5)
    assert PROCESS.spec(job) == Spec(["vllm"], {"A": "1", "B": None}, 5)


def test_a_listener_of_the_tree_is_ours_and_another_or_an_unknown_is_not() -> None:
    spec = Spec([], {}, 0)
    assert PROCESS.owns({os.getpid()}, ME, spec)
    assert not PROCESS.owns({1}, ME, spec)
    assert not PROCESS.owns(set(), ME, spec)


def test_its_end_is_the_engines_own() -> None:
    assert PROCESS.why(Ended(127, stopped=False), "not found") is None


def test_what_would_run_is_what_the_adapter_finds(tmp_path: Path) -> None:
    llama = tmp_path / "engines/llamacpp.json"
    llama.parent.mkdir()
    llama.write_text('{"name": "xllamacpp", "version": "1"}')
    assert PROCESS.version(engine("llamacpp"), None, tmp_path) == "xllamacpp 1"


def test_a_process_that_has_ended_has_no_family() -> None:
    assert family(2**22 + 1) == set()
