"""
How often a comparison is wrong, and how often it finds what is there.

    python -m benchmarks.compare [--campaigns N] [--http N] [--seed N]

The first table is simulated: N campaigns (5,000) of `autotune.compare.compare` at each launch sd and each true effect,
with looks after 2 to 6 launches an arm, beside the figures of an independent simulation of the same rule; false wins
with Clopper-Pearson's upper bound. The second is measured: whole comparisons, `autotune.campaign`, with
an emulated engine started for each launch and its load through HTTP, seeds 0 to N - 1 (60), none left out. The third is
the same at the emulated machine's own noise, where what can't be decided must say so.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from autotune.campaign import campaign, progress
from autotune.compare import ALPHA, FEWEST, LOOKS, Comparison, LaunchValues, Result, compare
from autotune.comparisons import Rules, comparison_folder
from autotune.contenders import Named, contender
from autotune.dispatch import InProcess
from autotune.staging import Terms, stage
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
"""Of another simulation of the same rule, written apart from this code before it: what is here was designed by it."""
MOST = FEWEST + LOOKS - 1
QUIET, OWN = 0.007, 0.015
SHARE = 1.94
"""A launch's objective in SPACE differs by so much more than the emulator's noise between launches: noise of a
concurrency as large, and of each request 4.2 times as large over its 10 waves, come on top."""
FOUND, TIED = 0.90, 0.85
SPACE = """
summary: an emulated engine under a short load
target: {engine: vllm, model: amd/Kimi-K2.5-MXFP4, hardware: mi355x}
workload:
  {input_tokens: 1024, output_tokens: 128, token_ids: [1000, 150000], concurrency: [4], waves: 10, warmup_waves: 2}
serve:
  args: [--max-model-len, 9472, --max-num-seqs, 64]
  env: {VLLM_ROCM_USE_AITER: 1}
baseline: {tp: 4}
knobs: {tp: {layout: tp, choice: [4, 8]}}
gate: {task: sums, endpoint: completions, threshold: 0.9}
budget: {trials: 1, hours: 1, confirm_launches: 6}
deadlines: {ready_s: 60, stop_s: 10, request_s: 60}
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """How campaigns ended, and after how many launches an arm."""

    results: Counter[Result]
    launches: float
    settled: tuple[int | None, ...]

    def share(self, result: Result) -> float:
        """Return how often it ended so."""
        return self.results[result] / self.results.total()

    @property
    def words(self) -> str:
        """All of it in a line."""
        shares = "  ".join(f"{result} {self.share(result):6.1%}" for result in ("win", "loss", "tie", "undecided"))
        return f"{shares}  launches an arm {self.launches:.1f}"


def main() -> None:
    """Print the tables; fail where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=5000, help="simulated, for each sd and effect")
    parser.add_argument("--http", type=int, default=60, help="through HTTP, for each effect; 0: none")
    parser.add_argument("--seed", type=int, default=11, help="of the simulation")
    told = parser.parse_args()
    for line in simulated_table(told.campaigns, told.seed):
        print(line, flush=True)
    if told.http:
        for line in served_table(told.http):
            print(line, flush=True)


def simulated_table(campaigns: int, seed: int) -> Iterator[str]:
    """Yield the lines of the simulation."""
    yield f"{campaigns} simulated campaigns each, looks after {FEWEST} to {MOST} launches an arm"
    for sd in SDS:
        for effect in EFFECTS:
            tally = simulated(effect, sd, campaigns, seed)
            yield f"launch sd {sd:.1%}  effect {effect:+.0%}  {tally.words}  {_published(sd, effect)}"
            if not effect:
                yield f"    {_false_wins(tally)}"


def _published(sd: float, effect: float) -> str:
    return f"elsewhere: {PUBLISHED[sd, effect]}" if (sd, effect) in PUBLISHED else ""


def _false_wins(tally: Tally) -> str:
    wins, campaigns = tally.results["win"], tally.results.total()
    _, high = interval(wins, campaigns)
    assert high <= ALPHA, f"{wins} false wins of {campaigns}: at most {high:.2%}"
    return f"false wins {wins} of {campaigns}, with 95 % confidence at most {high:.2%}"


def simulated(effect: float, sd: float, campaigns: int, seed: int) -> Tally:
    """Return how campaigns end in which B really is `effect` faster, launches differing by nothing but chance."""
    draw = np.random.default_rng([seed, round(1e6 * sd), round(1e6 * effect)])
    a = 100 * np.exp(draw.normal(0.0, sd, (campaigns, MOST)))
    b = 100 * (1 + effect) * np.exp(draw.normal(0.0, sd, (campaigns, MOST)))
    return tally([sequential(one.tolist(), other.tolist()) for one, other in zip(a, b, strict=True)])


def sequential(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Look after each pair of launches until something is decided."""
    looks = (compare(arm(a[:n]), arm(b[:n])) for n in range(FEWEST, MOST + 1))
    found = next(looks)
    while found.result == "undecided" and found.launches[0] < MOST:
        found = next(looks)
    return found


