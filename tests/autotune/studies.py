"""Small spaces, and the trials and launches of studies over them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from autotune.folder import LaunchRecord, Settings, TrialRecord
from search_spaces import Config, Scalar, SearchSpace, load, resolve
from tests.support import measured
from trials.outcome import Infeasible, Lost, Measured, Outcome

FRAME = """
summary: a space of a test
target: {engine: llamacpp, model: m, hardware: cpu}
workload: {input_tokens: 8, output_tokens: 8, concurrency: [1, 2], waves: 4, warmup_waves: 1}
gate:
  task: sums
  endpoint: completions
  threshold: 0.9
  filters: [strict-match]
  questions: {search: 8, confirm: 16}
  smell: 4
  concurrency: 4
  max_tokens: 64
budget: {trials: 4, hours: 0.1, confirm_launches: 3}
deadlines: {ready_s: 10, stop_s: 2, request_s: 5}
"""

SMALL = """
baseline: {threads: 2, cache: f16, unified: false}
knobs:
  threads: {flag: --threads, int: {low: 1, high: 4}}
  cache: {flag: --cache-type, choice: [f16, q8_0, q4_0], note: of the KV cache}
  unified: {switch: --kv-unified}
"""

MEMORY = Infeasible(failure="memory", reason="out of memory", seconds={})
CRASHED = Infeasible(failure="unknown", reason="exit code 1", seconds={})
LOST = Lost(reason="node gone", seconds={})


def space(folder: Path, text: str) -> SearchSpace:
    """Return the space of a file with `text` and what every space needs."""
    path = folder / "small.yaml"
    path.write_text(FRAME + text, encoding="utf-8")
    return load(path)


def complete(small: SearchSpace, changes: Mapping[str, Scalar]) -> Config:
    """Return the baseline with some knobs changed."""
    return {**small.baseline, **changes}


def trial(small: SearchSpace, number: int, outcome: Outcome | None, **changes: Scalar) -> TrialRecord:
    """Return a trial of the baseline with some knobs changed."""
    config = complete(small, changes)
    return TrialRecord(
        number=number,
        config=config,
        fingerprint=resolve(small, config).fingerprint,
        folder=Path("trials") / f"{number:04d}",
        outcome=outcome,
    )


def launch(number: int, arm: str, outcome: Outcome | None, *, candidate: int = 1) -> LaunchRecord:
    """Return a launch of a confirmation."""
    return LaunchRecord(
        number=number, arm=arm, candidate=candidate, folder=Path("confirm") / f"{number:02d}-{arm}", outcome=outcome
    )


def launches(order: str, *rates: float, candidate: int = 1) -> list[LaunchRecord]:
    """Return measured launches in `order`, each with one rate at both concurrencies."""
    return [
        launch(number, arm, unjudged(rate, rate), candidate=candidate)
        for number, (arm, rate) in enumerate(zip(order, rates, strict=True))
    ]


def unjudged(*rates: float) -> Measured:
    """Return what a launch measures after its arm's first one: there is no gate to pass again."""
    return replace(measured(*rates), judged=())


def settings(folder: Path) -> Settings:
    """Return what a study may be started with."""
    return Settings(
        name="one",
        space="small.yaml",
        space_folder=folder,
        data_root=folder / "data",
        seed=7,
        sampler="random",
        dispatcher="local",
        trials=4,
        hours=0.5,
        started="2026-01-02T03:04:05+00:00",
        version="0.1.0",
    )
