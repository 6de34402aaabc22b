"""What was held against the baseline by fresh launches, in words and tables: the recipe as it is written first."""

from collections.abc import Iterator
from dataclasses import dataclass

from autotune.compare import MOST, Comparison
from autotune.evidence import facts, sides, tables
from autotune.evidence.checks import checks
from autotune.evidence.evidence import Evidence
from autotune.evidence.layout import Section
from autotune.evidence.words import Said, said
from autotune.folder import LaunchRecord
from autotune.rounds import BASELINE, CANDIDATE, REDUCED


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """
    A recipe against the baseline.

    Attributes:
        name: Of the recipe's columns.
        a: The launches of the baseline that the comparison rests on.
        b: Those of the recipe.
    """

    heading: Said
    name: str
    comparison: Comparison
    a: tuple[LaunchRecord, ...]
    b: tuple[LaunchRecord, ...]


def held(found: Evidence) -> Iterator[Held]:
    """Yield what was compared with the baseline: a recipe with less in it, then the candidate with all that it has."""
    last, metric, less = found.standing, found.space.objective.metric, found.reduced
    if last is None or last.comparison is None:
        return
    number = last.candidate.number
    if less and less.comparison:
        a, b = found.arms(number, "reduce", BASELINE, REDUCED)
        heading = said("heading sides reduced", number=number, metric=metric)
        yield Held(heading=heading, name="recipe", comparison=less.comparison, a=a, b=b)
    a, b = found.arms(number, "confirm", BASELINE, CANDIDATE)
    heading = said("heading sides before" if less else "heading sides", number=number, metric=metric)
    yield Held(heading=heading, name="candidate", comparison=last.comparison, a=a, b=b)


def opening(found: Evidence) -> Iterator[Said]:
    """Yield the number of the recipe that is written, then that of the candidate which it was reduced from."""
    for number, one in enumerate(held(found)):
        yield _number(found, one)
        if number:
            continue
        if found.finished and one.comparison.result == "undecided":
            settled = one.comparison.settled_by
            yield said("settled", launches=settled) if settled else said("never settled", launches=MOST)
        if (drift := one.comparison.drift) and drift.seen:
            yield said("drift", change=tables.percent(drift.change), p=f"{drift.p:.2g}")
    points = [str(each.proposal.concurrency) for each in found.proof.regimes if each.proved]
    if found.finished and points:
        yield said("overridden", points=", ".join(points))


def _number(found: Evidence, one: Held) -> Said:
    overall, (a, b) = one.comparison.overall, one.comparison.launches
    values = {"change": tables.percent(overall.change), "interval": tables.interval(overall), "a": a, "b": b}
    values["number"] = one.b[0].candidate
    less = found.reduced
    if less is None or less.full is None:
        return said("overall", **values)
    if one.comparison is not less.comparison:
        return said("before reduced", **values)
    full = f"{tables.percent(less.full.overall.change)} ({tables.interval(less.full.overall)})"
    return said("reduced", knobs=", ".join(found.left_out), full=full, **values)


def sections(found: Evidence) -> Iterator[Section]:
    """Yield each comparison by concurrency; of the first one what users see, too, and how its command line differs."""
    for number, one in enumerate(held(found)):
        yield _throughput(found, one)
        if number == 0:
            yield from _served(found, one)


def _served(found: Evidence, first: Held) -> Iterator[Section]:
    users = tables.frame(sides.users(first.a, first.b, root=found.root))
    yield Section(heading=said("heading users"), table=users, after=(said("users"),))
    if differing := facts.resolved(found):
        heading = said("heading resolved reduced" if found.reduced else "heading resolved", number=first.b[0].candidate)
        raw = facts.commands(found, (first.a[0], first.b[0]))
        yield Section(heading=heading, before=(said("resolved"),), table=tables.frame(differing), raw=raw)


def _throughput(found: Evidence, one: Held) -> Section:
    comparison, metric = one.comparison, found.space.objective.metric
    rows = sides.throughput(comparison, one.a, one.b, metric=metric, root=found.root, name=one.name)
    unit = said("unit", sd="unknown" if comparison.launch_sd is None else f"{100 * comparison.launch_sd:.1f} %")
    unsteady = (said("unsteady"),) if sides.drifting((*one.a, *one.b)) else ()
    return Section(heading=one.heading, table=tables.frame(rows), after=(checks(comparison), unit, *unsteady))
