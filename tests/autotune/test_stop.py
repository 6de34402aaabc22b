"""`autotune stop`: the very process that runs a study is asked to end, and waited for."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autotune.lock import StudyLocked, held
from autotune.stop import stop
from search_spaces import SearchSpace
from tests.autotune.drivers import begun, driven
from tests.autotune.studies import FRAME
from tests.conftest import Autotune
from tests.fakes.running import ENGINE

INTERRUPTED, EXISTS = 130, 4


def test_a_driver_is_ended_and_its_lock_is_free(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with driven(study) as process:
        assert list(stop(study, timeout_s=60))
        assert process.wait(60) != 0
        assert process.returncode != -signal.SIGKILL
    with study.locked():
        pass


def test_a_study_that_is_not_running_is_left_alone(tmp_path: Path, small: SearchSpace) -> None:
    assert list(stop(begun(tmp_path, small), timeout_s=60)) == []


def test_another_process_with_the_drivers_pid_is_left_alone(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with driven(study) as process:
        named = json.loads(study.lock.read_text(encoding="utf-8"))
        study.lock.write_text(json.dumps({**named, "start_ticks": named["start_ticks"] - 1}), encoding="utf-8")
        assert list(stop(study, timeout_s=60)) == []
        assert process.poll() is None


def test_a_driver_that_does_not_end_is_reported_and_not_killed(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with driven(study, "--stays") as process:
        with pytest.raises(StudyLocked, match=rf"process {process.pid} was asked to end and still runs after 0\.2 s"):
            list(stop(study, timeout_s=0.2))
        assert process.poll() is None


def test_a_driver_on_another_machine_is_stopped_there(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    with held(study.lock, "one"):
        study.lock.write_text(json.dumps({"pid": 1, "host": "elsewhere", "start_ticks": 1}), encoding="utf-8")
        with pytest.raises(StudyLocked, match="is being run by process 1 on elsewhere: stop it there"):
            list(stop(study, timeout_s=60))


def test_stopping_what_does_not_run_says_so_and_is_no_error(
    autotune: Autotune, tmp_path: Path, small: SearchSpace
) -> None:
    begun(tmp_path, small)
    ran = autotune("stop", "one", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "study 'one' is not running; go on with `autotune resume one`\n")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("dispatcher", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_a_study_is_stopped_from_another_terminal_with_its_engine(
    autotune: Autotune, tmp_path: Path, dispatcher: str
) -> None:
    """The engine never becomes ready, so the study would wait for it."""
    knob = "serve: {args: [--never-listen]}\nbaseline: {pace: 1}\nknobs: {pace: {flag: --token-s, choice: [0, 1]}}\n"
    (tmp_path / "mine.yaml").write_text(FRAME.replace("ready_s: 10", "ready_s: 600") + knob)
    command = [sys.executable, "-m", "autotune", "study", "mine.yaml", "--dispatcher", dispatcher, "--json"]
    environment = {**os.environ, "AUTOTUNE_LLAMA_SERVER": str(ENGINE)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as driver:
        started = tmp_path / "studies/mine/trials/0000/supervisor.json"
        deadline = time.monotonic() + 100
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        pids = [pid for key, pid in json.loads(started.read_text()).items() if key.endswith("_pid")]
        supervisor, engine = (psutil.Process(pid) for pid in pids)
        ran = autotune("stop", "mine", cwd=tmp_path)
        said, _ = driver.communicate(timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "study 'mine' was stopped; go on with `autotune resume mine`\n")
    assert driver.returncode == INTERRUPTED
    assert [json.loads(line)["event"] for line in said.splitlines()] == ["trial_started"]
    assert not engine.is_running()
    supervisor.wait(10)  # its last act is to hang up, so it may still be on its way out
