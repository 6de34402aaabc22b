"""What a few noisy launches say of each level."""

import math

import numpy as np
import pytest

from autotune.search.additive import LEVEL, MISFIT, STEP, Observation, features, fit
from autotune.search.axes import Axes, Axis, Point, Prior

WORD = Axis(name="word", levels=("a", "b", "c"), ordered=False, baseline=0)
SIZE = Axis(name="size", levels=(0, 1, 2, 3, 4), ordered=True, baseline=2)
BOTH = Axes((WORD, SIZE))
SURE = 0.001


def seen(point: Point, y: float, deviation: float = SURE) -> Observation:
    """Return a launch that measured `y`."""
    return Observation(point, y, deviation)


def test_before_any_launch_every_level_is_as_its_prior_says() -> None:
    word = Axis(name="word", levels=("a", "b"), ordered=False, baseline=0, priors={1: Prior(0.1, 0.02)})
    posterior = fit(features(Axes((word, SIZE))), [])
    assert posterior.effects[0].tolist() == pytest.approx([0.0, 0.1])
    assert posterior.deviations[0].tolist() == pytest.approx([0.0, 0.02])
    assert posterior.effects[1].tolist() == pytest.approx([0.0] * 5)


def test_what_is_believed_of_an_ordered_level_is_divided_over_its_steps() -> None:
    priors = {1: Prior(0.1, 0.02), 2: Prior(0.3, 0.02)}
    size = Axis(name="size", levels=(0, 1, 2), ordered=True, baseline=0, priors=priors)
    assert fit(features(Axes((size,))), []).effects[0].tolist() == pytest.approx([0.0, 0.1, 0.3])


def test_the_baselines_level_has_no_effect_and_no_doubt() -> None:
    posterior = fit(features(BOTH), [seen((1, 3), 0.2), seen((0, 2), 0.0)])
    assert [posterior.effects[0][0], posterior.effects[1][2]] == [0.0, 0.0]
    assert [posterior.deviations[0][0], posterior.deviations[1][2]] == [0.0, 0.0]


def test_a_far_ordered_level_is_less_certain_than_a_near_one() -> None:
    posterior = fit(features(BOTH), [])
    near, far = posterior.deviations[1][3], posterior.deviations[1][4]
    assert (near, far) == pytest.approx((STEP.deviation, STEP.deviation * math.sqrt(2)))


def test_neighbours_share_what_is_learned_of_an_ordered_knob() -> None:
    posterior = fit(features(BOTH), [seen((0, 2), 0.0), seen((0, 4), 0.04)])
    assert 0 < posterior.effects[1][3] < posterior.effects[1][4]
    assert posterior.effects[1][1] == pytest.approx(0.0)


def test_a_launch_that_runs_will_make_certain_what_is_in_it_and_moves_nothing() -> None:
    posterior = fit(features(BOTH), [seen((1, 3), 0.02, 0.03), seen((0, 2), 0.0, 0.03)])
    awaited = posterior.after([(2, 2)], 0.03)
    assert awaited.effects[0].tolist() == posterior.effects[0].tolist()
    assert awaited.deviations[0][2] < posterior.deviations[0][2]
    as_measured = fit(features(BOTH), [seen((1, 3), 0.02, 0.03), seen((0, 2), 0.0, 0.03), seen((2, 2), 0.0, 0.03)])
    assert awaited.deviations[0][2] == pytest.approx(as_measured.deviations[0][2], rel=0.1)


def test_no_launch_that_runs_changes_nothing() -> None:
    posterior = fit(features(BOTH), [seen((1, 3), 0.02)])
    assert posterior.after([], 0.03).deviations[0].tolist() == pytest.approx(posterior.deviations[0].tolist())


def test_effects_are_found_among_noise() -> None:
    source = np.random.default_rng(1)
    truth = np.array([0.0, 0.06, -0.04])
    points = [(word, size) for word in (0, 1, 2) for size in (1, 2, 3)] * 8
    noisy = [seen(p, float(truth[p[0]] + 0.02 * (p[1] - 2) + 0.02 * source.standard_normal()), 0.02) for p in points]
    posterior = fit(features(BOTH), noisy)
    assert posterior.effects[0].tolist() == pytest.approx(truth.tolist(), abs=0.015)
    assert posterior.effects[1][3] - posterior.effects[1][1] == pytest.approx(0.04, abs=0.015)


def test_one_launch_that_went_astray_bends_little() -> None:
    same = [seen((0, 2), 0.0, 0.02)] * 8 + [seen((1, 2), 0.03, 0.02)] * 7
    straight = fit(features(BOTH), [*same, seen((1, 2), 0.03, 0.02)])
    bent = fit(features(BOTH), [*same, seen((1, 2), -1.0, 0.02)])
    assert abs(straight.effects[0][1] - bent.effects[0][1]) < 0.005


def test_more_launches_leave_less_doubt() -> None:
    few = fit(features(BOTH), [seen((0, 2), 0.0, 0.02), seen((1, 2), 0.02, 0.02)])
    many = fit(features(BOTH), [seen((0, 2), 0.0, 0.02), seen((1, 2), 0.02, 0.02)] * 10)
    assert many.deviations[0][1] < few.deviations[0][1] < LEVEL.deviation
    assert many.deviations[0][1] > 0
    assert MISFIT > 0


def test_a_draw_is_one_of_a_seed_and_spreads_as_the_doubt_says() -> None:
    posterior = fit(features(BOTH), [seen((0, 2), 0.0, 0.02), seen((1, 2), 0.02, 0.02)])

    def drawn(seed: int) -> list[list[float]]:
        return [levels.tolist() for levels in posterior.draw(np.random.default_rng(seed))]

    assert drawn(3) == drawn(3)
    spread = np.std([drawn(seed)[0][1] for seed in range(400)])
    assert spread == pytest.approx(posterior.deviations[0][1], rel=0.15)


def test_an_expected_value_is_the_sum_of_its_effects() -> None:
    posterior = fit(features(BOTH), [seen((0, 2), 0.01), seen((1, 2), 0.05), seen((1, 3), 0.08)])
    expected = posterior.mean[0] + posterior.effects[0][1] + posterior.effects[1][3]
    assert posterior.expect([(1, 3)])[0] == pytest.approx(expected)
