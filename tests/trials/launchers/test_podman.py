"""A real podman: no container is left of a launch, whoever of its keepers is killed."""

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.running import ENGINE
from trials.launchers.container import LABEL, run
from trials.load.client import complete
from trials.serving import EngineFailed, Launch, serving

ROOT = Path(__file__).parents[3]
PYTHON = "/usr/bin/python3"
LINKS = ("bin", "lib", "lib64")
IMAGE = f"localhost/autotune-test-{os.getpid()}:1"  # its removal ends whatever container runs it
CONFIG = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
"""

Launches = Callable[..., Launch]


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep an image with the fake engine, whose system is this machine's; skip where podman runs nothing."""
    if not (shutil.which("podman") and Path(PYTHON).exists()):
        pytest.skip("no podman here: apt-get install podman runc catatonit")
    runtime = 'runtime = "runc"\n' if shutil.which("runc") else ""
    (tmp_path / "containers.conf").write_text(CONFIG + runtime)
    monkeypatch.setenv("CONTAINERS_CONF", str(tmp_path / "containers.conf"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-cache"))
    code, said = run(["podman", "import", "--quiet", str(image(tmp_path)), IMAGE])
    if code == 0:
        code, said = run(["podman", "run", "--rm", "--network=host", "--init", "-v/usr:/usr:ro", IMAGE, "true"])
    if code:
        pytest.skip(f"podman runs no container here: {said}")
    yield
    for container in containers(tmp_path):
        run(["podman", "rm", "--force", container])
    run(["podman", "rmi", "--force", IMAGE])


def image(folder: Path) -> Path:
    """Write an image that has nothing but the fake engine and links into /usr."""
    root = folder / "image"
    for name in ("usr", "sbin", "proc", "sys", "dev", "tmp", "etc", "run"):
        (root / name).mkdir(parents=True)
    for name in LINKS:
        (root / name).symlink_to(f"usr/{name}")
    server = root / "sbin/llama-server"
    server.write_text(f'#!/bin/sh\nexec {PYTHON} {ENGINE} "$@"\n')
    server.chmod(0o755)
    with tarfile.open(folder / "image.tar", "w") as archive:
        archive.add(root, arcname=".")
    return folder / "image.tar"


@pytest.fixture
def launch(podman: None, tmp_path: Path) -> Launches:  # noqa: ARG001  # it must be there first
    """Return a launch of the fake engine in a container of podman's."""

    def make(*args: str) -> Launch:
        return Launch(
            engine="llamacpp",
            model="m",
            args=args,
            env={},
            files={"usr": Path("/usr"), "engine": ENGINE.parent},
            data_root=tmp_path / "data",
            folder=tmp_path / "launch",
            ready_s=60.0,
            stop_s=10.0,
            request_s=10.0,
            launcher="podman",
            image=IMAGE,
        )

    return make


def containers(folder: Path, *flags: str) -> list[str]:
    """Return the ids of the containers of a launch in this folder, dead or alive."""
    label = f"label={LABEL}={folder / 'launch/spec.json'}"
    return run(["podman", "ps", "--quiet", "--filter", label, *(flags or ("--all",))])[1].split()


def log(launch: Launch) -> str:
    """Return what the engine printed."""
    return (launch.folder / "engine.log").read_text()


def test_a_container_of_podmans_serves_drains_and_is_removed(launch: Launches, tmp_path: Path) -> None:
    asked = launch("--drain", "0.3")
    with serving(asked) as endpoint:
        assert complete(endpoint.url, endpoint.model, "1 + 1 =", max_tokens=2, timeout_s=10).completion_tokens == 2
        assert len(containers(tmp_path)) == 1
    assert log(asked).endswith("SIGTERM: draining\ndrained\n")
    assert containers(tmp_path) == []


def test_podmans_client_may_be_killed(launch: Launches, tmp_path: Path) -> None:
    with serving(launch()) as endpoint:
        os.kill(endpoint.started.engine_pid, signal.SIGKILL)
        failure = endpoint.failed(within_s=60)
    assert failure
    assert failure.reason == "podman was killed by signal 9 while its container ran"
    assert containers(tmp_path) == []


def test_the_supervisor_of_a_podman_container_may_be_killed(launch: Launches, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="supervisor died"), serving(launch()) as endpoint:
        os.kill(endpoint.started.supervisor_pid, signal.SIGKILL)
    assert containers(tmp_path) == []


def test_client_and_supervisor_of_a_podman_container_may_both_be_killed(launch: Launches, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="supervisor died"), serving(launch()) as endpoint:
        subprocess.run(
            ["/bin/sh", "-c", f"kill -9 {endpoint.started.supervisor_pid} {endpoint.started.engine_pid}"], check=True
        )
    assert containers(tmp_path) == []


def test_the_owner_of_a_podman_container_may_be_killed(launch: Launches, tmp_path: Path) -> None:
    reads = f"/usr{os.pathsep}{ENGINE.parent}"
    with subprocess.Popen(
        [sys.executable, str(ENGINE.with_name("owner.py")), str(launch().folder), "hang"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LAUNCHER": "podman", "IMAGE": IMAGE, "READS": reads},
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline().startswith(b"http://127.0.0.1:")
        owner.kill()
    while not (tmp_path / "launch/exit.json").exists():
        time.sleep(0.05)
    assert log(launch()).endswith("drained\n")
    assert containers(tmp_path) == []
