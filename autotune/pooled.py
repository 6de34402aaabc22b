"""Several recipes launched side by side: differences with intervals from one launch sd that all share. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from scipy import special

from autotune.compare import ALPHA, BAND, LOOKS

FREEDOM = 2
"""Degrees of freedom below which a standard deviation says nothing."""

Said = Literal["more", "less", "tie", "undecided"]


@dataclass(frozen=True, slots=True)
class Change:
    """
    One recipe over another, minus one.

    Attributes:
        low: Lower end of the two-sided interval at 1 - ALPHA / LOOKS; None where the launches are too few for one.
        high: Upper end.
    """

    estimate: float
    low: float | None
    high: float | None

    @property
    def said(self) -> Said:
        """What may be said of it: more or less beyond the noise, a tie within 2 %, or nothing."""
        if self.low is None or self.high is None:
            return "undecided"
        if self.low > 0:
            return "more"
        if self.high < 0:
            return "less"
        return "tie" if self.low > -BAND and self.high < BAND else "undecided"


@dataclass(frozen=True, slots=True)
class Pool:
    """
    The luck of launches: how far they are from their own recipe's mean.

    Attributes:
        sd: Of the logarithm of one launch.
    """

    sd: float
    freedom: int

    def change(self, a: Sequence[float], b: Sequence[float]) -> Change:
        """Return B over A, as means of logarithms over launches; an arm may have a single one."""
        difference = fmean(map(math.log, b)) - fmean(map(math.log, a))
        if self.freedom < FREEDOM:
            return Change(math.expm1(difference), None, None)
        quantile = float(special.stdtrit(self.freedom, 1 - ALPHA / LOOKS / 2))
        half = quantile * self.sd * math.sqrt(1 / len(a) + 1 / len(b))
        return Change(math.expm1(difference), math.expm1(difference - half), math.expm1(difference + half))


def pool(arms: Sequence[Sequence[float]]) -> Pool:
    """
    Return the launch sd of several recipes, taken to be the same for all.

    Args:
        arms: One positive value a launch, by recipe.
    """
    logs = [[math.log(each) for each in arm] for arm in arms if arm]
    freedom = sum(len(arm) - 1 for arm in logs)
    squares = sum((each - fmean(arm)) ** 2 for arm in logs for each in arm)
    return Pool(sd=math.sqrt(squares / freedom) if freedom else 0.0, freedom=freedom)
