"""The small Docker as a `with` block: a client to put on PATH, whose images have the fake engine as `llama-server`."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from trials.launchers.container import LABEL, run

FAKES = Path(__file__).parent


@contextlib.contextmanager
def docked(folder: Path) -> Iterator[dict[str, str]]:
    """Run a daemon in a folder; yield the variables with which `docker` is its client."""
    client, image, link = folder / "client", folder / "image", folder / "docker.sock"
    program(client / "docker", FAKES / "docker.py")
    program(image / "llama-server", FAKES / "engine.py")
    path = os.environ["PATH"]
    with subprocess.Popen(
        [sys.executable, str(FAKES / "docker.py"), "daemon", str(link)],
        env={**os.environ, "PATH": f"{image}:{path}"},
        stdout=subprocess.PIPE,
    ) as daemon:
        try:
            assert daemon.stdout
            assert daemon.stdout.readline() == b"ready\n"
            yield {"PATH": f"{client}:{path}", "DOCKER_HOST": f"unix://{link}"}
        finally:
            daemon.terminate()


def program(path: Path, script: Path) -> None:
    """Write a program that is a script of this Python."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def containers() -> list[str]:
    """Return the ids of all containers of ours, dead or alive."""
    code, said = run(["docker", "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}"])
    assert code == 0, said
    return said.split()
