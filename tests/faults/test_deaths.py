"""SIGKILL to the driver, a worker, Ray itself: nothing is left, nothing measured is lost, and the study goes on."""

from collections.abc import Sequence

import psutil
import pytest

from tests.fakes.bench import STOP_S, Bench, command_of

DONE, UNFIT = 0, 3
SLOWER = {"slow": 0.02}


def slower_configs(bench: Bench, *seconds: float, flags: Sequence[str] = (), stop_s: float = STOP_S) -> None:
    """Write a space of a baseline and of slower configs, whose trials last long enough to be hit."""
    knobs = {"slow": {"flag": "--token-s", "choice": [0.01, *seconds]}}
    bench.write_space(knobs, {"slow": 0.01}, flags=flags, workload={"waves": 30}, deadlines={"stop_s": stop_s})


def of_this_bench(bench: Bench, command: str) -> psutil.Process:
    """Return the one process of the bench whose command line begins so."""
    (found,) = (process for process in bench.living() if command in command_of(process).split(" ")[0])
    return found


def measured(bench: Bench) -> list[str]:
    """Return the fingerprint of each trial that was measured."""
    return [trial["fingerprint"] for trial in bench.trials() if trial["outcome"]["kind"] == "measured"]


def test_a_driver_that_is_killed_takes_its_engine_along_and_the_study_goes_on(bench: Bench) -> None:
    slower_configs(bench, 0.02)
    driver = bench.start("study", "fake.yaml", "--dispatcher", "local")
    bench.wait_for("trials/0001/supervisor.json")
    baseline = (bench.study / "trials/0000/outcome.json").read_bytes()
    driver.kill()
    driver.wait()
    resumed = bench.run("resume", "fake")
    assert resumed.returncode == DONE, resumed.stderr
    assert (bench.study / "trials/0000/outcome.json").read_bytes() == baseline
    assert [trial["outcome"]["kind"] for trial in bench.trials()] == ["measured", "lost", "measured"]
    assert len(set(measured(bench))) == 2


def test_an_engine_that_still_drains_is_waited_for_and_nothing_measured_beside_it(bench: Bench) -> None:
    slower_configs(bench, 0.02, flags=("--drain", "6"), stop_s=20)
    driver = bench.start("study", "fake.yaml", "--trials", "0", "--dispatcher", "local")
    bench.wait_for("trials/0000/engine.log", saying="port")
    driver.kill()
    driver.wait()
    resumed = bench.run("resume", "fake")
    assert resumed.returncode == DONE, resumed.stderr
    drained, begun = bench.study / "trials/0000/exit.json", bench.study / "trials/0001/spec.json"
    assert drained.stat().st_mtime <= begun.stat().st_mtime
    assert (bench.study / "trials/0000/engine.log").read_text().endswith("SIGTERM: draining\ndrained\n")


@pytest.mark.ray
def test_a_worker_that_is_killed_costs_one_try(bench: Bench) -> None:
    slower_configs(bench, 0.02)
    driver = bench.start("study", "fake.yaml")
    bench.wait_for("trials/0001/supervisor.json")
    of_this_bench(bench, "ray::0001").kill()
    assert driver.wait(120) == DONE, bench.said()
    assert [trial["outcome"]["kind"] for trial in bench.trials()] == ["measured", "lost", "measured"]
    assert "lost: ray: " in bench.said()
    assert bench.outcome_of(**SLOWER)["kind"] == "measured"


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize("process", ["raylet/raylet", "gcs/gcs_server"])
def test_a_study_whose_ray_died_says_so_and_goes_on_in_another(bench: Bench, process: str) -> None:
    slower_configs(bench, 0.02, 0.03)
    driver = bench.start("study", "fake.yaml")
    bench.wait_for("trials/0001/supervisor.json")
    of_this_bench(bench, process).kill()
    assert driver.wait(120) == UNFIT, bench.said()
    assert "autotune: Ray died on this machine: " in bench.said()
    assert "Traceback" not in bench.said()
    resumed = bench.run("resume", "fake")
    assert resumed.returncode == DONE, resumed.stderr
    assert len(measured(bench)) == len(set(measured(bench))) == 3
