"""What every launcher answers: how to run an engine's command, whether a port is its, and what its end means."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from trials.engines import Engine, Failure
from trials.supervisor import Ended, Spec, Started


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """
    What is to be run.

    Attributes:
        argv: The engine's own command line.
        env: Its variables; None takes one out.
        image: Where the engine is installed; None for a bare process.
        reads: Files and folders that it may read, under the same paths as here.
        folder: The launch's own; the engine may write there.
        stop_s: Seconds between SIGTERM and SIGKILL.
    """

    argv: list[str]
    env: Mapping[str, str | None]
    image: str | None
    reads: tuple[Path, ...]
    folder: Path
    stop_s: float


class Launcher(Protocol):
    """One way to run an engine; its supervisor keeps it alive and ends it as the spec says."""

    @property
    def contained(self) -> bool:
        """Whether the engine's program is in an image, not on this machine."""

    def spec(self, job: Job) -> Spec:
        """
        Return what the supervisor runs for a job, and how it ends it.

        Raises:
            EngineNotFound: This launcher's program is not on this machine.
        """

    def owns(self, listeners: set[int], started: Started, spec: Spec) -> bool:
        """Say whether one of the pids that listen on a port is the engine's; a listener of another user has no pid."""

    def why(self, ended: Ended, log: str) -> Failure | None:
        """Return what an engine's end means where that was not the engine's own doing, and None where it was."""

    def version(self, engine: Engine, image: str | None, data_root: Path) -> str:
        """
        Return what would run, precisely enough to get it again.

        Raises:
            EngineNotFound: Nothing would.
        """


def family(pid: int) -> set[int]:
    """Return a process and all that came of it; nothing if it has ended."""
    try:
        process = psutil.Process(pid)
        return {pid, *(child.pid for child in process.children(recursive=True))}
    except psutil.NoSuchProcess:
        return set()
