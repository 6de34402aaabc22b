"""An engine in a container: served, stopped, explained, and gone whoever of its three keepers is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.fakes.docked import FAKES, containers, docked
from trials.engines import EngineNotFound, Failure, engine
from trials.launchers import LAUNCHERS
from trials.launchers.launcher import family
from trials.launchers.orphans import orphans
from trials.load.client import complete
from trials.serving import EngineFailed, Launch, serving
from trials.supervisor import STARTED, Started

ROOT = Path(__file__).parents[3]

Launches = Callable[..., Launch]


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launches]:
    """Return a launch of the fake engine with these flags, in a container of a daemon that runs."""

    def make(*args: str, image: str = "llama", stop_s: float = 10.0) -> Launch:
        return Launch(
            engine="llamacpp",
            model="m",
            args=args,
            env={},
            files={},
            data_root=tmp_path,
            folder=tmp_path / "launch",
            ready_s=60.0,
            stop_s=stop_s,
            request_s=10.0,
            launcher="docker",
            image=image,
        )

    with docked(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield make


def log(launch: Launch) -> str:
    """Return what the engine printed."""
    return (launch.folder / "engine.log").read_text()


def pid(launch: Launch) -> int:
    """Return the engine's pid as it says it."""
    return int(next(line.split()[1] for line in log(launch).splitlines() if line.startswith("pid ")))


def runs(number: int) -> bool:
    """Say whether a process runs."""
    return psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE


def ended(number: int) -> None:
    """Wait until a process has ended."""
    while runs(number):
        time.sleep(0.02)


def kill_both(started: Started) -> None:
    """Kill a supervisor and its client, neither of which sees the other die."""
    os.kill(started.engine_pid, signal.SIGSTOP)
    os.kill(started.supervisor_pid, signal.SIGKILL)
    os.kill(started.engine_pid, signal.SIGKILL)


def failure_of(launch: Launch) -> Failure:
    """Serve in vain and return why."""
    with pytest.raises(EngineFailed) as caught, serving(launch):
        pass
    assert containers() == []
    return caught.value.failure


def test_a_container_serves_for_the_length_of_the_block(launch: Launches) -> None:
    asked = launch("--drain", "0.3")
    with serving(asked) as endpoint:
        assert complete(endpoint.url, endpoint.model, "1 + 1 =", max_tokens=2, timeout_s=10).completion_tokens == 2
        assert len(containers()) == 1
        assert not orphans("docker")
        assert pid(asked) not in family(endpoint.started.supervisor_pid)
    assert log(asked).endswith("SIGTERM: draining\ndrained\n")
    assert not runs(pid(asked))
    assert containers() == []


def test_an_engine_that_ignores_sigterm_is_killed_after_its_grace(launch: Launches) -> None:
    asked = launch("--ignore-sigterm", "--child", stop_s=0.3)
    with serving(asked):
        pass
    assert not runs(pid(asked))
    assert containers() == []


def test_an_engine_in_a_container_is_explained_in_its_own_words(launch: Launches) -> None:
    words = "failed to initialize the context: std::bad_alloc"
    assert failure_of(launch("--say", words, "--exit-at-start", "1")) == Failure("memory", words)


def test_variables_reach_the_engine_by_name(launch: Launches) -> None:
    asked = replace(launch("--say-env", "WORDS", "--exit-at-start", "0"), env={"WORDS": "two words"})
    failure_of(asked)
    assert "WORDS=two words" in log(asked)


def test_an_image_that_is_not_here_is_the_worlds_fault(launch: Launches) -> None:
    failure = failure_of(launch(image="absent"))
    assert failure.kind == "world"
    assert failure.reason.endswith("No such image: absent:latest.")


def test_a_program_that_is_not_in_the_image_is_the_worlds_fault(launch: Launches) -> None:
    failure = failure_of(replace(launch(), engine="vllm"))
    assert failure.kind == "world"
    assert failure.reason.startswith("docker run exited with code 127: ")


def test_an_engine_that_the_kernel_kills_for_want_of_memory_is_memory(launch: Launches) -> None:
    asked = launch("--exit-on-completion", "1", image="cramped")
    assert failure_of(asked).kind == "memory"


