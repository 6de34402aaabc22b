"""
How often a comparison is wrong, and how often it finds what is there.

    python -m benchmarks.compare [--part a b c] [--jobs N] [--campaigns N] [--seeds N]

a: simulated, N campaigns (5,000) of `autotune.compare.compare` at each launch sd and each true effect, with looks after
2 to 6 launches an arm, beside the figures of an independent simulation of the same rule; false wins with
Clopper-Pearson's upper bound. b: EMULATED and measured, whole comparisons, `autotune.campaign`, with an emulated engine
started for each launch and its load through HTTP, seeds 0 to N - 1 (60), none left out. c: the same at the emulated
machine's own noise, where what can't be decided must say so, and with how many launches it would be.

Nothing printed depends on `--jobs`, the number of processes, but the seconds.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from statistics import fmean
from typing import TypeVar

from autotune.compare import ALPHA, FEWEST, Result
from autotune.noise import deviation
from benchmarks.compare_served import Served, play
from benchmarks.compare_simulated import MOST, Ended, chunks, simulated
from evals.gate import interval

SDS = (0.005, 0.007, 0.010, 0.020)
EFFECTS = (0.0, 0.01, 0.02, 0.03, 0.05)
PUBLISHED = {
    (0.007, 0.0): "win 2.5 %, tie 92 %, 4.2 launches",
    (0.007, 0.01): "win 31 %, tie 41 %, undecided 28 %",
    (0.007, 0.02): "win 92 %, 4.1 launches",
    (0.007, 0.03): "3.2 launches",
    (0.007, 0.05): "2.6 launches",
}
"""Of another simulation, written apart from this code before it: what is here was designed by it. It pools the variance
of both arms; Welch's test, which doesn't take them to be the same, needs some 0.4 launches an arm more."""
QUIET, OWN = 0.007, 0.015
CYCLES, MEDIAN_OF_THREE = 4.2, 0.670
SHARE = math.sqrt(1 + 1 + (CYCLES * MEDIAN_OF_THREE) ** 2 / 3)
"""A launch's objective under the load of `compare_served` differs by so much more than the emulator's noise between
launches: noise of a concurrency as large comes on top, and of each wave 4.2 times as large, nine of which are cut into
three windows whose median counts."""
FOUND, TIED, UNDECIDED, SETTLED = 0.90, 0.85, 0.90, 0.80
MISSED = "MISSED"

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Tally:
    """How campaigns ended."""

    ended: Sequence[Ended]

    def count(self, result: Result) -> int:
        """Return how many ended so."""
        return Counter(one.result for one in self.ended)[result]

    def share(self, result: Result) -> float:
        """Return how often it ended so."""
        return self.count(result) / len(self.ended)

    @property
    def words(self) -> str:
        """All of it in a line."""
        shares = "  ".join(f"{result} {self.share(result):6.1%}" for result in ("win", "loss", "tie", "undecided"))
        return f"{shares}  launches an arm {fmean(one.launches for one in self.ended):.1f}"

    @property
    def launch_sd(self) -> str:
        """The launch sd that they saw, with its 95 % interval; stopping early does not bias it (Wald's equation)."""
        freedom = sum(2 * one.launches - 2 for one in self.ended)
        found = deviation(sum(one.squares for one in self.ended), freedom)
        return f"{found.sd:.2%} ({found.low:.2%} to {found.high:.2%})"

    @property
    def false_wins(self) -> str:
        """Wins where there is no effect, of all."""
        _, high = interval(self.count("win"), len(self.ended))
        return f"false wins {self.count('win')} of {len(self.ended)}, with 95 % confidence at most {high:.2%}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--campaigns", type=int, default=5000, help="simulated, for each sd and effect")
    parser.add_argument("--seeds", type=int, default=60, help="through HTTP, for each effect")
    told = parser.parse_args(arguments)
    kept = True
    for part in told.part:
        begun_s = time.perf_counter()
        for line in PARTS[part](told.campaigns if part == "a" else told.seeds, told.jobs):
            kept = kept and MISSED not in line
            print(line, flush=True)
        print(f"part {part} took {time.perf_counter() - begun_s:.0f} s\n", flush=True)
    return 0 if kept else 1


