"""A Ray actor that owns an engine and ends in the way it is told."""

import contextlib
import os
import signal
from pathlib import Path

import ray

from trials.serving import Launch, serving


class Owner:
    """Serves an engine for as long as it lives, or for the length of one call."""

    def __init__(self, folder: Path, stop_s: float, flags: tuple[str, ...]) -> None:
        """Remember what to launch; nothing is started yet."""
        self._serving = contextlib.ExitStack()
        self._launch = Launch(
            engine="llamacpp",
            model="m",
            args=flags,
            env={},
            files={},
            data_root=folder,
            folder=folder,
            ready_s=120.0,
            stop_s=stop_s,
            request_s=30.0,
        )

    def serve(self) -> None:
        """Serve from now on."""
        self._serving.enter_context(serving(self._launch))

    def leave(self) -> None:
        """End the block."""
        self._serving.close()

    def exit_actor(self) -> None:
        """End this actor as Ray means it to."""
        ray.actor.exit_actor()  # type: ignore[no-untyped-call]

    def kill_worker(self) -> None:
        """End this process at once, as the kernel does when memory is short."""
        os.kill(os.getpid(), signal.SIGKILL)
