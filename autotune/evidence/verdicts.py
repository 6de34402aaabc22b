"""Verdicts in words: what launches of A and B say, what they rest on, and what would settle what they don't say."""

from collections.abc import Iterator

from autotune.bisection import Narrowed
from autotune.campaign import Progress
from autotune.compare import BAND, MOST, Comparison, LevelVerdict
from autotune.evidence.checks import checks
from autotune.evidence.tables import interval, percent
from autotune.evidence.words import Said, said
from autotune.noise import Deviation, Noise
from autotune.sweep import Crossover


def sentence(stands: Progress) -> Said:
    """Return the verdict over the ladder."""
    if stands.failed:
        return said("not compared", why=stands.failed)
    if stands.comparison is None:
        return said("too few")
    overall, (a, b) = stands.comparison.overall, stands.comparison.launches
    figures = {"change": percent(overall.change), "interval": interval(overall), "a": a, "b": b}
    return said(f"{stands.comparison.result} of two", band=f"{100 * BAND:.0f}", **figures)


def notes(comparison: Comparison) -> Iterator[Said]:
    """Yield what belongs beside a verdict, a sentence each."""
    if comparison.result == "undecided":
        yield settling(comparison.settled_by)
    yield assumption(comparison)
    yield checks(comparison)


def settling(launches: int | None) -> Said:
    """Return what would decide."""
    return said("never settled", launches=MOST) if launches is None else said("settled afresh", launches=launches)


def assumption(comparison: Comparison) -> Said:
    """Return which launch sd a verdict's forecast rests on, and where it is from."""
    own = "" if comparison.launch_sd is None else f"{comparison.launch_sd:.2%}"
    if comparison.known_sd is not None:
        return said("known sd", known=f"{comparison.known_sd:.2%}", own=own)
    return said("own sd", own=own)


def level(verdict: LevelVerdict) -> str:
    """Return the verdict on one concurrency, in a word or two."""
    if verdict.result != "undecided":
        return verdict.result
    return f"undecided, settled by {verdict.settled_by}" if verdict.settled_by else "undecided"


def crossing(found: Crossover | None) -> Said:
    """Return where B begins to lose."""
    if found is None:
        return said("no crossing")
    return said(
        "crossing",
        at=f"{found.at:,}",
        where=said("everywhere" if found.everywhere else "not everywhere"),
        below="" if found.after is None else said("crossing below", after=f"{found.after:,}"),
        about="" if found.estimate is None else said("crossing about", estimate=f"{found.estimate:,.0f}"),
    )


def culprit(found: Narrowed, images: tuple[str, ...]) -> str:
    """Return which image is the first that is worse."""
    if found.first_worse is not None:
        return f"{images[found.first_worse]} is the first that is slower; {images[found.good]} is not."
    if found.stuck is not None:
        after = f" The first slower one is after {images[found.good]}"
        upto = f" and at the latest {images[found.bad]}." if found.bad is not None else ", if there is one."
        return f"Undecided: the launches can't tell whether {images[found.stuck]} is slower.{after}{upto}"
    return f"None is slower: {images[-1]} is not slower than {images[0]} beyond noise."


def noisy(found: Noise) -> Iterator[str]:
    """Yield what an A/A campaign measured, a line each."""
    yield f"launch sd {_deviation(found.objective)} over the ladder, of {found.launches} launches"
    for concurrency, each in found.levels.items():
        launch, window = _deviation(each.launch), _deviation(each.window)
        yield f"concurrency {concurrency}: launch sd {launch}; window sd {window}"


def _deviation(of: Deviation) -> str:
    return f"{of.sd:.2%} (95 % interval {of.low:.2%} to {of.high:.2%})"
