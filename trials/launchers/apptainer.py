"""Apptainer: no daemon; the engine is a descendant of its client, on this machine's network and among its processes."""

import re
import shutil
import subprocess
from hashlib import file_digest
from pathlib import Path

from trials.engines import Engine, EngineNotFound, Failure
from trials.launchers.gpus import Gpus, gpus
from trials.launchers.launcher import Job, family
from trials.supervisor import COMMAND_S, Ended, Spec, Started

FATAL = 255
"""The exit code after a line of FATAL (apptainer/apptainer@05a391e0 pkg/sylog/sylog.go)."""
FATAL_LINE = re.compile(r"^.*FATAL: .*$", re.MULTILINE)
INTO_IMAGE = "APPTAINERENV_"
"""Before a variable's name: it passes into the container, also with a clean environment."""


class Apptainer:
    """The launcher; it has no state."""

    contained = True

    def spec(self, job: Job) -> Spec:
        """
        Return the client's command; the variables' values are in its environment.

        Raises:
            EngineNotFound: Apptainer is not on this machine.
        """
        unset = [word for name, value in job.env.items() if value is None for word in ("-u", name)]
        argv = ["env", *unset, *job.argv] if unset else job.argv
        given = {f"{INTO_IMAGE}{name}": value for name, value in job.env.items() if value is not None}
        return Spec([_program(), "exec", *self.options(job, gpus()), str(job.image), *argv], given, job.stop_s)

    def options(self, job: Job, found: Gpus) -> list[str]:
        """Return the flags of a run: what the container sees."""
        reads = [f"{path}:{path}:ro" for path in dict.fromkeys(job.reads)]
        binds = [word for bind in (*reads, f"{job.folder}:{job.folder}") for word in ("--bind", bind)]
        devices = ["--rocm"] if found.rocm else ["--nv"] if found.nvidia else []
        return ["--cleanenv", "--no-home", *devices, *binds]

    def owns(self, listeners: set[int], started: Started, spec: Spec) -> bool:  # noqa: ARG002  # of a daemon
        """Say whether a listener is in the supervisor's tree."""
        return bool(listeners & family(started.supervisor_pid))

    def why(self, ended: Ended, log: str) -> Failure | None:
        """Return Apptainer's own last words where it could not run the image."""
        if ended.returncode == FATAL and (fatal := FATAL_LINE.findall(log)):
            return Failure("world", fatal[-1].strip())
        return None

    def version(self, engine: Engine, image: str | None, data_root: Path) -> str:  # noqa: ARG002  # the image has it
        """
        Return the image, and its content where it is one file, and which Apptainer runs it.

        Raises:
            EngineNotFound: Apptainer or the image are not here.
        """
        client = _program()
        try:
            said = subprocess.run([client, "--version"], capture_output=True, text=True, check=True, timeout=COMMAND_S)
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineNotFound(f"{client} --version: {error}: mend it, or choose another launcher") from error
        path = Path(str(image))
        if not path.exists():
            raise EngineNotFound(f"image {image} is not here: apptainer build {image} docker://NAME:TAG")
        if path.is_dir():
            return f"image {image} with {said.stdout.strip()}"
        with path.open("rb") as content:
            return f"image {image} sha256 {file_digest(content, 'sha256').hexdigest()} with {said.stdout.strip()}"


def _program() -> str:
    if found := shutil.which("apptainer"):
        return found
    raise EngineNotFound("apptainer is not here: install it, or write another launcher into the space's target")
