"""A config against the baseline on the same questions: what was lost, at most, and what such a test can show. Pure.

Only the questions that the two answer differently tell them apart: `losses` that the baseline got right and the config
did not, and `wins`, the reverse.
"""

import math

import numpy as np
from scipy import optimize, special

ALPHA = 0.05
"""One-sided, of both paired tests."""

NEVER = 1e-12

EDGE = 1e-9
"""How near to what was seen, and to losing everything, a limit is looked for."""


def worse_p(losses: int, wins: int) -> float:
    """
    Return the one-sided p-value of the exact McNemar test: at least so many losses by chance alone.

    Source: McNemar, Psychometrika 12 (1947), in its exact binomial form.
    """
    return float(special.bdtr(wins, losses + wins, 0.5))


def no_worse_p(losses: int, wins: int, pairs: int, margin: float) -> float:
    """
    Return the p-value of "the config loses `margin` or more": small where it loses less.

    Args:
        margin: Accuracy, above 0 and below 1.

    Source: Tango, Statistics in Medicine 17 (1998), the score test of a difference of paired proportions.
    """
    return float(special.ndtr(_score(np.array(losses), np.array(wins), pairs, margin)))


def most_lost(losses: int, wins: int, pairs: int) -> float:
    """Return the upper limit, at confidence 1 - ALPHA, of the accuracy lost: the margin that is only just shown."""
    seen = max((losses - wins) / pairs, 0.0)
    low, high = seen + EDGE, 1 - EDGE
    if low >= high or no_worse_p(losses, wins, pairs, high) > ALPHA:
        return 1.0
    if no_worse_p(losses, wins, pairs, low) <= ALPHA:
        return low
    return float(optimize.brentq(lambda margin: no_worse_p(losses, wins, pairs, margin) - ALPHA, low, high))


def power(pairs: int, margin: float, *, discordant: float) -> float:
    """
    Return the chance that a config which loses nothing is shown to lose less than `margin`; computed exactly.

    Args:
        discordant: The share of questions that the two answer differently, half of them lost and half won.
    """
    if discordant == 0:
        return float(no_worse_p(0, 0, pairs, margin) <= ALPHA)
    unequal = np.arange(_most_likely(pairs, discordant) + 1)
    losses = unequal[:, None]
    wins = np.maximum(unequal[None, :] - losses, 0)
    shown = (special.ndtr(_score(losses, wins, pairs, margin)) <= ALPHA) & (losses <= unequal[None, :])
    chance = _binomial(losses, unequal[None, :], 0.5) * _binomial(unequal, pairs, discordant)[None, :]
    return float((chance * shown).sum())


def _binomial(successes: np.ndarray, trials: np.ndarray | int, rate: float) -> np.ndarray:
    """Return the binomial probability; scipy.stats has it too, for 20 MB of a driver's memory."""
    failures = trials - successes
    ways = special.gammaln(trials + 1) - special.gammaln(successes + 1) - special.gammaln(failures + 1)
    chance: np.ndarray = np.exp(ways + special.xlogy(successes, rate) + special.xlog1py(failures, -rate))
    return chance


def _most_likely(pairs: int, discordant: float) -> int:
    """Return a number of unequal answers that is as good as never exceeded."""
    return int(np.argmax(special.bdtrc(np.arange(pairs + 1), pairs, discordant) <= NEVER))


def _score(losses: np.ndarray, wins: np.ndarray, pairs: int, margin: float) -> np.ndarray:
    """Return Tango's score statistic; far below 0 where less than the margin was lost."""
    a = 2.0 * pairs
    b = -losses - wins + (2 * pairs - losses + wins) * margin
    c = -wins * margin * (1 - margin)
    won = (np.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    spread = pairs * (2 * won + margin * (1 - margin))
    score: np.ndarray = (losses - wins - pairs * margin) / np.sqrt(spread)
    return score


def words(losses: int, wins: int, pairs: int, margin: float) -> str:
    """Say what the margin test can and cannot show on so many questions."""
    chance = power(pairs, margin, discordant=(losses + wins) / pairs)
    return (
        f"at most {most_lost(losses, wins, pairs):.2%} lost ({1 - ALPHA:.0%} confidence), margin {margin:.2%}; with "
        f"as many unequal answers a config that loses nothing is shown so with probability {math.floor(chance * 100)}%"
    )
