"""The emulated engine as a process of its own, for tests and benchmarks."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.engines.emulated.config import Config
from trials.engines.emulated.from_recipe import QUICK_REDUCE, SORT, SWITCHES, THREADS
from trials.engines.emulated.landscape import load

ROOT = Path(__file__).parents[2]
MODEL = "kimi"
READY_S = 30.0
QUIET = ("--noise", "0", "--flaky", "0")
"""Options that leave nothing to chance but how long the start takes."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A running engine: where it is, and its process."""

    url: str
    process: "subprocess.Popen[str]"

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and its log."""
        _, log = self.process.communicate(timeout=READY_S)
        return self.process.returncode, log


def start(flags: Sequence[str], env: Mapping[str, str], options: Sequence[str], *, port: int | None = None) -> Emulated:
    """Start it, on a free port where none is given."""
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = door.getsockname()[1]
    program = [sys.executable, "-m", "trials.engines.emulated.server", *options, "serve", "weights", *flags]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VLLM_", "AITER_", "OMP_", "HSA_", "AUTOTUNE_"))
    }
    process = subprocess.Popen(
        [*program, "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port)],
        cwd=ROOT,
        env={**kept, **env},
        stderr=subprocess.PIPE,
        text=True,
    )
    return Emulated(f"http://127.0.0.1:{port}", process)


@contextlib.contextmanager
def running(
    flags: Sequence[str] = (), env: Mapping[str, str] | None = None, options: Sequence[str] = QUIET
) -> Iterator[Emulated]:
    """Run it for the block, from when it listens; without flags with the landscapes' baseline."""
    base_flags, base_env = spelled(load("L0").baseline)
    emulated = start(flags or base_flags, base_env if env is None else env, options)
    try:
        _wait(emulated)
        yield emulated
    finally:
        emulated.process.kill()
        emulated.process.communicate()


def spelled(config: Config) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the flags and the environment of a recipe that asks for a config."""
    flags = (
        *("--tensor-parallel-size", str(config.tp), "--kv-cache-dtype", config.kv, "--block-size", str(config.block)),
        *("--max-num-batched-tokens", str(config.mnbt), "--max-num-seqs", str(config.mns)),
        *("--gpu-memory-utilization", str(config.gmu), "--compilation-config", f'{{"cudagraph_mode": "{config.cg}"}}'),
        *(["--enable-expert-parallel"] if config.ep else []),
        "--async-scheduling" if config.async_ else "--no-async-scheduling",
        "--enable-prefix-caching" if config.prefix else "--no-enable-prefix-caching",
    )
    env = {name: str(getattr(config, parameter)) for parameter, (name, _) in SWITCHES.items()}
    threads = {} if config.omp == "unset" else {THREADS: config.omp}
    return flags, {**env, QUICK_REDUCE: config.qr, SORT: config.sort, **threads}


def _wait(emulated: Emulated) -> None:
    host, port = emulated.url.removeprefix("http://").split(":")
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if emulated.process.poll() is not None:
            raise RuntimeError(f"the emulated engine has ended: {emulated.ended()[1][-500:]}")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1.0):
            return
        time.sleep(0.02)
    raise TimeoutError(f"the emulated engine does not listen at {emulated.url}")
