"""What the documents say, section by section: one list for every format and language."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from autotune.ablate import Ablation
from autotune.design import Row
from autotune.evidence import confirmed, explained, facts, tables
from autotune.evidence.checks import checks
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.layout import Document, Section
from autotune.evidence.plots import plots
from autotune.evidence.raw import ANSWERS, REQUESTS, Link, Sources, behind
from autotune.evidence.words import Said, said
from autotune.folder import LaunchRecord, Stage
from autotune.regimes import Regime
from autotune.rounds import BASELINE, CANDIDATE, DEFAULTS, REDUCED, REFERENCE, name
from trials.outcome import Judgement, Measured


def document(found: Evidence) -> Document:
    """Return what a study's evidence says."""
    return Document(
        mark=found.mark,
        name=found.settings.name,
        summary=found.space.summary,
        finished=found.finished is not None,
        verdict=found.verdict,
        opening=tuple(_opening(found)),
        sections=tuple(_sections(found)),
        files=tuple(_beside(found)),
    )


def _beside(found: Evidence) -> Iterator[Link]:
    """Yield the study's own files; there is a recipe only once it is finished."""
    names = ["evidence.md", "evidence.json", "study.json", "provenance.json", f"space/{found.space.name}.yaml"]
    yield from (Link(name, name) for name in (["recipe.yaml", *names] if found.finished else names))


def _opening(found: Evidence) -> Iterator[Said]:
    if emulated := found.emulated:
        yield emulated
    if found.missing:
        yield said("missing", count=len(found.missing), first=found.missing[0])
    if vain := facts.in_vain(found):
        yield vain
    yield from confirmed.opening(found)
    for standing in found.conclusion.standings:
        if why := standing.dropped or standing.stopped:
            yield said("dropped" if standing.dropped else "stopped", number=standing.candidate.number, why=why)


def _sections(found: Evidence) -> Iterator[Section]:
    if found.finished and found.conclusion.result == "win":
        table = tables.differing_knobs(found.recommended, found.space)
        yield Section(heading=said("heading changes"), table=table, raw=facts.told_by(found, "recipe.yaml"))
    yield from confirmed.sections(found)
    yield from _explained(found)
    yield Section(heading=said("heading plots"), plots=plots(found))
    if gates := judged(found):
        yield _gate(found, gates)
    yield from _records(found)
    if found.finished:
        yield Section(heading=said("heading command"), code="autotune command recipe.yaml")
    yield from _provenance(found)


def _explained(found: Evidence) -> Iterator[Section]:
    """Yield what follows the verdict, as far as it was launched: defaults, ablation, single points, a reference."""
    proof, space = found.proof, found.space
    yield from _defaults(found)
    if proof.ablation:
        yield from _ablation(found, proof.ablation)
    if proof.regimes:
        raws = [_rounds(found, "regimes", each.arms) for each in proof.regimes]
        table = tables.sourced(explained.regimes(proof.regimes, proof.config, space), raws)
        after = (said("regimes"), said("each at full alpha", count=len(proof.regimes)), *_checked(proof.regimes))
        yield Section(heading=said("heading regimes"), table=table, after=after)
    launched = next((one.launches for one in proof.beside if one.arm == REFERENCE), ())
    if space.reference and proof.launches and (space.reference.figures or launched):
        raw = _behind(found, lambda one: _fresh(found, one) and one.arm != DEFAULTS)
        table = explained.reference(space.reference, proof.launches, launched)
        heading = said("heading reference", label=space.reference.label)
        yield Section(heading=heading, table=table, after=(said("reference"),), raw=raw)


def _defaults(found: Evidence) -> Iterator[Section]:
    """Yield how the recipe stands against the engine's own defaults, or that the baseline is nothing else."""
    heading, beside = said("heading defaults"), found.proof.beside
    if facts.baseline_is_defaults(found.space):
        yield Section(heading=heading, before=(said("baseline is defaults"),))
    elif own := next((one for one in beside if one.arm == DEFAULTS), None):
        raw = _behind(found, lambda one: _fresh(found, one) and one.arm in {DEFAULTS, _arm(found)})
        checked = (checks(own.comparison),) if own.comparison else ()
        table = explained.defaults(beside, _recipe(found))
        yield Section(heading=heading, table=table, after=(*checked, said("defaults")), raw=raw)


def _ablation(found: Evidence, apart: Ablation) -> Iterator[Section]:
    def behind_all(rows: Iterable[Row | None]) -> list[Sources]:
        return [_rounds(found, "ablate", (row.against, row.arm) if row else ()) for row in rows]

    sd = "unknown" if apart.launch_sd is None else f"{100 * apart.launch_sd:.1f} %"
    settings = explained.ablation(apart, found.space.workload.concurrency)
    yield Section(
        heading=said("heading ablation"),
        table=tables.sourced(settings, behind_all(each.row for each in apart.findings)),
        after=(said("ablation", sd=sd),),
        raw=_rounds(found, "confirm", (BASELINE, CANDIDATE)),
    )
    yield Section(
        heading=said("heading parts"),
        table=tables.sourced(
            explained.parts(apart), behind_all(apart.design.without(each.knob) for each in apart.parts)
        ),
        after=(*explained.grouped(apart), *_dropped(found, apart)),
    )


def _rounds(found: Evidence, stage: Stage, arms: Collection[str]) -> Sources:
    """Return where the launches of some arms of a stage are."""
    return _behind(found, lambda one: one.stage == stage and one.arm in arms)


def _checked(regimes: Sequence[Regime]) -> Iterator[Said]:
    for one in regimes:
        if one.comparison:
            yield said("checks at", concurrency=one.proposal.concurrency, checks=checks(one.comparison))


def _dropped(found: Evidence, apart: Ablation) -> Iterator[Said]:
    """Yield what became of the recipe without what brings nothing measurable, once that is known."""
    less, knobs = found.proof.reduction, ", ".join(apart.dropped)
    if not knobs or apart.next or (less and less.next and not found.finished):
        return
    if less and less.stands:
        yield said("left out", knobs=knobs)
    else:
        yield said("left in", knobs=knobs, why=explained.kept_because(less))


def _recipe(found: Evidence) -> str:
    """Return the name of what is held against all that was launched beside it."""
    return name(_arm(found), found.standing.candidate.number if found.standing else 0)


def _arm(found: Evidence) -> str:
    less = found.proof.reduction
    return REDUCED if less and less.stands else CANDIDATE


def _fresh(found: Evidence, one: LaunchRecord) -> bool:
    """Say whether a launch is of the rounds in which what is recommended over the ladder was launched."""
    return one.stage == ("reduce" if _arm(found) == REDUCED else "confirm")


def _behind(found: Evidence, wanted: Callable[[LaunchRecord], bool]) -> Sources:
    measured = [one for one in found.launches if wanted(one) and isinstance(one.outcome, Measured)]
    return behind(found.root, measured, REQUESTS)


def _gate(found: Evidence, gates: Sequence[tuple[str, Judgement]]) -> Section:
    asked = tuple(said("gate of", task=gate.task, threshold=f"{gate.threshold:g}") for gate in found.space.gates)
    words = [tables.power(gates, gate.margin) for gate in found.space.gates]
    return Section(
        heading=said("heading gate"),
        before=(said("gates", tasks=asked),),
        table=tables.gate(gates, list(_answers(found))),
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
