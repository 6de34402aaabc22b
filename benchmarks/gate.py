"""
What the sequential gate costs and how often it errs, beside a test of fixed size and the full run.

    python -m benchmarks.gate [--plays N] [--gsm8k FOLDER] [--short]

The first table is computed exactly, over every order in which GSM8K's 1,319 questions may be drawn; the errors of a
simulation stand beside it with their Clopper-Pearson bounds. The second is measured: a server that answers the real
questions with a known accuracy is judged through HTTP, early and in full. It needs FOLDER/test.jsonl, GSM8K's test
set, and takes the examples of the prompts from FOLDER/train_head.jsonl. `--short` shows in half a minute that all of it
works: one alpha, two accuracies, and the 400 questions of `sums` through HTTP.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from evals import Exam, Gate, Request, judge
from evals.gate import interval
from evals.harness import load
from evals.sequential import Urn, fails, passes
from tests.fakes.running import running, seen
from trials.load.client import asker

GSM8K = Urn(1319, 1188)
THRESHOLD = 0.90
TRUE = (0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.90, 0.88, 0.85, 0.80)
ALPHAS = (0.01, 0.001)
TARGET_TRUE, TARGET_ALPHA, TARGET_ASKED = 0.97, 0.01, 125
SERVED = (0.97, 0.93, 0.85)
SHORT = (0.97, 0.80)
IN_FLIGHT = 64
HERE = Path(__file__).parents[2] / "shared" / "data" / "gsm8k"


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    Right answers that decide after so many questions.

    Attributes:
        pass_at: By questions asked, the fewest that pass; more than can be where none do.
        fail_at: The most that fail; -1 where none do.
    """

    pass_at: np.ndarray
    fail_at: np.ndarray


@dataclass(frozen=True, slots=True)
class Run:
    """Questions asked on average, and the chance of each verdict."""

    asked: float
    passed: float
    failed: float


