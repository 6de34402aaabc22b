"""How much launches and windows differ: figures with intervals, kept for a machine and used by a space."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from autotune.noise import Noise, deviation, informed, keep, known_noise, noise, noise_file, window_sd
from search_spaces import Objective, SearchSpace
from tests.autotune.comparing import rates
from trials.emulation import Emulation
from trials.outcome import Measured

EMULATED = Emulation(landscape="L0", seed=0, noise=0.007, flaky=0.0)


def launches(count: int, *, launch_sd: float, window_sd: float, seed: int = 0) -> list[Measured]:
    """Return launches whose rate, and whose windows around it, differ by so much."""
    draw = np.random.default_rng(seed)
    found = rates(*(100 * np.exp(draw.normal(0, launch_sd, count))).tolist())
    return [
        replace(one, points=tuple(replace(p, windows=tuple(draw.lognormal(4, window_sd, 3))) for p in one.points))
        for one in found
    ]


def of(made: list[Measured], raw: Path) -> Noise:
    """Return what such launches tell."""
    return noise(made, Objective(), space="small", raw=raw, measured="2026-01-02T03:04:05+00:00", emulated=False)


def test_a_deviation_has_the_interval_of_the_chi_square_distribution() -> None:
    found = deviation(5 * 0.01**2, 5)
    ends = [0.01 * math.sqrt(5 / stats.chi2.ppf(q, 5)) for q in (0.975, 0.025)]
    assert (found.sd, found.low, found.high) == pytest.approx((0.01, *ends))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    draw, held = np.random.default_rng(1), 0
    for _ in range(500):
        values = draw.normal(0, 0.01, 6)
        found = deviation(float(np.sum((values - values.mean()) ** 2)), 5)
        held += found.low <= 0.01 <= found.high
    assert 455 <= held <= 490


def test_launches_and_windows_are_told_apart(tmp_path: Path) -> None:
    found = of(launches(40, launch_sd=0.01, window_sd=0.003), tmp_path)
    assert found.objective.low < 0.01 < found.objective.high
    assert set(found.levels) == {1, 2}
    assert found.levels[1].launch.low < 0.01 < found.levels[1].launch.high
    assert found.levels[1].window.low < 0.003 < found.levels[1].window.high
    assert found.launch_sd.objective == found.objective.sd


def test_one_launch_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="make 4 or more"):
        of(launches(1, launch_sd=0.01, window_sd=0.01), tmp_path)


def test_what_was_measured_is_kept_for_the_machine(tmp_path: Path, small: SearchSpace) -> None:
    assert known_noise(small, tmp_path, None) is None
    found = of(launches(6, launch_sd=0.01, window_sd=0.01), tmp_path)
    keep(found, noise_file(small, tmp_path, None))
    assert known_noise(small, tmp_path, None) == found
    assert known_noise(small, tmp_path, EMULATED) is None


def test_what_can_not_be_read_is_not_known(tmp_path: Path, small: SearchSpace) -> None:
    path = noise_file(small, tmp_path, None)
    path.parent.mkdir()
    path.write_text('{"of": "another version"}')
    assert known_noise(small, tmp_path, None) is None


def test_noise_belongs_to_a_model_under_a_workload_and_not_to_an_image(tmp_path: Path, small: SearchSpace) -> None:
    here = noise_file(small, tmp_path, None)
    other_image = small.model_copy(update={"target": small.target.model_copy(update={"image": "another"})})
    other_load = small.model_copy(update={"workload": small.workload.model_copy(update={"waves": 12})})
    assert noise_file(other_image, tmp_path, None) == here
    assert noise_file(other_load, tmp_path, None) != here
    assert noise_file(small, tmp_path, EMULATED) != here


def test_a_space_learns_how_windows_differ_and_still_has_its_own_file(tmp_path: Path, small: SearchSpace) -> None:
    found = of(launches(6, launch_sd=0.01, window_sd=0.02), tmp_path)
    told = informed(small, window_sd(found))
    assert told.workload.window_sd == {c: level.window.sd for c, level in found.levels.items()}
    assert noise_file(told, tmp_path, None) == noise_file(small, tmp_path, None)
    own = small.model_copy(update={"workload": small.workload.model_copy(update={"window_sd": {1: 0.5}})})
    assert informed(own, window_sd(found)).workload.window_sd[1] == 0.5
    assert informed(small, window_sd(None)) == small
