"""The driver is killed at moments that a seed chooses, and resumed each time, until the study comes to its end."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from autotune.retries import RETRIES
from search_spaces import load
from tests.fakes.bench import STOP_S, Bench, leaving_nothing

KILLS, FEW_KILLS = 20, 3
FEW_CONFIGS = 3
STARTING_S = 3.0  # a sitting may be killed so long before it has begun to work
WORKING_S, DEMO_WORKING_S = 4.0, 70.0  # and so long after: about two trials
STARTED_S = 120.0  # for Ray, on a machine under load
BEGUN = re.compile(r" (baseline|trial \d+|launch \d+|search ended)\b")  # what a sitting says that works
MARGIN_S = 15.0  # beyond the engine's grace: Ray's worker has to notice first
SAMPLE_S = 0.5

pytestmark = [pytest.mark.ray, pytest.mark.timeout(3600)]


class Sampler(threading.Thread):
    """Looks for engines and supervisors that outlive their driver, and keeps for how long one did."""

    def __init__(self, bench: Bench) -> None:
        """Prepare; `start` starts it."""
        super().__init__(daemon=True)
        self.deaths: dict[int, float] = {}
        self.outlived_s: dict[psutil.Process, float] = {}
        self.seen: set[psutil.Process] = set()
        self._bench = bench
        self._over = threading.Event()

    def run(self) -> None:
        """Look until `end`."""
        while not self._over.wait(SAMPLE_S):
            for process, sitting in self._bench.engines().items():
                self.seen.add(process)
                if died_s := self.deaths.get(sitting):
                    self.outlived_s[process] = time.monotonic() - died_s

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()


def sit(bench: Bench, study: Sequence[str], sitting: int, moment_s: float) -> int | None:
    """
    Begin or resume the study, and kill its driver; return its exit code if it ended before.

    Args:
        study: The arguments that begin it.
        moment_s: Seconds after the sitting has begun to work; below 0, so long after its start.
    """
    driver = start(bench, study, sitting)
    deadline = time.monotonic() + STARTED_S
    while moment_s >= 0 and driver.poll() is None and time.monotonic() < deadline:
        if BEGUN.search(bench.said(sitting=sitting)):
            break
        time.sleep(0.02)
    try:
        return driver.wait(abs(moment_s))
    except subprocess.TimeoutExpired:
        driver.kill()
        driver.wait()
        return None


def start(bench: Bench, study: Sequence[str], sitting: int) -> "subprocess.Popen[bytes]":
    """Begin the study, or resume it where it was begun."""
    return bench.start(*(("resume", bench.name) if bench.study.exists() else study), sitting=sitting)


def several_configs(bench: Bench, configs: int) -> None:
    """Write a space of so many configs; its baseline is the slowest, so there is something to confirm."""
    values = [round(0.02 - 0.001 * place, 3) for place in range(configs)]
    bench.write_space(
        {"slow": {"flag": "--token-s", "ordinal": values[::-1]}},
        {"slow": values[0]},
        budget={"trials": 4 * configs},
        workload={"waves": 10},
    )


def kill_and_resume(bench: Bench, study: Sequence[str], moments_s: Sequence[float], *, stop_s: float) -> None:
    """Kill a driver at each moment of its sitting and resume, at last to the end; no engine may outlive its driver."""
    sampler = Sampler(bench)
    sampler.start()
    for sitting, moment_s in enumerate(moments_s):
        assert sit(bench, study, sitting, moment_s) is None, bench.said(sitting=sitting)  # it had still to do
        sampler.deaths[sitting] = time.monotonic()
    last = len(moments_s)
    assert start(bench, study, last).wait(1200) == 0, bench.said(sitting=last)
    sampler.end()
    assert sampler.seen
    assert max(sampler.outlived_s.values(), default=0.0) < stop_s + MARGIN_S


def moments(seed: int, kills: int, working_s: float) -> list[float]:
    """Return when each sitting is killed, see `sit`."""
    random = Random(seed)  # noqa: S311 moments, no secrets
    return [random.uniform(-STARTING_S, working_s) for _ in range(kills)]


def configs_of(bench: Bench) -> int:
    """Return how many configs were tried: none was measured twice, none is left open but for being lost too often."""
    ended: dict[str, list[Any]] = {}
    for trial in bench.trials():
        ended.setdefault(trial["fingerprint"], []).append(trial["outcome"]["kind"])
    for kinds in ended.values():
        known = [kind for kind in kinds if kind != "lost"]
        assert len(known) == 1 or (not known and len(kinds) > RETRIES["lost"]), ended
    assert bench.evidence()["result"]
    return len(ended)


@pytest.mark.campaign("kill")
def test_a_driver_may_be_killed_at_any_moment(bench: Bench, campaign_seed: int, *, all_seeds: bool) -> None:
    configs, kills = (16, KILLS) if all_seeds else (4, FEW_KILLS)
    several_configs(bench, configs)
    kill_and_resume(bench, ["study", str(bench.space)], moments(campaign_seed, kills, WORKING_S), stop_s=STOP_S)
    assert configs_of(bench) == configs


@pytest.mark.engine
@pytest.mark.campaign("kill")
def test_a_driver_of_the_demo_may_be_killed_at_any_moment(
    demo_engine: Path, tmp_path: Path, campaign_seed: int, *, all_seeds: bool
) -> None:
    """`study demo` with a short budget: its knobs, its refusals and its gate."""
    if not all_seeds:
        pytest.skip("a third of an hour: make campaigns")
    stop_s = load("demo").deadlines.stop_s
    real = Bench(tmp_path, name="demo", engine={"AUTOTUNE_DATA": str(demo_engine)})
    with leaving_nothing(real, within_s=stop_s + MARGIN_S) as bench:
        study = ["study", "demo", "--trials", "16", "--hours", "1"]
        kill_and_resume(bench, study, moments(campaign_seed, KILLS, DEMO_WORKING_S), stop_s=stop_s)
        print([(trial["fingerprint"][:8], trial["outcome"]["kind"]) for trial in bench.trials()])  # noqa: T201
        assert configs_of(bench) > FEW_CONFIGS
