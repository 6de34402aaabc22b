"""What the documents say, section by section: one list for every format and language."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autotune.ablate import Ablation
from autotune.compare import MOST, Comparison
from autotune.confirm import Standing
from autotune.evidence import explained, facts, sides, tables
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.plots import Plot, plots
from autotune.evidence.raw import ANSWERS, REQUESTS, Sources, behind
from autotune.evidence.tables import Table
from autotune.evidence.words import Said, said
from autotune.folder import LaunchRecord
from autotune.reduce import Reduction
from autotune.rounds import BASELINE, CANDIDATE, DEFAULTS, REDUCED, REFERENCE, name
from trials.outcome import Judgement, Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """
    One section; of it the words are in the reader's language, the tables and plots are there once.

    Attributes:
        before: Sentences before the table.
        after: Sentences after it.
        items: A list, in words.
        code: A command to run.
        raw: Where the table's numbers come from, where its rows don't say it.
    """

    heading: Said
    before: tuple[Said, ...] = ()
    table: Table | None = None
    after: tuple[Said, ...] = ()
    items: tuple[Said, ...] = ()
    plots: tuple[Plot, ...] = ()
    code: str = ""
    raw: Sources | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """
    All of it.

    Attributes:
        opening: Sentences under the verdict.
    """

    verdict: Said
    opening: tuple[Said, ...]
    sections: tuple[Section, ...]


def document(found: Evidence) -> Document:
    """Return what a study's evidence says."""
    return Document(found.verdict, tuple(_opening(found)), tuple(_sections(found)))


def _opening(found: Evidence) -> Iterator[Said]:
    if emulated := found.emulated:
        yield emulated
    if found.missing:
        yield said("missing", count=len(found.missing), first=found.missing[0])
    if vain := facts.in_vain(found):
        yield vain
    last = found.standing
    if last and last.comparison:
        yield from _compared(last, last.comparison, finished=found.finished is not None)
    if found.finished and (less := found.proof.reduction) and less.stands and less.comparison and found.proof.ablation:
        overall = less.comparison.overall
        knobs, change = ", ".join(found.proof.ablation.dropped), tables.percent(overall.change)
        yield said("reduced", knobs=knobs, change=change, interval=tables.interval(overall))
    for standing in found.conclusion.standings:
        if why := standing.dropped or standing.stopped:
            yield said("dropped" if standing.dropped else "stopped", number=standing.candidate.number, why=why)


def _compared(last: Standing, comparison: Comparison, *, finished: bool) -> Iterator[Said]:
    overall, (a, b) = comparison.overall, comparison.launches
    change, interval = tables.percent(overall.change), tables.interval(overall)
    yield said("overall", number=last.candidate.number, change=change, interval=interval, a=a, b=b)
    if finished and comparison.result == "undecided":
        settled = comparison.settled_by
        yield said("settled", launches=settled) if settled else said("never settled", launches=MOST)
    if (drift := comparison.drift) and drift.seen:
        yield said("drift", change=tables.percent(drift.change), p=f"{drift.p:.2g}")


def _sections(found: Evidence) -> Iterator[Section]:
    last = found.standing
    if found.finished and found.conclusion.result == "win":
        table = tables.differing_knobs(found.recommended, found.space)
        yield Section(heading=said("heading changes"), table=table)
    if last and last.comparison:
        yield from _sides(found, last, last.comparison)
    yield from _explained(found)
    yield Section(heading=said("heading plots"), plots=plots(found))
    if confirmed := judged(found):
        yield _gate(found, confirmed)
    yield from _records(found)
    if found.finished:
        yield Section(heading=said("heading command"), code="autotune command recipe.yaml")
    yield from _provenance(found)


def _sides(found: Evidence, last: Standing, comparison: Comparison) -> Iterator[Section]:
    number, metric, root = last.candidate.number, found.space.objective.metric, found.root
    a, b = found.arm(last, "A"), found.arm(last, "B")
    rows = sides.throughput(comparison, a, b, metric=metric, root=root)
    unit = said("unit", sd="unknown" if comparison.launch_sd is None else f"{100 * comparison.launch_sd:.1f} %")
    unsteady = (said("unsteady"),) if sides.drifting((*a, *b)) else ()
    heading = said("heading sides", number=number, metric=metric)
    yield Section(heading=heading, table=tables.frame(rows), after=(unit, *unsteady))
    users = tables.frame(sides.users(a, b, root=root))
    yield Section(heading=said("heading users"), table=users, after=(said("users"),))
    if differing := facts.resolved(found):
        heading = said("heading resolved", number=number)
        yield Section(heading=heading, before=(said("resolved"),), table=tables.frame(differing))


