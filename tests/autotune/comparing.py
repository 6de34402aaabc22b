"""Comparisons over outcomes told beforehand, and a small space of an emulated engine."""

from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path

from autotune.comparisons import ComparisonFolder, Rules, Settings, Sides, comparison_folder
from search_spaces import SearchSpace, resolve
from tests.autotune.studies import unjudged
from trials.outcome import Measured, Outcome
from trials.plan import Plan

EMULATED = """
summary: an emulated engine under a short load
target: {engine: vllm, model: amd/Kimi-K2.5-MXFP4, hardware: mi355x}
workload:
  {input_tokens: 1024, output_tokens: 64, token_ids: [1000, 150000], concurrency: [4], waves: 4, warmup_waves: 1}
serve:
  args: [--max-model-len, 9472, --max-num-seqs, 64]
  env: {VLLM_ROCM_USE_AITER: 1}
baseline: {tp: 4, kv: auto}
knobs:
  tp: {layout: tp, choice: [4, 8]}
  kv: {flag: --kv-cache-dtype, choice: [auto, fp8]}
gate:
  task: sums
  endpoint: completions
  threshold: 0.8
  filters: [strict-match]
  questions: {search: 8, confirm: 24}
  smell: 4
  concurrency: 4
  max_tokens: 64
  margin: null  # 24 questions show no small loss
budget: {trials: 4, hours: 0.1, confirm_launches: 3}
deadlines: {ready_s: 60, stop_s: 10, request_s: 60}
"""


class Told:
    """Gives each launch the next outcome of a list, and keeps what was asked for."""

    slots = 1

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        """Begin the list; it must be long enough."""
        self._outcomes = iter(outcomes)
        self.plans: list[Plan] = []

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Return what is next."""
        self.plans.append(plan)
        future: Future[Outcome] = Future()
        future.set_result(next(self._outcomes))
        return future


def rates(*values: float) -> list[Measured]:
    """Return launches that were not asked the gate, each with one rate at both concurrencies."""
    return [unjudged(value, value) for value in values]


def settings(folder: Path, rules: Rules, *, seed: int = 7) -> Settings:
    """Return what a comparison may be started with."""
    return Settings(
        name="one",
        names=("the first", "the second"),
        space_folders=(folder, folder),
        data_root=folder / "data",
        seed=seed,
        rules=rules,
        started="2026-01-02T03:04:05+00:00",
        version="0.1.0",
    )


def sides(small: SearchSpace) -> Sides:
    """Return the baseline of a small space beside another of its configs."""
    return Sides(small, resolve(small, small.baseline), resolve(small, {**small.baseline, "threads": 3}))


def begun(root: Path, small: SearchSpace, rules: Rules) -> ComparisonFolder:
    """Return the folder of a comparison that has just begun."""
    folder = comparison_folder(root / "comparisons", "one")
    folder.begin(settings(root, rules), sides(small), {"host": "a host"})
    return folder


def leave_raw_files(folder: ComparisonFolder) -> None:
    """Leave beside each measured outcome the files that a launch leaves."""
    for one in folder.launches():
        if isinstance(one.outcome, Measured):
            for name in ("command.sh", "engine.log", "requests.parquet", "runs.jsonl"):
                (one.folder / name).write_bytes(b"")
