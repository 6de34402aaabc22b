"""Docker and podman: the engine runs in a container of their daemon, and the supervisor's child is only its client."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from trials.engines import Engine, EngineNotFound, Failure
from trials.engines.adapter import how_it_ended
from trials.launchers.gpus import Gpus, gpus
from trials.launchers.launcher import Job, family
from trials.supervisor import COMMAND_S, Ended, Spec, Started

LABEL = "autotune.spec"
"""On each container of ours: the path of its launch's spec, which its supervisor holds locked."""

STATE = "{{json .State}}"
IMAGE = "{{.Id}} {{json .RepoDigests}}"
SHM = "128g"  # a limit, not an allocation; a container's own shared memory goes with it
FOR_GPUS = (
    *("--ulimit", "memlock=-1", "--ulimit", "stack=67108864"),
    *("--cap-add", "SYS_PTRACE", "--security-opt", "seccomp=unconfined"),
)
"""What pinned memory and peer access take (ROCm/ATOM@ffdf3bb5 docs/serving_benchmarking_guide.md)."""
NOT_RUN = frozenset({125, 126, 127})
"""The client's own exit codes: the daemon refused, or the image's command cannot be run or found (docker-run(1))."""
KILLED = 128 + 9  # as a shell says SIGKILL

GUARD = """exec 3<&0
({ cat; kill -TERM $$; sleep "$0"; kill -KILL $$; } <&3 >/dev/null 2>&1 &)
exec "$@" 3<&- </dev/null"""
"""
Becomes the engine, beside a guard that ends it when its input ends: that is when client or supervisor are gone.

The guard is nobody's child in the container, so that no engine waits for it; `$0` is the grace in seconds.
"""


