"""
What the GPUs do beside a run: power, clocks, temperature and memory, asked of the vendor's own tool once a second.

A tool that is not there, hangs or says nothing useful leaves no samples and its reason; it never fails a trial.
"""

import contextlib
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean

from trials.deadline import Deadline
from trials.smi import TOOLS, Gpu, Tool

EVERY_S = 1.0
TIMEOUT_S = 5.0  # amd-smi is a Python program and takes up to a second on a node with eight GPUs
POLL_S = 0.1
FAILURES = 3  # in a row, after which a tool is left alone
ROCM_BIN = "/opt/rocm/bin"
VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True)
class Sample:
    """All watched GPUs at one moment, on the clock of the timings (`time.perf_counter`)."""

    at_s: float
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """
    What the watched GPUs did over a stretch of time; None is what their tool does not tell of each of them.

    Attributes:
        samples: How many the figures come from.
        power_w: Of all together, the mean.
        clock_mhz: Mean over GPUs and time.
        temperature_c: The hottest.
        memory_mib: Of all together, the most.
    """

    tool: str
    gpus: int
    samples: int
    power_w: float | None
    clock_mhz: float | None
    temperature_c: float | None
    memory_mib: float | None


@dataclass(slots=True)
class Telemetry:
    """
    Samples as they come in.

    Attributes:
        tool: Which program they come from; None while none has answered.
        absent: Why there are none, or no more.
    """

    tool: str | None = None
    absent: str | None = None
    samples: list[Sample] = field(default_factory=list)

    def use(self, begun_s: float, ended_s: float) -> GpuUse | None:
        """Return what the GPUs did from `begun_s` to `ended_s`; None if no sample lies between."""
        inside = [sample for sample in tuple(self.samples) if begun_s <= sample.at_s <= ended_s]
        if not inside or self.tool is None:
            return None
        return GpuUse(
            tool=self.tool,
            gpus=len(inside[0].gpus),
            samples=len(inside),
            power_w=_over(inside, "power_w", sum, fmean),
            clock_mhz=_over(inside, "clock_mhz", fmean, fmean),
            temperature_c=_over(inside, "temperature_c", max, max),
            memory_mib=_over(inside, "memory_mib", sum, max),
        )


def _over(
    samples: Sequence[Sample],
    name: str,
    over_gpus: Callable[[list[float]], float],
    over_time: Callable[[list[float]], float],
) -> float | None:
    """Return one figure of all samples; None where a GPU does not tell it: a sum of some would look like all."""
    rows = [[getattr(gpu, name) for gpu in sample.gpus] for sample in samples]
    if any(value is None for row in rows for value in row):
        return None
    return over_time([over_gpus(row) for row in rows])


def visible(env: Mapping[str, str | None]) -> frozenset[int] | None:
    """Return the indices of the GPUs that an engine with this environment sees; None for all, or where names are."""
    named = next((value for name in VISIBLE if (value := env.get(name))), None)
    if named is None or not re.fullmatch(r"\d+(,\d+)*", named):
        return None
    return frozenset(int(index) for index in named.split(","))


@contextlib.contextmanager
def telemetry(
    *, gpus: Collection[int] | None = None, every_s: float = EVERY_S, timeout_s: float = TIMEOUT_S
) -> Iterator[Telemetry]:
    """
    Sample the GPUs for the length of the block, in a thread of this process; the block never waits for a tool.

    Args:
        gpus: Indices of those to watch; None for all.
        timeout_s: Seconds after which a tool that has not answered is given up.
    """
    seen, ended = Telemetry(), threading.Event()
    thread = threading.Thread(target=_watch, args=(seen, ended, gpus, every_s, timeout_s), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join(timeout_s)


def _watch(
    seen: Telemetry, ended: threading.Event, gpus: Collection[int] | None, every_s: float, timeout_s: float
) -> None:
    """Find a tool that answers, then ask it again and again until the end, or until it fails too often."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), ROCM_BIN])
    here = [(tool, program) for tool in TOOLS if (program := shutil.which(tool.name, path=path))]
    reasons = [] if here else [f"none of {', '.join(tool.name for tool in TOOLS)} is on PATH"]
    for tool, program in here:
        ask = partial(_ask, tool, program, gpus, ended, timeout_s)
        try:
            seen.samples.append(ask())
        except (OSError, ValueError) as error:
            reasons.append(f"{tool.name}: {error}")
            continue
        seen.tool = tool.name
        _go_on(seen, ended, ask, every_s)
        return
    seen.absent = "; ".join(reasons)


def _go_on(seen: Telemetry, ended: threading.Event, ask: Callable[[], Sample], every_s: float) -> None:
    failures = 0
    while failures < FAILURES and not ended.wait(every_s):
        try:
            seen.samples.append(ask())
            failures = 0
        except (OSError, ValueError) as error:
            failures += 1
            if failures == FAILURES:
                seen.absent = f"{seen.tool}: {error}, {FAILURES} times in a row"


def _ask(tool: Tool, program: str, gpus: Collection[int] | None, ended: threading.Event, timeout_s: float) -> Sample:
    begun_s = time.perf_counter()
    answer = _answer([program, *tool.args], ended, timeout_s)
    at_s = (begun_s + time.perf_counter()) / 2
    told = tuple(gpu for gpu in tool.parse(answer) if gpus is None or gpu.index in gpus)
    if not told:
        raise ValueError(f"tells of no GPU that is watched: {answer:.200}")
    return Sample(at_s, told)


def _answer(argv: list[str], ended: threading.Event, timeout_s: float) -> str:
    """
    Return what a program prints.

    Raises:
        OSError: It can't be run, exits with an error, or has not answered in time or before the end.
    """
    deadline = Deadline(argv[0], timeout_s)
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=nothing, stdout=pipe, stderr=pipe, text=True, errors="replace") as process:
        while True:
            try:
                answer, words = process.communicate(timeout=POLL_S)
            except subprocess.TimeoutExpired:
                if deadline.left_s and not ended.is_set():
                    continue
                process.kill()
                raise TimeoutError(f"no answer within {timeout_s:g} s" if not deadline.left_s else "cut off") from None
            if process.returncode:
                said = " ".join((words or answer).split())
                raise OSError(f"exited with code {process.returncode}: {said:.200}")
            return answer
