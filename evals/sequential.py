"""When enough has been asked: a bet, without replacement, on the verdict of the full set. Pure.

The questions are an urn of known size, drawn in a fixed random order. Whoever claims that the full set fails has to
grant that at most `needed - 1` of its answers are right; an e-value is the wealth of a gambler who began with 1 and
bet, fairly by that claim, against it. If the claim is true the wealth ever reaches 1/alpha with a probability of at
most alpha, at whatever moment one looks. So a pass is declared at the first moment at which the wealth against "fails"
is 1/alpha, a fail where the wealth against "passes" is, and near the threshold the whole urn is drawn.

The gambler spreads the first stake over every number of right answers that the claim excludes. The wealth is then a
likelihood ratio of hypergeometric draws, which depends on the counts alone.

Source: Waudby-Smith and Ramdas, Confidence sequences for sampling without replacement, NeurIPS 2020 (the ratio of
prior and posterior), and Estimating means of bounded random variables by betting, JRSS B 86 (2024), section 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Logs = NDArray[np.float64]

PASS_WEIGHT = 1.0
"""The stake on k right answers is the distance of k from the threshold to this power: most goes to clear passes."""

FAIL_WEIGHT = -0.7
"""Likewise for a fail: most goes to those near the threshold, for a collapse shows at once anyhow."""


@dataclass(frozen=True, slots=True)
class Urn:
    """
    The full set, and how many of its answers must be right.

    Raises:
        ValueError: No such urn.
    """

    total: int
    needed: int

    def __post_init__(self) -> None:
        """Refuse an urn from which nothing can be learned."""
        if not 1 <= self.needed <= self.total:
            raise ValueError(f"an urn of {self.total} answers cannot need {self.needed} right ones")


def against_fail(urn: Urn, *, asked: int, right: int) -> float:
    """Return the wealth against "the full set fails"; infinite once the full set passes whatever follows."""
    if right >= urn.needed:
        return math.inf
    passing = np.arange(urn.needed, urn.total + 1)
    stakes = PASS_WEIGHT * np.log(passing - urn.needed + 1.0)
    return _wealth(urn, passing, stakes, claim=urn.needed - 1, asked=asked, right=right)


def against_pass(urn: Urn, *, asked: int, wrong: int) -> float:
    """Return the wealth against "the full set passes"; infinite once the full set fails whatever follows."""
    if wrong > urn.total - urn.needed:
        return math.inf
    failing = np.arange(0, urn.needed)
    stakes = FAIL_WEIGHT * np.log(urn.needed - failing)
    return _wealth(urn, failing, stakes, claim=urn.needed, asked=asked, right=asked - wrong)


def passes(urn: Urn, alpha: float, *, asked: int, right: Sequence[int]) -> float | None:
    """Return the e-value that lets the full set pass for every filter, or None where one is below 1/alpha."""
    least = min(against_fail(urn, asked=asked, right=each) for each in right)
    return least if least >= 1 / alpha else None


def fails(urn: Urn, alpha: float, *, asked: int, wrong: Sequence[int]) -> float | None:
    """
    Return the e-value that fails the full set, or None where it is below 1/alpha.

    One failing filter is enough, and there are several chances to err: so it is the filters' mean that must reach
    1/alpha, which is a wealth again.
    """
    mean = math.fsum(against_pass(urn, asked=asked, wrong=each) for each in wrong) / len(wrong)
    return mean if mean >= 1 / alpha else None


def _wealth(urn: Urn, against: NDArray[np.int_], stakes: Logs, *, claim: int, asked: int, right: int) -> float:
    """Return the likelihood ratio of the staked numbers of right answers to the claimed one."""
    claimed = float(_log_chance(urn, np.array([claim]), asked=asked, right=right)[0])
    if claimed == -math.inf:  # more of the other kind than the claim allows: only less favourable urns are left
        return 0.0
    staked = stakes - special.logsumexp(stakes)
    ratio = float(special.logsumexp(staked + _log_chance(urn, against, asked=asked, right=right))) - claimed
    return math.exp(min(ratio, 700.0))


def _log_chance(urn: Urn, rights: NDArray[np.int_], *, asked: int, right: int) -> Logs:
    """Return the log of the chance of one order of these draws, for each number of right answers in the urn."""
    wrong = asked - right
    possible = (rights >= right) & (urn.total - rights >= wrong)
    inside = np.where(possible, rights, right)
    chance = (
        special.gammaln(inside + 1)
        - special.gammaln(inside - right + 1)
        + special.gammaln(urn.total - inside + 1)
        - special.gammaln(np.maximum(urn.total - inside - wrong, 0) + 1)
    )
    return np.where(possible, chance, -np.inf)