@dataclass(frozen=True, slots=True)
class Container:
    """
    The launcher.

    Attributes:
        client: The program, which speaks to the daemon.
    """

    client: str

    contained = True

    def spec(self, job: Job) -> Spec:
        """
        Return the client's command, which runs the engine in a container of a name of its own.

        Variables are passed by name, their values in the client's environment: none is on a command line.

        Raises:
            EngineNotFound: The client is not on this machine.
        """
        client, name = self.program(), f"autotune-{uuid4().hex[:12]}"
        return Spec(
            argv=[client, "run", "--name", name, *self.options(job, gpus()), *self.command(job)],
            env=_hub() | {variable: value for variable, value in job.env.items() if value is not None},
            stop_s=job.stop_s,
            state=[client, "inspect", "--type", "container", "--format", STATE, name],
            stop=[client, "stop", "-t", str(round(job.stop_s)), name],
            remove=[client, "rm", "--force", name],
        )

    def options(self, job: Job, found: Gpus) -> list[str]:
        """Return the flags of a run: what the container is, sees and may do."""
        return [
            *("--label", f"{LABEL}={job.folder / 'spec.json'}"),
            *("--interactive", "--sig-proxy=false", "--init", "--pull=never", "--log-driver=none"),
            *("--stop-signal", "SIGTERM", "--network", "host"),
            *("--shm-size", SHM),
            *self._gpus(found),
            *(word for mount in _mounts(job) for word in ("--mount", mount)),
            *(word for name in _variables(job) for word in ("--env", name)),
        ]

    def command(self, job: Job) -> list[str]:
        """Return the image and what runs in it: the engine's command without the variables that it shall not have."""
        unset = [word for name, value in job.env.items() if value is None for word in ("-u", name)]
        argv = ["env", *unset, *job.argv] if unset else job.argv
        return ["--entrypoint", "sh", str(job.image), "-c", GUARD, str(round(job.stop_s)), *argv]

    def owns(self, listeners: set[int], started: Started, spec: Spec) -> bool:  # noqa: ARG002  # it is the client's
        """
        Say whether a listener is in the container's tree.

        A daemon of root's hides the pids of its containers' listeners from others: an unknown listener, on a port that
        was free when it was leased, is then the container's for as long as that runs.
        """
        state = self._state(spec)
        if not state.get("Running"):
            return False
        return bool(listeners & family(state["Pid"])) if listeners else os.geteuid() != 0

    def why(self, ended: Ended, log: str) -> Failure | None:
        """Return the daemon's or the image's fault, the client's death, or the kernel's want of memory."""
        ending = how_it_ended(ended.returncode)
        if ended.returncode is not None and ended.returncode < 0:
            return Failure("world", f"{self.client} was {ending} while its container ran")
        if ended.container is None or ended.container["Running"] or ended.returncode in NOT_RUN:
            words = next((line for line in reversed(log.splitlines()) if line.strip()), "")
            return Failure("world", f"{self.client} run {ending}: {words.strip()}")
        if ended.container["ExitCode"] == KILLED and ended.container["OOMKilled"]:
            return Failure("memory", "the kernel killed the container: the machine's memory, not the GPU's, is short")
        return None

    def version(self, engine: Engine, image: str | None, data_root: Path) -> str:  # noqa: ARG002  # the image has it
        """
        Return the image, its content's id, and the digests under which registries have it.

        Raises:
            EngineNotFound: Client, daemon or image are not here.
        """
        command = [self.program(), "image", "inspect", "--format", IMAGE, str(image)]
        code, said = run(command)
        if code:
            raise EngineNotFound(f"image {image}: {said}: {self.client} pull {image}")
        content, _, digests = said.partition(" ")
        known = ", ".join(json.loads(digests) or ()) or "none: it was built or loaded here"
        return f"image {image}, id {content}, digest {known}"

    def program(self) -> str:
        """
        Return the client's path.

        Raises:
            EngineNotFound: It is not on PATH.
        """
        if found := shutil.which(self.client):
            return found
        raise EngineNotFound(
            f"{self.client} is not here: install it, or write another launcher into the space's target"
        )

    def _state(self, spec: Spec) -> dict[str, Any]:
        code, said = run(spec.state)
        return dict(json.loads(said)) if code == 0 else {}

    def _gpus(self, found: Gpus) -> Iterator[str]:
        if found.rocm or found.nvidia:
            yield from FOR_GPUS
        for node in found.rocm:
            yield from ("--device", str(node))
        if found.nvidia:
            yield from ("--gpus", "all") if self.client == "docker" else ("--device", "nvidia.com/gpu=all")
        if found.groups and self.client == "podman" and os.geteuid() != 0:
            yield from ("--group-add", "keep-groups")  # another user's podman knows no other ids (podman-run(1))
            return
        for group in found.groups:
            yield from ("--group-add", str(group))


def run(command: list[str], *, within_s: float = 0.0) -> tuple[int, str]:
    """Run a command of a client that may take `within_s` beside its own time; return its exit code and what it said."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_S + within_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return ran.returncode, (ran.stdout if ran.returncode == 0 else ran.stderr).strip()


def hub_cache() -> Path:
    """Return where Hugging Face's libraries keep what they fetched."""
    return Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface").absolute()


def _hub() -> dict[str, str | None]:
    """Return the variables that lead an engine to the mounted cache of Hugging Face."""
    return {"HF_HOME": str(hub_cache())} if hub_cache().is_dir() else {}


def _mounts(job: Job) -> Iterator[str]:
    for path in dict.fromkeys(job.reads):
        yield f"type=bind,src={path},dst={path},readonly"
    yield f"type=bind,src={job.folder},dst={job.folder}"
    if hub_cache().is_dir():
        yield f"type=bind,src={hub_cache()},dst={hub_cache()}"


def _variables(job: Job) -> Iterator[str]:
    yield from (name for name, value in job.env.items() if value is not None)
    yield from (name for name in _hub() if name not in job.env)
    if "HF_TOKEN" in os.environ and "HF_TOKEN" not in job.env:
        yield "HF_TOKEN"
