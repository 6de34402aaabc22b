"""The compiled programs of the benchmarks: built with gcc where they are run, into a folder that does not stay."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SERVER_CORE, CLIENT_CORE = 0, 1
CORES = os.sched_getaffinity(0)


@contextlib.contextmanager
def built() -> Iterator[Path]:
    """Compile every program; yield the folder that has them."""
    with tempfile.TemporaryDirectory(prefix="autotune-native-") as folder:
        for source in HERE.glob("*.c"):
            program = Path(folder) / source.stem
            subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
        yield Path(folder)


@contextlib.contextmanager
def serving(programs: Path, *, step_s: float, tokens_a_chunk: int = 1) -> Iterator[str]:
    """Run the server on its core for the block; yield its URL."""
    argv = [str(programs / "server"), "0", str(round(step_s * 1e6)), str(tokens_a_chunk)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        pin(process.pid, SERVER_CORE)
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}"
        finally:
            process.kill()


def pin(pid: int, core: int) -> None:
    """Keep a process, and those it will start, on one core, where this machine has it."""
    if core in CORES:
        os.sched_setaffinity(pid, {core})
