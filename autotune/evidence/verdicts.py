"""Verdicts in words: what launches of A and B say, what they rest on, and what would settle what they don't say."""

from collections.abc import Iterator

from autotune.bisection import Narrowed
from autotune.campaign import Progress
from autotune.compare import BAND, MOST, Comparison, LevelVerdict
from autotune.evidence.tables import interval, percent
from autotune.noise import Deviation, Noise
from autotune.sweep import Crossover

SAYS = {
    "win": "B is faster than A",
    "loss": "B is slower than A",
    "tie": f"Tie: B is within {BAND:.0%} of A",
    "undecided": "Undecided: these launches can't tell A and B apart",
}


def sentence(stands: Progress) -> str:
    """Return the verdict over the ladder."""
    if stands.failed:
        return f"Nothing is compared: {stands.failed}."
    if stands.comparison is None:
        return "Not finished: fewer than two launches of each."
    overall, (a, b) = stands.comparison.overall, stands.comparison.launches
    figures = f"{percent(overall.change)} over the ladder, 99 % interval {interval(overall)}"
    return f"{SAYS[stands.comparison.result]}: {figures}, from {a} + {b} launches."


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield what belongs beside a verdict, a sentence each."""
    if comparison.result == "undecided":
        yield settling(comparison.settled_by)
    yield assumption(comparison)
    if comparison.overall.robust is not None:
        yield f"Hodges and Lehmann's estimate of the change is {percent(comparison.overall.robust)}."
    if ends := comparison.overall.resampled:
        yield f"The bootstrap's 99 % interval is {percent(ends[0])} to {percent(ends[1])}."
    if comparison.drift is None:
        yield "Too few launches to test for a drift."
    else:
        drift = comparison.drift
        seen = "a drift, which A B B A shares between the arms" if drift.seen else "no drift beyond chance"
        yield f"From launch to launch the rate changed by {drift.change:+.2%} (p = {drift.p:.3f}): {seen}."


def settling(launches: int | None) -> str:
    """Return what would decide."""
    if launches is None:
        return f"If that is the true difference, not even {MOST} launches of each would decide."
    return (
        f"If that is the true difference, {launches} launches of each would decide: "
        f"a fresh comparison with --max-launches {launches}."
    )


def assumption(comparison: Comparison) -> str:
    """Return which launch sd a verdict's forecast rests on, and where it is from."""
    own = "" if comparison.launch_sd is None else f"{comparison.launch_sd:.2%}"
    if comparison.known_sd is not None:
        return f"Launch sd {comparison.known_sd:.2%} as `autotune noise` measured it; of these launches {own}."
    return f"Launch sd {own}, of these few launches alone: `autotune noise` was not run for this space on this machine."


def level(verdict: LevelVerdict) -> str:
    """Return the verdict on one concurrency, in a word or two."""
    if verdict.result != "undecided":
        return verdict.result
    return f"undecided, settled by {verdict.settled_by}" if verdict.settled_by else "undecided"


def crossing(found: Crossover | None) -> str:
    """Return where B begins to lose."""
    if found is None:
        return "B loses at no cell of this grid, as far as these launches can tell."
    below = "" if found.after is None else f"; up to {found.after:,} no loss is claimed"
    about = "" if found.estimate is None else f", the change passes through 0 at about {found.estimate:,.0f}"
    where = "at every cell" if found.everywhere else "not at every cell"
    return f"B is slower from {found.at:,} tokens of context in the batch on ({where} from there){below}{about}."


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
