"""Whole comparisons through HTTP: an emulated engine started for each launch, everything else as a user has it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from autotune.campaign import campaign, progress
from autotune.compare import Comparison
from autotune.comparisons import Rules, comparison_folder
from autotune.contenders import Named, contender
from autotune.dispatch import InProcess
from autotune.staging import Terms, stage

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
class Served:
    """
    A comparison to make.

    Attributes:
        rate: Of B's image over A's.
        noise: Of the emulator, between launches.
        most: Launches an arm, at most.
    """

    rate: float
    noise: float
    seed: int
    most: int


def play(served: Served) -> Comparison:
    """Return what a comparison of two images that differ in nothing but their rate says."""
    with tempfile.TemporaryDirectory() as folder:
        return _played(Path(folder), served)


def _played(home: Path, served: Served) -> Comparison:
    space = home / "emulated.yaml"
    space.write_text(SPACE, encoding="utf-8")
    images = "emulated:a", f"emulated:b?rate={served.rate}"
    a, b = (contender(Named(what=str(space), image=i), like=None, emulate=True, scratch=home) for i in images)
    folder, rules = comparison_folder(home, f"seed-{served.seed}"), Rules(most=served.most, judged=False)
    terms = Terms(data_root=home, seed=served.seed, emulated=("L0", served.noise), resume=False)
    stage(folder, a, b, rules, terms)
    for _ in campaign(folder, InProcess()):
        pass
    found = progress(folder.launches(), rules, a.space.objective)
    if found.comparison is None:
        raise RuntimeError(f"seed {served.seed}: nothing was compared: {found.failed}")
    return found.comparison