def each(work: Callable[[Task], Done], tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Yield what becomes of each task, in their order, on so many processes that inherit nothing of this one."""
    if jobs == 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, tasks)


# --- a: simulated ---------------------------------------------------------------------------------------------------


def simulated_table(campaigns: int, jobs: int) -> Iterator[str]:
    """Yield the lines of the simulation."""
    yield f"{campaigns} simulated campaigns each, looks after {FEWEST} to {MOST} launches an arm"
    cells = [(sd, effect) for sd in SDS for effect in EFFECTS]
    ended = each(simulated, [chunk for cell in cells for chunk in chunks(*cell, campaigns)], jobs)
    for sd, effect in cells:
        tally = Tally(list(chain.from_iterable(next(ended) for _ in chunks(sd, effect, campaigns))))
        elsewhere = f"  elsewhere: {PUBLISHED[sd, effect]}" if (sd, effect) in PUBLISHED else ""
        yield f"launch sd {sd:.1%}  effect {effect:+.0%}  {tally.words}{elsewhere}"
        if not effect:
            _, high = interval(tally.count("win"), campaigns)
            yield f"    {tally.false_wins}{target(f'at most {ALPHA:.0%}', met=high <= ALPHA)}"


# --- b and c: through HTTP ------------------------------------------------------------------------------------------


def quiet_table(seeds: int, jobs: int) -> Iterator[str]:
    """Yield the lines of comparisons on a quiet machine."""
    yield f"EMULATED, through HTTP, seeds 0 to {seeds - 1}"
    gain, same = served_at((1.03, 1.0), QUIET / SHARE, seeds, jobs)
    yield f"effect +3 %  {gain.words}{target(f'win in {FOUND:.0%}', met=gain.share('win') >= FOUND)}"
    yield f"effect  0 %  {same.words}{target(f'tie in {TIED:.0%}', met=same.share('tie') >= TIED)}"
    yield f"    {same.false_wins}; false losses {same.count('loss')}"
    yield f"    launch sd of the objective {QUIET:.1%}, as measured {Tally([*gain.ended, *same.ended]).launch_sd}"


def own_table(seeds: int, jobs: int) -> Iterator[str]:
    """Yield the lines of comparisons at the emulated machine's own noise."""
    yield f"EMULATED, through HTTP, seeds 0 to {seeds - 1}, the machine's own noise: {OWN:.1%} between launches"
    small, large = served_at((1.01, 1.05), OWN, seeds, jobs)
    undecided = small.share("undecided")
    yield f"effect +1 %  {small.words}{target(f'undecided in {UNDECIDED:.0%}', met=undecided >= UNDECIDED)}"
    yield f"    launches of each that would decide: {_named(small)}"
    yield f"effect +5 %  {large.words}"
    yield f"    launches of each that would decide: {_named(large)}"
    yield f"    launch sd of the objective as measured {Tally([*small.ended, *large.ended]).launch_sd}"
    asked = [Served(1.05, OWN, seeds + n, one.settled_by) for n, one in enumerate(large.ended) if one.settled_by]
    if asked:
        again = served(sorted(asked, key=lambda one: -one.most), jobs)
        low, high = interval(len(asked) - again.count("undecided"), len(asked))
        yield f"    as many, made afresh: {again.words}"
        share = f"decided with 95 % confidence in {low:.0%} to {high:.0%}"
        yield f"    {share}{target(f'not under {SETTLED:.0%}', met=high >= SETTLED)}"


def served_at(rates: Sequence[float], noise: float, seeds: int, jobs: int) -> Iterator[Tally]:
    """Yield how comparisons end at each rate of B's image over A's."""
    ended = served([Served(rate, noise, seed, MOST) for rate in rates for seed in range(seeds)], jobs).ended
    yield from (Tally(ended[first : first + seeds]) for first in range(0, len(ended), seeds))


def served(comparisons: Sequence[Served], jobs: int) -> Tally:
    """Return how whole comparisons end."""
    return Tally([Ended.of(found) for found in each(play, comparisons, jobs)])


def _named(tally: Tally) -> str:
    settled = [one.settled_by for one in tally.ended if one.result == "undecided"]
    return ", ".join("more than 100" if one is None else str(one) for one in settled) or "all were decided"


def target(words: str, *, met: bool) -> str:
    """Return what was promised, and whether it was kept."""
    return f"  target: {words}: {'met' if met else MISSED}"


PARTS: Mapping[str, Callable[[int, int], Iterator[str]]] = {"a": simulated_table, "b": quiet_table, "c": own_table}

if __name__ == "__main__":
    sys.exit(main())
