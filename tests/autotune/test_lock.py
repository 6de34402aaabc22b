"""A study's lock: one driver at a time, and named by its process, not by a number that may be another's."""

import json
import os
import socket
from pathlib import Path

import pytest

from autotune.lock import Driver, StudyLocked, driver, held
from search_spaces import SearchSpace
from tests.autotune.drivers import begun, driven


def named(lock: Path) -> dict[str, object]:
    """Return what a lock file says."""
    return dict(json.loads(lock.read_text(encoding="utf-8")))


def test_a_held_lock_names_this_very_process(tmp_path: Path) -> None:
    with held(tmp_path / "lock", "one"):
        found = driver(tmp_path / "lock")
    assert found is not None
    assert (found.pid, found.host, found.is_here) == (os.getpid(), socket.gethostname(), True)
    assert found.runs


def test_a_lock_that_was_never_held_or_was_left_has_no_driver(tmp_path: Path) -> None:
    assert driver(tmp_path / "lock") is None
    with held(tmp_path / "lock", "one"):
        pass
    assert driver(tmp_path / "lock") is None


def test_who_holds_a_lock_is_named_to_the_next(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with driven(study) as process, pytest.raises(StudyLocked) as refused, study.locked():
        pass
    assert f"study 'one' is being run by process {process.pid} on {socket.gethostname()}" in str(refused.value)
    assert "`autotune stop one`" in str(refused.value)


def test_a_driver_that_was_killed_holds_nothing(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with driven(study) as process:
        process.kill()
        process.wait()
        assert named(study.lock)["pid"] == process.pid
        assert driver(study.lock) is None
        with study.locked():
            assert named(study.lock)["pid"] == os.getpid()


def test_a_reused_pid_is_not_taken_for_the_driver(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with held(lock, "one"):
        lock.write_text(json.dumps({**named(lock), "start_ticks": 1}), encoding="utf-8")
        assert driver(lock) is None


def test_a_driver_on_another_machine_is_believed_while_its_lock_is_held(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    elsewhere = {"pid": os.getpid(), "host": "elsewhere", "start_ticks": 1}
    with held(lock, "one"):
        lock.write_text(json.dumps(elsewhere), encoding="utf-8")
        assert driver(lock) == Driver(pid=os.getpid(), host="elsewhere", start_ticks=1)
    lock.write_text(json.dumps(elsewhere), encoding="utf-8")
    assert driver(lock) is None