def main(argv: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plays", type=int, default=4000, help="simulated runs at each accuracy")
    parser.add_argument(
        "--gsm8k", type=Path, default=HERE, metavar="FOLDER", help="with test.jsonl and train_head.jsonl"
    )
    parser.add_argument("--short", action="store_true", help="a little of each table")
    told = parser.parse_args(argv)
    for alpha in ALPHAS[:1] if told.short else ALPHAS:
        print(*table(alpha, told.plays, SHORT if told.short else TRUE), sep="\n")
    if told.short:
        print(*served(load("sums"), SHORT), sep="\n")
    elif (told.gsm8k / "test.jsonl").exists():
        data = {"test": told.gsm8k / "test.jsonl", "train": told.gsm8k / "train_head.jsonl"}
        print(*served(load("gsm8k", data=data), SERVED), sep="\n")
    else:
        print(f"through HTTP: left out, there is no {told.gsm8k / 'test.jsonl'}")


def table(alpha: float, plays: int, accuracies: Sequence[float]) -> Iterator[str]:
    """Yield the lines of one alpha."""
    bounds = bounds_of(GSM8K, alpha)
    yield f"\n{GSM8K.total} questions, threshold {THRESHOLD:g}, alpha {alpha:g}: questions asked, and wrong verdicts"
    yield "true    sequential  fixed-n  full   full/seq  fixed/seq  wrong, exact  wrong, simulated (95 % bounds)"
    for true in accuracies:
        right = round(true * GSM8K.total)
        run = exactly(GSM8K, right, bounds)
        wrong = run.failed if right >= GSM8K.needed else run.passed
        fixed = fixed_size(GSM8K, right, alpha)
        erred = simulated_errors(GSM8K, right, bounds, plays)
        low, high = interval(erred, plays)
        yield (
            f"{true:.2f}  {run.asked:10.1f}  {fixed:7d}  {GSM8K.total}  {GSM8K.total / run.asked:8.1f}  "
            f"{fixed / run.asked:9.1f}  {wrong:12.5f}  {erred / plays:.5f} ({low:.5f} to {high:.5f})"
        )
        if (true, alpha) == (TARGET_TRUE, TARGET_ALPHA):
            assert run.asked <= TARGET_ASKED, f"{run.asked:.1f} questions, target {TARGET_ASKED}"
        assert wrong <= alpha, f"true {true}: {wrong} wrong"
    edges = {right: exactly(GSM8K, right, bounds) for right in (GSM8K.needed - 1, GSM8K.needed)}
    yield (
        f"at the edge: {edges[GSM8K.needed - 1].passed:.5f} passed that just fail, "
        f"{edges[GSM8K.needed].failed:.5f} failed that just pass; at most {alpha:g} is promised"
    )


def bounds_of(urn: Urn, alpha: float) -> Bounds:
    """Find, for each number of questions, where the test decides: more right answers never turn a pass."""
    pass_at, fail_at = np.full(urn.total + 1, urn.total + 1), np.full(urn.total + 1, -1)
    for asked in range(1, urn.total + 1):
        pass_at[asked] = first(asked, partial(is_passed, urn, alpha, asked))
        fail_at[asked] = first(asked, partial(is_not_failed, urn, alpha, asked)) - 1
    return Bounds(pass_at, fail_at)


def is_passed(urn: Urn, alpha: float, asked: int, right: int) -> bool:
    """Say whether so many right answers pass."""
    return passes(urn, alpha, asked=asked, right=[right]) is not None


def is_not_failed(urn: Urn, alpha: float, asked: int, right: int) -> bool:
    """Say whether so many right answers are enough not to fail."""
    return fails(urn, alpha, asked=asked, wrong=[asked - right]) is None


def first(upto: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from 0 that holds, or the one after `upto`; whatever follows it holds too."""
    low, high = 0, upto + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def exactly(urn: Urn, right: int, bounds: Bounds) -> Run:
    """Follow the distribution of right answers drawn, question by question, until the test has decided."""
    counts = np.arange(urn.total + 2)
    playing = np.zeros(urn.total + 2)
    playing[0] = 1.0
    asked_mean = passed = failed = 0.0
    for asked in range(1, urn.total + 1):
        asked_mean += playing.sum()
        more = np.clip((right - counts) / (urn.total - asked + 1), 0, 1)
        drawn = playing * (1 - more)
        drawn[1:] += (playing * more)[:-1]
        passing, failing = counts >= bounds.pass_at[asked], counts <= bounds.fail_at[asked]
        passed, failed = passed + drawn[passing].sum(), failed + drawn[failing].sum()
        playing = np.where(passing | failing, 0.0, drawn)
    return Run(asked_mean, passed, failed)


def simulated_errors(urn: Urn, right: int, bounds: Bounds, plays: int) -> int:
    """Count the plays whose first decision is not that of the full set."""
    source = np.random.default_rng(right)
    answers = np.arange(urn.total) < right
    wrong = 0
    for _ in range(plays):
        drawn = np.cumsum(source.permutation(answers))
        passing, failing = drawn >= bounds.pass_at[1:], drawn <= bounds.fail_at[1:]
        decided = int(np.argmax(passing | failing))
        wrong += bool(passing[decided]) != (right >= urn.needed)
    return wrong


def fixed_size(urn: Urn, right: int, alpha: float) -> int:
    """Return how many questions a test of fixed size needs to err with alpha at most on either side, or all."""
    claimed = urn.needed - 1 if right >= urn.needed else urn.needed
    better = right >= urn.needed
    for asked in range(10, urn.total):
        under, true = (stats.hypergeom(urn.total, each, asked) for each in (claimed, right))
        if better:
            limit = int(under.isf(alpha)) + 1
            enough = under.sf(limit - 1) <= alpha and true.sf(limit - 1) >= 1 - alpha
        else:
            limit = int(under.ppf(alpha)) - 1
            enough = under.cdf(limit) <= alpha and true.cdf(limit) >= 1 - alpha
        if enough:
            return asked
    return urn.total


def served(exam: Exam, accuracies: Sequence[float]) -> Iterator[str]:
    """Yield the lines of what was measured through HTTP."""
    gate = Gate(
        task=exam.source,
        threshold=THRESHOLD,
        filters=exam.filters,
        questions=len(exam.questions),
        concurrency=IN_FLIGHT,
        early=True,
    )
    asked = f"{gate.questions} questions of {exam.source}"
    yield f"\nthrough HTTP, {asked}, {IN_FLIGHT} in flight, alpha {gate.alpha:g}"
    yield "true    verdict          rested on  sent  seconds  full: verdict  sent  seconds  full/early sent"
    for true in accuracies:
        early, full = (judged(exam, replace(gate, early=early), true) for early in (True, False))
        assert early[0] == full[0], f"{early[0]} early, {full[0]} in full"
        yield (
            f"{true:.2f}    {early[0]:15}  {early[1]:9}  {early[2]:4}  {early[3]:7.2f}  {full[0]:13}  {full[2]:4}  "
            f"{full[3]:7.2f}  {full[2] / early[2]:.1f}"
        )


def judged(exam: Exam, gate: Gate, true: float) -> tuple[str, int, int, float]:
    """Judge a server of known accuracy; return the verdict, the questions it rests on and sent, and the seconds."""
    with tempfile.TemporaryDirectory() as home:
        answers = Path(home) / "answers.json"
        answers.write_text(json.dumps(answered(exam, true)), encoding="utf-8")
        with running("--answers", str(answers), "--answer-s", "0.05") as url:
            begun_s = time.perf_counter()
            verdict, scored = judge(asker(url, "m", timeout_s=60), gate, exam)
            taken_s = time.perf_counter() - begun_s
            return verdict.result, len(scored), len(seen(url).completions), taken_s


def answered(exam: Exam, true: float) -> dict[str, str]:
    """Return an answer to each question, right for the given share of them in a random order of our own."""
    count = len(exam.questions)
    right = set(np.random.default_rng(1).permutation(count)[: round(true * count)].tolist())
    return {
        asked_in(request): exam.solution(place)[1] if place in right else "So it is\n#### -1"
        for place, request in enumerate(exam.questions)
    }


def asked_in(request: Request) -> str:
    """Return the text that the server knows a question by: its prompt, or the last message of its chat."""
    return request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content


if __name__ == "__main__":
    main()