def test_a_daemon_that_is_not_there_is_the_worlds_fault(launch: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with pytest.raises(EngineFailed, match="Cannot connect to the Docker daemon") as caught, serving(launch()):
        pass
    assert caught.value.failure.kind == "world"


def test_the_death_of_the_client_ends_the_container_and_is_the_worlds_fault(launch: Launches) -> None:
    asked = launch()
    with serving(asked) as endpoint:
        os.kill(endpoint.started.engine_pid, signal.SIGKILL)
        failure = endpoint.failed(within_s=60)
    assert failure == Failure("world", "docker was killed by signal 9 while its container ran")
    assert not runs(pid(asked))
    assert containers() == []


def test_the_death_of_the_supervisor_ends_the_engine_and_removes_the_container(launch: Launches) -> None:
    asked = launch()
    with pytest.raises(EngineFailed, match="supervisor died"), serving(asked) as endpoint:
        os.kill(endpoint.started.supervisor_pid, signal.SIGKILL)
    assert not runs(pid(asked))
    assert containers() == []


def test_the_death_of_client_and_supervisor_at_once_ends_the_engine_and_removes_the_container(
    launch: Launches,
) -> None:
    asked = launch()
    with pytest.raises(EngineFailed, match="supervisor died"), serving(asked) as endpoint:
        kill_both(endpoint.started)
    assert not runs(pid(asked))
    assert containers() == []


@pytest.fixture
def owner(launch: Launches) -> Iterator[Callable[[str], tuple["subprocess.Popen[str]", Launch]]]:
    """Return a function that starts another process as the owner of a container."""
    owners = []

    def start(ending: str) -> tuple["subprocess.Popen[str]", Launch]:
        asked = launch()
        process = subprocess.Popen(
            [sys.executable, str(FAKES / "owner.py"), str(asked.folder), ending, "--drain", "0.3", "--child"],
            env={**os.environ, "PYTHONPATH": str(ROOT), "LAUNCHER": "docker", "IMAGE": "llama"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        owners.append(process)
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        return process, asked

    yield start
    for process in owners:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("ending", "number"),
    [
        pytest.param("return", None, id="returns"),
        pytest.param("raise", None, id="raises"),
        pytest.param("exit", None, id="calls sys.exit"),
        pytest.param("hang", signal.SIGTERM, id="is terminated"),
        pytest.param("hang", signal.SIGKILL, id="is killed"),
    ],
)
def test_however_its_owner_ends_a_container_drains_and_is_removed(
    owner: Callable[[str], tuple["subprocess.Popen[str]", Launch]], ending: str, number: signal.Signals | None
) -> None:
    process, asked = owner(ending)
    if number:
        process.send_signal(number)
    process.wait(60)
    report = asked.folder / "exit.json"
    while not report.exists():
        time.sleep(0.02)
    assert log(asked).endswith("SIGTERM: draining\ndrained\n")
    assert json.loads(report.read_text())["trouble"] is None
    assert containers() == []


def test_where_owner_and_supervisor_are_killed_the_next_launch_removes_the_container(
    owner: Callable[[str], tuple["subprocess.Popen[str]", Launch]], launch: Launches, tmp_path: Path
) -> None:
    process, asked = owner("hang")
    started = Started(**json.loads((asked.folder / STARTED).read_text()))
    process.send_signal(signal.SIGSTOP)  # it can do nothing between the two
    os.kill(started.supervisor_pid, signal.SIGKILL)
    process.kill()
    process.wait(60)
    ended(pid(asked))
    assert [orphan.spec for orphan in orphans("docker")] == [asked.folder / "spec.json"]
    with serving(replace(launch(), folder=tmp_path / "next")):
        assert len(containers()) == 1
    assert containers() == []


@pytest.mark.usefixtures("launch")
def test_what_would_run_is_the_image_with_its_id_and_its_digest(tmp_path: Path) -> None:
    docker, vllm = LAUNCHERS["docker"], engine("vllm")
    pulled = f"image llama, id sha256:llama, digest registry/llama@sha256:{64 * 'd'}"
    assert docker.version(vllm, "llama", tmp_path) == pulled
    assert docker.version(vllm, "local", tmp_path).endswith("digest none: it was built or loaded here")
    with pytest.raises(EngineNotFound, match=r"No such image: absent:latest: docker pull absent"):
        LAUNCHERS["docker"].version(engine("vllm"), "absent", tmp_path)


@pytest.mark.usefixtures("launch")
def test_a_client_without_its_daemon_knows_no_orphans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    assert orphans("docker") == []
