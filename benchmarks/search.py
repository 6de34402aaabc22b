"""
Ways to search side by side, on the emulated landscapes: same budget, workers, noise and failures for all.

    python -m benchmarks.search [--landscapes L2 L1] [--arms ARM ...] [--seeds 0-19] [--jobs N] [--budget-minutes M]

EMULATED: a simulation of launches, without engines. L2 is printed first: L0 was looked at while the ablation
sampler was made. A share is that of the landscape's best, of what the arm would recommend then. Rows that were computed
by the code as it is now are kept under build/, and only those are printed: calls may share the work, and a last one
prints it all.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scipy import stats

from benchmarks.search_arms import ARMS, RECIPE, Recipe
from benchmarks.search_optional import OPTIONAL
from benchmarks.search_rows import HOURS, KEPT, MARKS, NEVER, SHARES, Job, Row, code_hash, computed, kept, study
from evals.gate import interval
from trials.engines.emulated.landscape import load, objective

LANDSCAPES = ("L2", "L1", "L0", "L3", "L4")
SEEDS = "0-19"
FEW = 5
"""Seeds of an arm that takes minutes for each suggestion of others' seconds."""
SMOKE_SEEDS, SMOKE_HOURS, SMOKE_ARMS = 3, 10.0, ("ablation", "random")
DEFAULT, AIDED, OURS = "tpe", "tpe, all aids", "ablation"
LEAST, FASTER, FASTER_AIDED = 0.955, 6.0, 1.6
"""Targets on L2: share of the best at 20 hours, and how many times fewer hours to 90 %."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is not kept, print all; return 1 if a target that can be judged is missed."""
    told = _parser().parse_args(arguments)
    print(f"EMULATED, code {code_hash()}")
    if told.smoke:
        jobs = [Job("L0", arm, seed) for seed in range(SMOKE_SEEDS) for arm in SMOKE_ARMS]
        print(*table([study(job, hours=SMOKE_HOURS) for job in jobs]), sep="\n")
        return 0
    arms = told.arms or [*ARMS, *OPTIONAL]
    absent = [name for name in arms if name in OPTIONAL and not OPTIONAL[name].installed]
    for arm in absent:
        print(f"not computed: {arm}, for {OPTIONAL[arm].module} is not installed: {OPTIONAL[arm].install}")
    jobs = list(planned(told.seeds, told.landscapes, arms))
    rows = kept(told.rows)
    until_s = time.monotonic() + 60 * told.budget_minutes
    missing = [job for job in jobs if job not in rows and job.arm not in absent]
    rows |= {row.job: row for row in computed(missing, told.rows, processes=told.jobs, until_s=until_s)}
    print(*table([rows[job] for job in jobs if job in rows]), sep="\n")
    print(*left_out(job for job in jobs if job not in rows), sep="\n")
    judged = list(targets([rows[job] for job in jobs if job in rows and job.landscape == "L2"]))
    print(*judged, sep="\n")
    return int(any("MISSED" in line for line in judged))


def planned(seeds: Sequence[int], landscapes: Sequence[str], arms: Sequence[str]) -> Iterator[Job]:
    """Yield every study: landscape by landscape, the first seed of all arms first; few of those that take minutes."""
    for landscape in landscapes:
        for place, seed in enumerate(seeds):
            for arm in arms:
                if arm in ARMS or (landscape == LANDSCAPES[0] and place < FEW):
                    yield Job(landscape, arm, seed)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of every landscape, medians with the 95 % interval of each."""
    for name in dict.fromkeys(row.landscape for row in rows):
        of_it = [row for row in rows if row.landscape == name]
        yield f"\n{name}: baseline {_share(name, {}):.3f} of the best, the known recipe {_share(name, RECIPE):.3f}"
        heads = [f"at {mark:g} h" for mark in MARKS] + [f"h to {share:.0%}" for share in SHARES]
        columns = " ".join(f"{head:>22}" for head in heads)
        yield f"{'arm':22} seeds {columns}  crashes  misses gate   worse  CPU s"
        yield from (_line(arm, [row for row in of_it if row.arm == arm]) for arm in dict.fromkeys(r.arm for r in of_it))


def left_out(jobs: Iterable[Job]) -> Iterator[str]:
    """Yield what is not computed: there was no time for it, or no package."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for job in jobs:
        seeds.setdefault((job.landscape, job.arm), []).append(job.seed)
    if seeds:
        yield "\nleft out:"
    for (landscape, arm), those in seeds.items():
        yield f"  {landscape} {arm}: seeds {', '.join(map(str, those))}"


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


def seeds_of(text: str) -> list[int]:
    """
    Return the seeds of a range, the last one included, or of a number alone.

    Raises:
        ValueError: It is neither.
    """
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--landscapes", nargs="+", choices=LANDSCAPES, default=LANDSCAPES)
    parser.add_argument("--arms", nargs="+", choices=[*ARMS, *OPTIONAL], metavar="ARM", help="default: all")
    parser.add_argument("--seeds", type=seeds_of, default=SEEDS, help=f"a number or a range; default: {SEEDS}")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; the rows are the same")
    parser.add_argument("--budget-minutes", type=float, default=math.inf, metavar="M", help="begin no study after that")
    parser.add_argument("--rows", type=Path, default=KEPT, metavar="FOLDER", help="where rows are kept")
    parser.add_argument("--smoke", action="store_true", help="one landscape, two arms, three seeds, ten hours")
    return parser


def _share(name: str, changes: Recipe) -> float:
    landscape = load(name)
    return objective(landscape, landscape.baseline._replace(**changes)) / landscape.best_objective


def _line(arm: str, rows: Sequence[Row]) -> str:
    columns = [
        *(_median([row.at[place] for row in rows], ".3f") for place in range(len(MARKS))),
        *(_median([row.to[place] for row in rows], ".1f") for place in range(len(SHARES))),
    ]
    failed, cpu_s = (statistics.mean(pick) for pick in ([r.failed for r in rows], [r.cpu_s for r in rows]))
    counts = " ".join(_count(those) for those in ([r.violates for r in rows], [r.worse for r in rows]))
    figures = " ".join(f"{column:>22}" for column in columns)
    return f"{arm:22} {len(rows):5d} {figures}  {failed:6.0%}  {counts} {cpu_s:6.1f}"


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
