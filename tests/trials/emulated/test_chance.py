"""What is drawn for a launch: the same for the same seed, and spread as the landscape says."""

import math
from statistics import fmean, stdev

import pytest

from trials.engines.emulated.chance import (
    Noise,
    chosen_at_random,
    flaky_minutes,
    measured_accuracy,
    noisy_objective,
    share,
    start_seconds,
)
from trials.engines.emulated.failures import bench_minutes, failure, gate_minutes, start_minutes
from trials.engines.emulated.landscape import load, objective

L0 = load("L0")


def test_no_noise_is_the_landscape_itself() -> None:
    quiet = noisy_objective(L0, L0.baseline, Noise.scaled(0), seed="1", cycles=3)
    assert quiet == pytest.approx(objective(L0, L0.baseline), rel=1e-12)


@pytest.mark.parametrize(("cycles", "expected"), [(3, 0.0250), (10, 0.0196)])
def test_launches_are_spread_as_published(cycles: int, expected: float) -> None:
    seeds = [str(seed) for seed in range(600)]
    logs = [math.log(noisy_objective(L0, L0.baseline, Noise(), seed=seed, cycles=cycles)) for seed in seeds]
    assert stdev(logs) == pytest.approx(expected, rel=0.12)
    assert fmean(logs) == pytest.approx(math.log(objective(L0, L0.baseline)), abs=0.004)


def test_a_seed_fixes_everything() -> None:
    assert Noise().factor("a", 64) == Noise().factor("a", 64)
    assert Noise().factor("a", 64) != Noise().factor("b", 64)
    assert Noise().cycle_factor("a", 64, 1, 0) != Noise().cycle_factor("a", 64, 1, 1)
    assert start_seconds(L0.baseline, seed="a") == start_seconds(L0.baseline, seed="a")
    assert share("a", 1) == share("a", 1) != share("a", 2)


def test_three_launches_of_a_hundred_fail_by_chance() -> None:
    failed = [minutes for seed in range(3000) if (minutes := flaky_minutes(str(seed))) is not None]
    assert len(failed) / 3000 == pytest.approx(0.03, abs=0.01)
    assert 3 <= min(failed) < max(failed) <= 15
    assert flaky_minutes("any", share=0.0) is None


def test_a_start_takes_about_what_the_landscape_says() -> None:
    took = [start_seconds(L0.baseline, seed=str(seed)) / 60 / start_minutes(L0.baseline) for seed in range(200)]
    assert 0.9 <= min(took) < max(took) <= 1.2


def test_a_measured_accuracy_is_a_share_of_the_questions() -> None:
    measured = [measured_accuracy(L0, L0.baseline, seed=str(seed), questions=1319) for seed in range(30)]
    assert fmean(measured) == pytest.approx(0.97, abs=0.003)
    assert len(set(measured)) > 1


def test_a_trial_takes_about_half_an_hour() -> None:
    whole = start_minutes(L0.baseline) + bench_minutes(L0, L0.baseline, cycles=10) + gate_minutes(1319)
    assert 29 <= whole <= 43


def test_configs_at_random_reach_every_value_and_mostly_fail() -> None:
    drawn = [chosen_at_random(L0, str(seed)) for seed in range(400)]
    assert {each.kv for each in drawn} == {"auto", "fp8"}
    assert {each.mns for each in drawn} == set(L0.space["mns"])
    serving = [each for each in drawn if failure(L0, each) is None]
    assert 0.3 < len(serving) / len(drawn) < 0.5
