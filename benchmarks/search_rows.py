"""
One study of an arm as a row, and rows computed by several processes and kept.

Rows are kept under the hash of all that they depend on: what other code computed is never read.
"""

import hashlib
import json
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.search_arms import ARMS
from benchmarks.search_optional import OPTIONAL
from benchmarks.virtual_study import Ended, play
from trials.engines.emulated.failures import accuracy
from trials.engines.emulated.landscape import Landscape, load, objective

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "benchmarks" / "search"
CODE = ("autotune/search/*.py", "benchmarks/search_*.py", "benchmarks/virtual_study.py", "trials/engines/emulated/*")
LIBRARIES = "optuna", "numpy"
ONE_THREAD = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
HOURS = 40.0
MARKS = (10.0, 20.0, 40.0)
SHARES = (0.90, 0.95, 0.97)
NEVER = math.inf


@dataclass(frozen=True, slots=True)
class Job:
    """A study to run."""

    landscape: str
    arm: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One study.

    Attributes:
        at: Share of the best at each of `MARKS`; 0 where the study was shorter.
        to: Hours until each of `SHARES` was first recommended.
        failed: Share of trials that crashed or hung.
        violates: Whether the last recommendation misses the gate.
        worse: Whether it is slower than the baseline.
        cpu_s: Seconds of a processor that it took to compute.
    """

    landscape: str
    arm: str
    seed: int
    at: tuple[float, ...]
    to: tuple[float, ...]
    failed: float
    violates: bool
    worse: bool
    cpu_s: float

    @property
    def job(self) -> Job:
        """The study that it is of."""
        return Job(self.landscape, self.arm, self.seed)


def study(job: Job, *, hours: float = HOURS) -> Row:
    """Run one study."""
    begun_s = time.process_time()
    landscape = load(job.landscape)
    make = ARMS[job.arm] if job.arm in ARMS else OPTIONAL[job.arm].make
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna says what of it is experimental
        ended = list(play(landscape, make(landscape, job.seed), seed=str(job.seed), hours=hours))
    last = ended[-1].recommended
    return Row(
        landscape=job.landscape,
        arm=job.arm,
        seed=job.seed,
        at=tuple(_at(landscape, ended, mark) if mark <= hours else 0.0 for mark in MARKS),
        to=tuple(next((each.hours for each in ended if share(landscape, each) >= least), NEVER) for least in SHARES),
        failed=sum(each.failed for each in ended) / len(ended),
        violates=accuracy(landscape, last) < landscape.gate,
        worse=objective(landscape, last) < objective(landscape, landscape.baseline) * (1 - 1e-9),
        cpu_s=time.process_time() - begun_s,
    )


def share(landscape: Landscape, ended: Ended) -> float:
    """Return how near the best a recommendation is, be it one that misses the gate: those are counted apart."""
    return objective(landscape, ended.recommended) / landscape.best_objective


def computed(jobs: Sequence[Job], folder: Path, *, processes: int, until_s: float) -> Iterator[Row]:
    """
    Yield the rows of studies as they end, and keep each. None depends on how many processes there are.

    Args:
        until_s: On the monotonic clock; no study is begun after that.
    """
    path = folder / f"{code_hash()}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    left, running = iter(jobs), set[Future[Row]]()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        while True:
            while len(running) < processes and time.monotonic() < until_s and (job := next(left, None)):
                running.add(pool.submit(study, job))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for row in (each.result() for each in done):
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
                yield row


def kept(folder: Path) -> dict[Job, Row]:
    """Return the rows of a folder that the code as it is now has computed; of files copied there too."""
    files = sorted(folder.glob(f"{code_hash()}*.jsonl"))
    rows = [_read(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return {row.job: row for row in rows}


def code_hash() -> str:
    """Return what the rows depend on: the code, the landscapes and what computes beneath them."""
    digest = hashlib.sha256("\n".join(version(library) for library in LIBRARIES).encode())
    for pattern in CODE:
        for path in sorted(each for each in ROOT.glob(pattern) if each.is_file()):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _read(line: str) -> Row:
    said = json.loads(line)
    return Row(**{**said, "at": tuple(said["at"]), "to": tuple(said["to"])})


def _at(landscape: Landscape, ended: Sequence[Ended], mark: float) -> float:
    """Return the share of what is recommended at an hour; before anything ended that is the baseline."""
    before = [each for each in ended if each.hours <= mark]
    return (
        share(landscape, before[-1]) if before else objective(landscape, landscape.baseline) / landscape.best_objective
    )
