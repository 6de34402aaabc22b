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

from search_spaces import load
from tests.e2e.test_study import four_configs
from tests.fakes.bench import STOP_S, Bench, leaving_nothing

KILLS, FEW_KILLS = 20, 3
STARTING_S = 3.0  # a sitting may be killed so long before it has begun to work
WORKING_S, REAL_WORKING_S = 4.0, 12.0  # and so long after: about two trials
STARTED_S = 120.0  # for Ray, on a machine under load
BEGUN = re.compile(r" (baseline|trial \d+|launch \d+|search ended)\b")  # what a sitting says that works
MARGIN_S = 15.0  # beyond the engine's grace: Ray's worker has to notice first
SAMPLE_S = 0.5

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1800)]


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


def sit(bench: Bench, sitting: int, moment_s: float) -> int | None:
    """
    Begin or resume the study, and kill its driver; return its exit code if it ended before.

    Args:
        moment_s: Seconds after the sitting has begun to work; below 0, so long after its start.
    """
    driver = start(bench, sitting)
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


def start(bench: Bench, sitting: int) -> "subprocess.Popen[bytes]":
    """Begin the study, or resume it where it was begun."""
    command = ("resume", bench.name) if bench.study.exists() else ("study", str(bench.space))
    return bench.start(*command, sitting=sitting)


def several_configs(bench: Bench, configs: int) -> None:
    """Write a space of so many configs; its baseline is the slowest, so there is something to confirm."""
    values = [round(0.02 - 0.001 * place, 3) for place in range(configs)]
    bench.write_space(
        {"slow": {"flag": "--token-s", "ordinal": values[::-1]}},
        {"slow": values[0]},
        budget={"trials": 4 * configs},
        workload={"waves": 10},
    )


def kill_and_resume(bench: Bench, moments_s: Sequence[float], *, stop_s: float) -> None:
    """Kill a driver at each moment of its sitting and resume, at last to the end; no engine may outlive its driver."""
    sampler = Sampler(bench)
    sampler.start()
    for sitting, moment_s in enumerate(moments_s):
        code = sit(bench, sitting, moment_s)
        assert code in (None, 0), bench.said(sitting=sitting)
        sampler.deaths[sitting] = time.monotonic()
    last = len(moments_s)
    assert start(bench, last).wait(600) == 0, bench.said(sitting=last)
    sampler.end()
    assert sampler.seen
    assert max(sampler.outlived_s.values(), default=0.0) < stop_s + MARGIN_S


def moments(seed: int, kills: int, working_s: float) -> list[float]:
    """Return when each sitting is killed, see `sit`."""
    random = Random(seed)  # noqa: S311 moments, no secrets
    return [random.uniform(-STARTING_S, working_s) for _ in range(kills)]


def assert_whole(bench: Bench, configs: int) -> None:
    """Check that no config was measured twice, and none was left out but for being lost too often."""
    ended: dict[str, list[Any]] = {}
    for trial in bench.trials():
        ended.setdefault(trial["fingerprint"], []).append(trial["outcome"]["kind"])
    assert len(ended) == configs
    assert all(kinds.count("measured") == 1 or kinds.count("lost") > 2 for kinds in ended.values()), ended
    assert bench.evidence()["result"]


@pytest.mark.campaign("kill")
def test_a_driver_may_be_killed_at_any_moment(bench: Bench, campaign_seed: int, *, all_seeds: bool) -> None:
    configs, kills = (16, KILLS) if all_seeds else (4, FEW_KILLS)
    several_configs(bench, configs)
    kill_and_resume(bench, moments(campaign_seed, kills, WORKING_S), stop_s=STOP_S)
    assert_whole(bench, configs)


@pytest.mark.engine
@pytest.mark.campaign("kill")
def test_a_driver_of_the_real_engine_may_be_killed_at_any_moment(
    demo_engine: Path, tmp_path: Path, campaign_seed: int, *, all_seeds: bool
) -> None:
    if not all_seeds:
        pytest.skip("a quarter of an hour: make campaigns")
    stop_s = load(str(four_configs(tmp_path))).deadlines.stop_s
    real = Bench(tmp_path, name="four", engine={"AUTOTUNE_DATA": str(demo_engine)})
    with leaving_nothing(real, within_s=stop_s + MARGIN_S) as bench:
        kill_and_resume(bench, moments(campaign_seed, KILLS, REAL_WORKING_S), stop_s=stop_s)
        assert_whole(bench, 4)
