#!/usr/bin/env python3
"""
A container engine in small: a client and a daemon, in Docker's words.

    docker.py daemon SOCKET        serve until SIGTERM, then kill every container
    docker.py run|ps|inspect|stop|rm|image ...      ask the daemon at $DOCKER_HOST

A container is a process of the daemon with what it started. The client of `run` passes its input on and prints the
output; killing it leaves the container running, with its input at an end. All images are alike: they have what the
daemon has on its PATH. But `absent` is not there, and what is killed in `cramped` was killed for want of memory.
"""

import argparse
import base64
import contextlib
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, Any
from uuid import uuid4

import psutil

MARK = "FAKE_CONTAINER"
REFUSED = 125
WITH_VALUE = ("--name", "--entrypoint", "--stop-signal", "--network", "--shm-size", "--pull", "--log-driver", "--gpus")
REPEATED = ("--label", "--env", "--mount", "--device", "--group-add", "--ulimit", "--cap-add", "--security-opt")


class Refused(Exception):
    """What Docker would not do."""


def run_flags() -> argparse.ArgumentParser:
    """Return the parser of `run`; an unknown flag is refused, as Docker does."""
    parser = argparse.ArgumentParser("docker run", allow_abbrev=False, exit_on_error=False)
    for name in WITH_VALUE:
        parser.add_argument(name)
    for name in REPEATED:
        parser.add_argument(name, action="append", default=[])
    for name in ("--interactive", "--init"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--sig-proxy")
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser


@dataclass
class Container:
    """One container, from its creation to its removal."""

    name: str
    labels: dict[str, str]
    image: str
    process: "subprocess.Popen[bytes]"
    id: str

    @property
    def state(self) -> dict[str, Any]:
        """What `inspect` tells."""
        code = self.process.poll()
        killed = code == -signal.SIGKILL
        return {
            "Status": "running" if code is None else "exited",
            "Running": code is None,
            "Pid": self.process.pid if code is None else 0,
            "ExitCode": shell_code(code or 0),
            "OOMKilled": killed and self.image == "cramped",
        }

    def stop(self, grace_s: float) -> None:
        """End it: ask, wait, kill."""
        if self.process.poll() is None:
            self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)
        self.kill()

    def kill(self) -> None:
        """End it at once, with what it started."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.tear_down()

    def tear_down(self) -> None:
        """Kill what the main process leaves behind, as the end of its process namespace would."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == self.id:
                    process.kill()


def shell_code(code: int) -> int:
    """Return an exit code as a shell has it: 128 and more for a signal."""
    return 128 - code if code < 0 else code


