"""Which of several images, in their order, is the first that is worse: a binary search over comparisons. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.compare import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """
    How far a search is.

    Attributes:
        good: The last image that is known not to be worse than the first one.
        bad: The first that is known to be worse; None: none is.
        ask: Which image to compare with the first one next; None where the search is over.
        stuck: The image whose launches decided nothing, which ended the search; None: none did.
    """

    good: int
    bad: int | None
    ask: int | None
    stuck: int | None

    @property
    def first_worse(self) -> int | None:
        """The image that was looked for; None where it was not found."""
        return self.bad if self.bad is not None and self.bad - self.good == 1 else None


def narrowed(images: int, results: Mapping[int, Result]) -> Narrowed:
    """
    Return how far a search over so many images is: the last is asked first, then the middle of what is left.

    Args:
        results: Of each image that was compared with image 0, which is taken to be good.
    """
    good = 0
    bad: int | None = None
    ask: int | None = images - 1
    while ask is not None:
        if ask not in results:
            return Narrowed(good=good, bad=bad, ask=ask, stuck=None)
        if results[ask] == "undecided":
            return Narrowed(good=good, bad=bad, ask=None, stuck=ask)
        if results[ask] == "loss":
            bad = ask
        else:
            good = ask
        ask = None if bad is None or bad - good == 1 else (good + bad) // 2
    return Narrowed(good=good, bad=bad, ask=None, stuck=None)


def most_comparisons(images: int) -> int:
    """Return how many comparisons a search may take: one of the two ends, then a binary search between them."""
    return 1 + max(0, (images - 2).bit_length())