def _explained(found: Evidence) -> Iterator[Section]:
    """Yield what follows the verdict, as far as it was launched: defaults, ablation, single points, a reference."""
    proof, space = found.proof, found.space
    recipe = _recipe(found)
    if any(one.arm == DEFAULTS for one in proof.beside):
        raw = _behind(found, lambda one: one.stage in {"confirm", "reduce"})
        table = explained.defaults(proof.beside, recipe)
        yield Section(heading=said("heading defaults"), table=table, after=(said("defaults"),), raw=raw)
    if apart := proof.ablation:
        raw = _behind(found, lambda one: one.stage in {"confirm", "ablate"})
        settings = explained.ablation(apart, space.workload.concurrency)
        sd = "unknown" if apart.launch_sd is None else f"{100 * apart.launch_sd:.1f} %"
        after = (said("ablation", sd=sd),)
        yield Section(heading=said("heading ablation"), table=settings, after=after, raw=raw)
        parts = explained.parts(apart)
        yield Section(heading=said("heading parts"), table=parts, after=_reduced(apart, proof.reduction), raw=raw)
    if proof.regimes:
        raw = _behind(found, lambda one: one.stage == "regimes")
        table = explained.regimes(proof.regimes, proof.config, space)
        yield Section(heading=said("heading regimes"), table=table, after=(said("regimes"),), raw=raw)
    launched = next((one.launches for one in proof.beside if one.arm == REFERENCE), ())
    if space.reference and proof.launches and (space.reference.figures or launched):
        raw = _behind(found, lambda one: one.stage in {"confirm", "reduce"})
        table = explained.reference(space.reference, proof.launches, launched)
        heading = said("heading reference", label=space.reference.label)
        yield Section(heading=heading, table=table, after=(said("reference"),), raw=raw)


def _reduced(apart: Ablation, less: Reduction | None) -> tuple[Said, ...]:
    """Return what became of the recipe without what brings nothing measurable, once that is known."""
    if not apart.dropped or apart.next or (less and less.next):
        return ()
    knobs = ", ".join(apart.dropped)
    if less and less.stands:
        return (said("left out", knobs=knobs),)
    return (said("left in", knobs=knobs, why=explained.kept_because(less)),)


def _recipe(found: Evidence) -> str:
    """Return the name of what the study recommends, over the whole ladder."""
    last, proof = found.standing, found.proof
    if last is None or proof.conclusion.result != "win":
        return name(BASELINE, 0)
    arm = REDUCED if proof.reduction and proof.reduction.stands else CANDIDATE
    return name(arm, last.candidate.number)


def _behind(found: Evidence, wanted: Callable[[LaunchRecord], bool]) -> Sources:
    measured = [one for one in found.launches if wanted(one) and isinstance(one.outcome, Measured)]
    return behind(found.root, measured, REQUESTS)


def _gate(found: Evidence, confirmed: Sequence[tuple[str, Judgement]]) -> Section:
    asked = tuple(said("gate of", task=gate.task, threshold=f"{gate.threshold:g}") for gate in found.space.gates)
    words = [tables.power(confirmed, gate.margin) for gate in found.space.gates]
    return Section(
        heading=said("heading gate"),
        before=(said("gates", tasks=asked),),
        table=tables.gate(confirmed, list(_answers(found))),
        after=(said("gate notes"), *(said("gate power", words=each.rstrip(".")) for each in words if each)),
    )


def _answers(found: Evidence) -> Iterator[Sources]:
    """Yield where the answers of each judgement are, in the order of `judged`."""
    for launch in found.launches:
        if isinstance(launch.outcome, Measured):
            yield from [behind(found.root, (launch,), ANSWERS)] * len(launch.outcome.judged)


def _records(found: Evidence) -> Iterator[Section]:
    if found.finished and found.space.known and found.settings.known:
        table = explained.known(found.space, found.trials, found.conclusion, found.score, found.raw)
        yield Section(heading=said("heading known"), before=(said("search scores"),), table=table)
    if found.launches:
        files = [found.raw[one.folder] for one in found.launches]
        table = tables.launches(found.launches, found.space, files)
        yield Section(heading=said("heading launches"), table=table)
    files = [found.raw[one.folder] for one in found.trials]
    yield Section(
        heading=said("heading trials"),
        before=(said("search scores"),),
        table=tables.trials(found.trials, found.space, found.score, files),
    )


def _provenance(found: Evidence) -> Iterator[Section]:
    if told := facts.effective(found):
        heading = said("heading effective")
        yield Section(heading=heading, before=(said("effective"),), table=tables.frame(told))
    if ignored := facts.ignored(found):
        heading = said("heading ignored")
        yield Section(heading=heading, before=(said("ignored"),), table=tables.frame(ignored))
    facts_table = tables.frame(facts.provenance(found))
    yield Section(heading=said("heading provenance"), table=facts_table, after=(said("facts"),))
    yield Section(heading=said("heading not measured"), items=facts.not_measured(found))
