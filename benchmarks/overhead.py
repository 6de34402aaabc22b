"""
What autotune itself costs a study: seconds a trial beside the engine and its load, and the driver's memory.

    python -m benchmarks.overhead [--trials N]

It runs a study of short trials on the fake engine through the real command line, with Ray, and prints both figures
beside their targets; below 1.00 a target is met.
"""

import argparse
import statistics
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.fakes.bench import Bench

TARGET_S, TARGET_MB = 1.5, 400.0
OF_THE_ENGINE = ("start", "smell", "load", "judge")
POLL_S = 0.1


def main() -> None:
    """Run the study, print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20, help="beside the baseline")
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory(prefix="autotune-overhead-") as home:
        bench = Bench(Path(home))
        values = [round(0.001 * (place + 1), 3) for place in range(trials + 1)]
        bench.write_space({"slow": {"flag": "--token-s", "ordinal": values}}, {"slow": values[0]})
        driver = bench.start("study", "fake.yaml", "--trials", str(trials))
        peak_mb = watch(driver)
        assert driver.returncode == 0, bench.said()
        costs_s = overheads_s(bench)
    print(report("overhead a trial, median", statistics.median(costs_s), TARGET_S, "s"))
    print(report("driver's peak memory", peak_mb, TARGET_MB, "MB"))


def watch(driver: "subprocess.Popen[bytes]") -> float:
    """Wait for the driver's end; return the most memory that it alone ever had, MB."""
    peak_mb = 0.0
    while True:
        try:
            driver.wait(POLL_S)
        except subprocess.TimeoutExpired:
            peak_mb = max(peak_mb, high_water_mb(driver.pid))
        else:
            return peak_mb


def high_water_mb(pid: int) -> float:
    """Return the peak resident memory of a process, MB; 0 once it has ended."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM:")), 0.0)


def overheads_s(bench: Bench) -> list[float]:
    """Return for each trial but the last the time until the next one began, less what its engine took."""
    began_s = [path.stat().st_mtime for path in sorted(bench.study.glob("trials/*/trial.json"))]
    taken_s = [sum(trial["outcome"]["seconds"][phase] for phase in OF_THE_ENGINE) for trial in bench.trials()]
    return [after - before - taken for (before, after), taken in zip(pairwise(began_s), taken_s, strict=False)]


def report(what: str, value: float, target: float, unit: str) -> str:
    """Return a figure beside its target."""
    return f"{what}: {value:.2f} {unit}, target {target:g} {unit}: {value / target:.2f} of it"


if __name__ == "__main__":
    main()
