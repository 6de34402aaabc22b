"""What was lost against the baseline, and what the test of it can show."""

import random

import pytest

from evals.paired import ALPHA, most_lost, no_worse_p, power, words, worse_p


@pytest.mark.parametrize(
    ("losses", "wins", "alpha"), [(7, 0, 0.01), (17, 5, 0.01), (25, 10, 0.01), (39, 20, 0.01), (5, 0, 0.05)]
)
def test_known_figures_of_mcnemars_test_are_significant(losses: int, wins: int, alpha: float) -> None:
    assert worse_p(losses, wins) < alpha
    assert worse_p(losses - 1, wins) >= alpha


def test_no_discordant_pair_is_no_evidence() -> None:
    assert worse_p(0, 0) == 1.0


def test_tangos_limit_without_a_discordant_pair_has_a_closed_form() -> None:
    """Without a discordant pair the limit has a closed form: z² / (n + z²)."""
    assert most_lost(0, 0, 44) == pytest.approx(1.6449**2 / (44 + 1.6449**2), abs=1e-4)


def test_the_more_is_lost_the_higher_the_limit() -> None:
    limits = [most_lost(losses, 5, 1319) for losses in range(30)]
    assert limits == sorted(limits)
    assert all(limit > (losses - 5) / 1319 for losses, limit in enumerate(limits))


def test_the_limit_is_the_margin_that_is_only_just_shown() -> None:
    limit = most_lost(20, 14, 1319)
    assert no_worse_p(20, 14, 1319, limit) == pytest.approx(ALPHA)
    assert no_worse_p(20, 14, 1319, limit + 0.001) < ALPHA < no_worse_p(20, 14, 1319, limit - 0.001)


@pytest.mark.parametrize(("losses", "wins", "pairs"), [(5, 0, 5), (0, 7, 7), (200, 0, 200), (1, 0, 1)])
def test_extreme_counts_have_a_limit_too(losses: int, wins: int, pairs: int) -> None:
    assert 0 < most_lost(losses, wins, pairs) <= 1


def test_a_margin_of_one_point_is_not_to_be_promised_on_gsm8k() -> None:
    assert power(1319, 0.01, discordant=0.04) == pytest.approx(0.55, abs=0.03)
    assert power(1319, 0.02, discordant=0.04) == pytest.approx(0.97, abs=0.02)


def test_the_exact_power_is_that_of_a_simulation() -> None:
    source, shown, plays = random.Random(1), 0, 1500  # noqa: S311 a simulation
    for _ in range(plays):
        kinds = source.choices(("loss", "win", "same"), (0.02, 0.02, 0.96), k=300)
        shown += no_worse_p(kinds.count("loss"), kinds.count("win"), 300, 0.03) <= ALPHA
    assert power(300, 0.03, discordant=0.04) == pytest.approx(shown / plays, abs=0.05)


def test_where_nothing_differs_the_number_of_questions_decides() -> None:
    assert power(200, 0.02, discordant=0.0) == 1.0
    assert power(100, 0.02, discordant=0.0) == 0.0


def test_a_config_at_the_margin_is_rarely_called_no_worse() -> None:
    source, called, plays = random.Random(2), 0, 1000  # noqa: S311 a simulation
    for _ in range(plays):
        kinds = source.choices(("loss", "win", "same"), (0.04, 0.01, 0.95), k=400)
        called += no_worse_p(kinds.count("loss"), kinds.count("win"), 400, 0.03) <= ALPHA
    assert called / plays <= ALPHA + 0.02


def test_the_power_stands_in_the_words() -> None:
    assert words(20, 18, 1319, 0.01) == (
        "at most 0.95% lost (95% confidence), margin 1.00%; with as many unequal answers a config that loses nothing "
        "is shown so with probability 67%"
    )
