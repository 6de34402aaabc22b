"""
Ways to search side by side, on the emulated landscapes: same budget, workers, noise and failures for all.

    python -m benchmarks.search [--seeds N] [--budget-minutes M] [--smoke]

EMULATED: a simulation of launches, without engines. L2 is printed first: L0 was looked at while the ablation
sampler was made, the others not. A share is that of the landscape's best, of what the arm would recommend then.
Rows that were computed by the code as it is now are kept under build/, and only those are printed.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from scipy import stats

from benchmarks.search_arms import ARMS, GP, Make
from benchmarks.virtual_study import Ended, play
from evals.gate import interval
from trials.engines.emulated.failures import accuracy
from trials.engines.emulated.landscape import Landscape, load, objective

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "benchmarks" / "search"
CODE = ("autotune/search/*.py", "benchmarks/*search*.py", "benchmarks/virtual_study.py", "trials/engines/emulated/*")
LANDSCAPES = ("L2", "L1", "L0", "L3", "L4")
HOURS = 40.0
MARKS = (10.0, 20.0, 40.0)
SHARES = (0.90, 0.95, 0.97)
SEEDS, FEW = 20, 5
SMOKE_SEEDS, SMOKE_HOURS, SMOKE_ARMS = 3, 10.0, ("ablation", "random")
NEVER = math.inf
DEFAULT, AIDED, OURS = "tpe", "tpe, all aids", "ablation"
LEAST, FASTER, FASTER_AIDED = 0.955, 6.0, 1.6
"""Targets on L2: share of the best at 20 hours, and how many times fewer hours to 90 %."""


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
    """

    landscape: str
    arm: str
    seed: int
    at: tuple[float, ...]
    to: tuple[float, ...]
    failed: float
    violates: bool
    worse: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A study to run."""

    landscape: str
    arm: str
    seed: int
    make: Make


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is not kept, print all; return 1 if a target that can be judged is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--landscapes", nargs="+", choices=LANDSCAPES, default=LANDSCAPES)
    parser.add_argument("--budget-minutes", type=float, default=math.inf, help="of computing; says what it left out")
    parser.add_argument("--smoke", action="store_true", help="one landscape, two arms, three seeds, ten hours")
    told = parser.parse_args(arguments)
    print(f"EMULATED, code {code_hash()}")
    if told.smoke:
        jobs = [Job("L0", arm, seed, ARMS[arm]) for seed in range(SMOKE_SEEDS) for arm in SMOKE_ARMS]
        print(*table([study(job, hours=SMOKE_HOURS) for job in jobs]), sep="\n")
        return 0
    jobs = list(planned(told.seeds, told.landscapes))
    rows, left = computed(jobs, until=time.monotonic() + 60 * told.budget_minutes)
    print(*table(rows), sep="\n")
    if left:
        first = {(job.landscape, job.arm): job.seed for job in reversed(left)}
        words = "; ".join(f"{landscape} {arm} from seed {seed}" for (landscape, arm), seed in first.items())
        print(f"\nleft out, for the minutes were spent: {words}")
    missed = list(targets([row for row in rows if row.landscape == "L2"]))
    print(*missed, sep="\n")
    return int(any("MISSED" in line for line in missed))


def planned(seeds: int, landscapes: Sequence[str]) -> Iterator[Job]:
    """Yield every study, the first seed of all first."""
    for seed in range(seeds):
        for landscape in landscapes:
            yield from (Job(landscape, arm, seed, make) for arm, make in ARMS.items())
    if importlib.util.find_spec("torch") is None:
        print("left out: gp, for torch is not installed: pip install 'autotune-serve[gp]'")
    else:
        yield from (Job("L2", "gp", seed, GP) for seed in range(min(FEW, seeds)))


def computed(jobs: Sequence[Job], *, until: float) -> tuple[list[Row], list[Job]]:
    """Return the rows of all studies, and those that there was no time for."""
    path = KEPT / f"{code_hash()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = {(row.landscape, row.arm, row.seed): row for row in map(_read, lines)}
    left: list[Job] = []
    for job in jobs:
        key = job.landscape, job.arm, job.seed
        if key in kept:
            continue
        if time.monotonic() > until:
            left.append(job)
            continue
        kept[key] = study(job, hours=HOURS)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(kept[key])) + "\n")
    wanted = [(job.landscape, job.arm, job.seed) for job in jobs]
    return [kept[key] for key in wanted if key in kept], left


def study(job: Job, *, hours: float) -> Row:
    """Run one study."""
    landscape = load(job.landscape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna says what of it is experimental
        ended = list(play(landscape, job.make(landscape, job.seed), seed=str(job.seed), hours=hours))
    last = ended[-1].recommended
    return Row(
        landscape=job.landscape,
        arm=job.arm,
        seed=job.seed,
        at=tuple(_at(landscape, ended, mark) if mark <= hours else 0.0 for mark in MARKS),
        to=tuple(next((each.hours for each in ended if _share(landscape, each) >= share), NEVER) for share in SHARES),
        failed=sum(each.failed for each in ended) / len(ended),
        violates=accuracy(landscape, last) < landscape.gate,
        worse=objective(landscape, last) < objective(landscape, landscape.baseline) * (1 - 1e-9),
    )


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of every landscape, medians with the 95 % interval of each."""
    for name in dict.fromkeys(row.landscape for row in rows):
        of_it = [row for row in rows if row.landscape == name]
        yield f"\n{name}: baseline {_baseline(name):.3f} of the best"
        heads = [f"at {mark:g} h" for mark in MARKS] + [f"h to {share:.0%}" for share in SHARES]
        yield f"{'arm':22} seeds " + " ".join(f"{head:>22}" for head in heads) + "  crashes  misses gate   worse"
        yield from (_line(arm, [row for row in of_it if row.arm == arm]) for arm in dict.fromkeys(r.arm for r in of_it))


