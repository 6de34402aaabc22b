"""Docker's and podman's command lines, what their ends mean, and the guard beside the engine."""

import json
import signal
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from trials.engines import EngineNotFound, Failure
from trials.launchers import Job
from trials.launchers.container import GUARD, Container
from trials.launchers.gpus import Gpus
from trials.supervisor import Ended

DOCKER, PODMAN = Container("docker"), Container("podman")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `docker` on PATH that is not asked anything."""
    found = tmp_path / "docker"
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return found


def job(**changes: object) -> Job:
    """Return a job with these changes."""
    made = Job(
        argv=["vllm", "serve", "m"],
        env={"A": "1", "B": None},
        image="rocm/vllm:1",
        reads=(Path("/weights"), Path("/weights")),
        folder=Path("/launch"),
        stop_s=60.0,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # a test says which


def pairs(argv: list[str], flag: str) -> list[str]:
    """Return the values of a flag."""
    return [value for name, value in pairwise(argv) if name == flag]


def test_the_gpus_of_amd_are_devices_and_the_groups_that_own_them() -> None:
    found = Gpus(rocm=(Path("/dev/kfd"), Path("/dev/dri")), groups=(44, 109))
    options = DOCKER.options(job(), found)
    assert pairs(options, "--device") == ["/dev/kfd", "/dev/dri"]
    assert pairs(options, "--group-add") == ["44", "109"]


@pytest.mark.parametrize(
    ("launcher", "flags"), [(DOCKER, ["--gpus", "all"]), (PODMAN, ["--device", "nvidia.com/gpu=all"])]
)
def test_the_gpus_of_nvidia_are_asked_for_as_each_client_has_it(launcher: Container, flags: list[str]) -> None:
    options = launcher.options(job(), Gpus(nvidia=True))
    assert flags[1] in pairs(options, flags[0])


def test_a_machine_without_gpus_passes_none() -> None:
    options = DOCKER.options(job(), Gpus())
    assert not {"--device", "--gpus", "--group-add"} & set(options)


@pytest.mark.usefixtures("client")
def test_no_value_of_a_variable_is_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret-of-ours")
    spec = DOCKER.spec(job(env={"API_KEY": "secret"}))
    assert "secret" not in " ".join(spec.argv)
    assert pairs(spec.argv, "--env")[0] == "API_KEY"
    assert "HF_TOKEN" in pairs(spec.argv, "--env")
    assert spec.env["API_KEY"] == "secret"
    assert "secret-of-ours" not in json.dumps(spec.env)


def test_files_are_mounted_for_reading_and_the_launch_s_folder_for_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert pairs(DOCKER.options(job(), Gpus()), "--mount") == [
        "type=bind,src=/weights,dst=/weights,readonly",
        "type=bind,src=/launch,dst=/launch",
        f"type=bind,src={tmp_path},dst={tmp_path}",
    ]


def test_a_variable_that_shall_not_be_is_taken_out_inside_the_image() -> None:
    command = DOCKER.command(job())
    assert command[:6] == ["--entrypoint", "sh", "rocm/vllm:1", "-c", GUARD, "60"]
    assert command[6:] == ["env", "-u", "B", "vllm", "serve", "m"]


@pytest.mark.usefixtures("client")
def test_an_engine_has_an_init_above_it_that_reaps_and_its_whole_grace() -> None:
    spec = DOCKER.spec(job(stop_s=120.0))
    assert spec.stop
    assert "--init" in spec.argv[: spec.argv.index("rocm/vllm:1")]
    assert pairs(spec.stop, "-t") == ["120"]


@pytest.mark.usefixtures("client")
def test_each_run_has_a_name_of_its_own() -> None:
    first, second = DOCKER.spec(job()), DOCKER.spec(job())
    assert first.state[-1] == first.stop[-1] == first.remove[-1] == pairs(first.argv, "--name")[0]
    assert first.state[-1] != second.state[-1]


@pytest.mark.parametrize("code", [125, 126, 127])
def test_what_the_client_could_not_run_is_the_worlds_fault(code: int) -> None:
    said = "docker: Error response from daemon: No such image: absent:latest."
    failure = DOCKER.why(Ended(code, stopped=False), f"{said}\n\n")
    assert failure == Failure("world", f"docker run exited with code {code}: {said}")


def test_a_client_that_loses_its_container_is_the_worlds_fault() -> None:
    failure = DOCKER.why(Ended(1, stopped=False, container={"Running": True}), "unexpected EOF\n")
    assert failure == Failure("world", "docker run exited with code 1: unexpected EOF")


STATE = {"Running": False, "ExitCode": 137, "OOMKilled": False}


def test_a_kill_for_want_of_memory_is_memory() -> None:
    failure = DOCKER.why(Ended(137, stopped=False, container={**STATE, "OOMKilled": True}), "")
    assert failure
    assert failure.kind == "memory"


def test_another_kill_and_another_code_are_the_engines_own() -> None:
    assert DOCKER.why(Ended(137, stopped=False, container=STATE), "") is None
    exited = {"Running": False, "ExitCode": 1, "OOMKilled": True}
    assert DOCKER.why(Ended(1, stopped=False, container=exited), "") is None


def guarded(*command: str, grace_s: str = "10") -> "subprocess.Popen[str]":
    """Run a command as an image does, with a guard that this process is the client of."""
    argv = ["sh", "-c", GUARD, grace_s, *command]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_the_guard_becomes_the_engine_with_its_code_and_without_its_input() -> None:
    with guarded("sh", "-c", "cat; exit 7") as engine_process:
        assert engine_process.wait(30) == 7


def test_the_end_of_the_guards_input_asks_the_engine_to_end() -> None:
    with guarded("sh", "-c", "trap 'echo drained; exit 0' TERM; echo up; while :; do sleep 0.05; done") as running:
        assert running.stdout
        assert running.stdout.readline() == "up\n"
        assert running.stdin
        running.stdin.close()
        assert running.stdout.readline() == "drained\n"
        assert running.wait(30) == 0


def test_an_engine_that_does_not_end_is_killed_by_its_guard() -> None:
    with guarded("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done", grace_s="0.2") as running:
        assert running.stdout
        running.stdout.readline()
        assert running.stdin
        running.stdin.close()
        assert running.wait(30) == -signal.SIGKILL


def test_a_client_that_is_not_here_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineNotFound, match="docker is not here: install it, or write another launcher"):
        DOCKER.spec(job())