def arm(objectives: Sequence[float]) -> list[LaunchValues]:
    """Return launches with one concurrency, whose metric is the objective."""
    return [LaunchValues(value, {1: value}) for value in objectives]


def tally(ended: Sequence[Comparison]) -> Tally:
    """Return how campaigns ended."""
    return Tally(
        results=Counter(each.result for each in ended),
        launches=fmean(each.launches[0] for each in ended),
        settled=tuple(each.settled_by for each in ended if each.result == "undecided"),
    )


def served_table(seeds: int) -> Iterator[str]:
    """Yield the lines of what was measured through HTTP."""
    yield f"\nthrough HTTP, emulated engines, seeds 0 to {seeds - 1}, launch sd of the objective {QUIET:.1%}"
    gain, same = served(1.03, QUIET / SHARE, seeds), served(1.0, QUIET / SHARE, seeds)
    yield f"effect +3 %  {gain.words}  target: win in {FOUND:.0%}"
    yield f"effect  0 %  {same.words}  target: tie in {TIED:.0%}"
    yield f"    {same.results['win']} false wins of {seeds}, {same.results['loss']} false losses"
    assert gain.share("win") >= FOUND, f"+3 % found in {gain.share('win'):.0%}"
    assert same.share("tie") >= TIED, f"ties called in {same.share('tie'):.0%}"
    yield f"at the machine's own noise, {OWN:.1%} between launches, effect +1 %"
    small = served(1.01, OWN, max(1, seeds // 6))
    named = ", ".join("more than 100" if each is None else str(each) for each in small.settled)
    yield f"effect +1 %  {small.words}; launches that would decide: {named or 'all were decided'}"


def served(rate: float, noise: float, seeds: int) -> Tally:
    """Return how whole comparisons end, an image against one that is so much faster."""
    begun_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        ended = [_served(Path(home), rate, noise, seed) for seed in range(seeds)]
    print(f"    {seeds} comparisons took {time.perf_counter() - begun_s:.0f} s", flush=True)
    return tally(ended)


def _served(home: Path, rate: float, noise: float, seed: int) -> Comparison:
    space = home / "emulated.yaml"
    space.write_text(SPACE, encoding="utf-8")
    images = "emulated:a", f"emulated:b?rate={rate}"
    a, b = (contender(Named(what=str(space), image=i), like=None, emulate=True, scratch=home) for i in images)
    folder, rules = comparison_folder(home, f"seed-{seed}"), Rules(most=MOST, judged=False)
    stage(folder, a, b, rules, Terms(data_root=home, seed=seed, emulated=("L0", noise), resume=False))
    for _ in campaign(folder, InProcess()):
        pass
    found = progress(folder.launches(), rules, a.space.objective)
    assert found.comparison is not None, found.failed
    return found.comparison


if __name__ == "__main__":
    main()