def targets(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how the ablation sampler does on what it has to."""
    by_arm = {arm: [row for row in rows if row.arm == arm] for arm in (OURS, DEFAULT, AIDED)}
    if not all(by_arm.values()):
        return
    ours = by_arm[OURS]
    to = {arm: statistics.median(min(row.to[0], HOURS) for row in of_it) for arm, of_it in by_arm.items()}
    share = statistics.median(row.at[1] for row in ours)
    yield f"\nL2, {len(ours)} seeds:"
    yield _target("share of the best at 20 h", share, LEAST)
    yield _target(f"times fewer hours to 90 % than {DEFAULT}", to[DEFAULT] / to[OURS], FASTER)
    yield _target(f"times fewer hours to 90 % than {AIDED}", to[AIDED] / to[OURS], FASTER_AIDED)
    yield _target("recommendations that pass the gate", 1 - sum(row.violates for row in ours) / len(ours), 1.0)
    yield _target("recommendations not below the baseline", 1 - sum(row.worse for row in ours) / len(ours), 1.0)


def code_hash() -> str:
    """Return what the rows depend on: the code, the landscapes and Optuna's version."""
    digest = hashlib.sha256(version("optuna").encode())
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
        _share(landscape, before[-1]) if before else objective(landscape, landscape.baseline) / landscape.best_objective
    )


def _share(landscape: Landscape, ended: Ended) -> float:
    """Return how near the best a recommendation is, be it one that misses the gate: those are counted apart."""
    return objective(landscape, ended.recommended) / landscape.best_objective


def _baseline(name: str) -> float:
    landscape = load(name)
    return objective(landscape, landscape.baseline) / landscape.best_objective


def _line(arm: str, rows: Sequence[Row]) -> str:
    columns = [
        *(_median([row.at[place] for row in rows], ".3f") for place in range(len(MARKS))),
        *(_median([row.to[place] for row in rows], ".1f") for place in range(len(SHARES))),
    ]
    failed = statistics.mean(row.failed for row in rows)
    counts = " ".join(_count([pick(row) for row in rows]) for pick in (_violates, _worse))
    return f"{arm:22} {len(rows):5d} " + " ".join(f"{column:>22}" for column in columns) + f"  {failed:6.0%}  {counts}"


def _violates(row: Row) -> bool:
    return row.violates


def _worse(row: Row) -> bool:
    return row.worse


def _median(values: Sequence[float], spec: str) -> str:
    """Return a median and its 95 % interval from order statistics, as far as so few values have one."""
    ordered, count = sorted(values), len(values)
    rank = int(stats.binom.ppf(0.025, count, 0.5))
    low, high = ordered[max(rank - 1, 0)], ordered[min(count - rank, count - 1)]
    return f"{_said(statistics.median(ordered), spec)} ({_said(low, spec)}..{_said(high, spec)})"


def _said(value: float, spec: str) -> str:
    return f">{HOURS:g}" if value == NEVER else format(value, spec)


def _count(those: Sequence[bool]) -> str:
    """Return how many, and the 95 % upper bound of their share."""
    return f"{sum(those):2d} (<{interval(sum(those), len(those))[1]:4.0%})"


def _target(name: str, value: float, least: float) -> str:
    return f"  {name}: {value:.3f}, target {least:g}: {'met' if value >= least else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