class Daemon(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Keeps the containers."""

    daemon_threads = True
    containers: list[Container]

    def called(self, name: str) -> Container:
        """Return the container of a name or an id."""
        for container in self.containers:
            if container.name == name or container.id.startswith(name):
                return container
        raise Refused(f"Error response from daemon: No such container: {name}")

    def create(self, argv: list[str], variables: dict[str, str]) -> Container:
        """Start a container as the flags of `run` say."""
        told = run_flags().parse_args(argv)
        if told.image == "absent":
            raise Refused(f"docker: Error response from daemon: No such image: {told.image}:latest.")
        if any(told.name == container.name for container in self.containers):
            raise Refused(f'docker: Error response from daemon: Conflict. The name "{told.name}" is already in use')
        container_id = f"{uuid4().hex}{uuid4().hex}"
        given = {name: variables[name] for name in told.env if name in variables}
        process = subprocess.Popen(
            [told.entrypoint, *told.command] if told.entrypoint else told.command,
            env={"PATH": os.environ["PATH"], **given, MARK: container_id},
            stdin=subprocess.PIPE if told.interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        labels = dict(label.split("=", 1) for label in told.label)
        container = Container(told.name, labels, told.image, process, container_id)
        self.containers.append(container)
        return container


class Call(socketserver.StreamRequestHandler):
    """One command of one client."""

    server: Daemon

    def handle(self) -> None:
        """Do what is asked and answer, a JSON object a line."""
        asked = json.loads(self.rfile.readline())
        verb, *argv = asked["argv"]
        try:
            if verb == "run":
                self.run(self.server.create(argv, asked["env"]))
            else:
                self.answer(0, "\n".join(getattr(self, verb)(argv)))
        except Refused as refusal:
            self.answer(REFUSED if verb == "run" else 1, error=str(refusal))

    def run(self, container: Container) -> None:
        """Pass input and output on until the container ends; it does not end with its client."""
        threading.Thread(target=self.feed, args=[container.process.stdin], daemon=True).start()
        assert container.process.stdout
        while chunk := os.read(container.process.stdout.fileno(), 65536):
            with contextlib.suppress(OSError):
                self.say(out=base64.b64encode(chunk).decode())
        code = container.process.wait()
        container.tear_down()
        with contextlib.suppress(OSError):
            self.answer(shell_code(code))

    def feed(self, into: IO[bytes]) -> None:
        """Close the container's input when its client's, or the client, has ended."""
        while self.rfile.readline():
            pass
        into.close()

    def stop(self, argv: list[str]) -> list[str]:
        """Do `stop -t SECONDS NAME`."""
        _, grace_s, name = argv
        self.server.called(name).stop(float(grace_s))
        return [name]

    def rm(self, argv: list[str]) -> list[str]:
        """Do `rm --force NAME`."""
        container = self.server.called(argv[-1])
        container.kill()
        self.server.containers.remove(container)
        return [argv[-1]]

    def ps(self, argv: list[str]) -> list[str]:
        """Do `ps --all --quiet --no-trunc --filter label=NAME`."""
        wanted = argv[-1].removeprefix("label=")
        return [container.id for container in self.server.containers if wanted in container.labels]

    def inspect(self, argv: list[str]) -> list[str]:
        """Do `inspect --type container --format FORMAT NAME`, for the two formats that are asked for."""
        container = self.server.called(argv[-1])
        state = json.dumps(container.state)
        running = json.dumps(container.state["Running"])
        return [state if argv[-2] == "{{json .State}}" else f"{running} {container.labels['autotune.spec']}"]

    def image(self, argv: list[str]) -> list[str]:
        """Do `image inspect --format {{.Id}} {{json .RepoDigests}} NAME`; what is `local` came from no registry."""
        if argv[-1] == "absent":
            raise Refused("Error response from daemon: No such image: absent:latest")
        digests = [] if argv[-1] == "local" else [f"registry/{argv[-1]}@sha256:{64 * 'd'}"]
        return [f"sha256:{argv[-1]} {json.dumps(digests)}"]

    def answer(self, code: int, out: str = "", *, error: str = "") -> None:
        """Say the last line."""
        self.say(code=code, out=base64.b64encode(out.encode()).decode(), error=error)

    def say(self, **words: object) -> None:
        """Send one line."""
        self.wfile.write(json.dumps(words).encode() + b"\n")


def ask(argv: list[str]) -> int:
    """Be the client: send the command, print what comes back, return its exit code."""
    link = socket.socket(socket.AF_UNIX)
    try:
        link.connect(os.environ["DOCKER_HOST"].removeprefix("unix://"))
    except OSError as error:
        print(f"Cannot connect to the Docker daemon at {os.environ['DOCKER_HOST']}: {error}", file=sys.stderr)
        return REFUSED if argv[0] == "run" else 1
    link.sendall(json.dumps({"argv": argv, "env": dict(os.environ)}).encode() + b"\n")
    if argv[0] == "run":
        threading.Thread(target=end_input, args=[link], daemon=True).start()
    for line in link.makefile("rb"):
        said = json.loads(line)
        sys.stdout.buffer.write(base64.b64decode(said["out"]))
        sys.stdout.buffer.flush()
        if "code" in said:
            sys.stderr.write(said["error"] and f"{said['error']}\n")
            return int(said["code"])
    return REFUSED


def end_input(link: socket.socket) -> None:
    """Tell the daemon when our input has ended."""
    while os.read(0, 4096):
        pass
    link.shutdown(socket.SHUT_WR)


def serve(path: str) -> None:
    """Be the daemon."""
    daemon = Daemon(path, Call)
    daemon.containers = []
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=daemon.shutdown).start())
    print("ready", flush=True)
    daemon.serve_forever(poll_interval=0.05)
    for container in daemon.containers:
        container.kill()
    time.sleep(0.05)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if sys.argv[1] == "daemon":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1:]))
