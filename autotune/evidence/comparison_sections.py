"""What the documents of a comparison say, section by section."""

from collections.abc import Iterator

from autotune.compare import Comparison
from autotune.comparisons import Launched
from autotune.evidence import facts, sides, tables
from autotune.evidence.compared import Compared
from autotune.evidence.layout import Document, Section
from autotune.evidence.raw import ANSWERS, OUTCOME, Link, Sources, behind
from autotune.evidence.tables import RAW, Row
from autotune.evidence.words import Said, said
from search_spaces import Recipe
from trials.outcome import Measured

SIDES = ("A", "B")
SETTINGS = Sources((Link("comparison.json", "comparison.json"),))
START = Sources((Link("provenance.json", "provenance.json"),))


def document(found: Compared) -> Document:
    """Return what a comparison's evidence says."""
    a, b = found.settings.names
    return Document(
        mark=found.mark,
        name=found.settings.name,
        summary=f"{a} (A) against {b} (B)",
        finished=found.finished,
        verdict=found.verdict,
        opening=tuple(_opening(found)),
        sections=tuple(_sections(found)),
        files=tuple(_beside(found)),
    )


def _beside(found: Compared) -> Iterator[Link]:
    """Yield the comparison's own files."""
    space = f"space/{found.sides.space.name}.yaml"
    for name in ("evidence.md", "evidence.json", "comparison.json", "provenance.json", "a.yaml", "b.yaml", space):
        yield Link(name, name)


def _opening(found: Compared) -> Iterator[Said]:
    if emulated := found.emulated:
        yield emulated
    if found.missing:
        yield said("missing", count=len(found.missing), first=found.missing[0])
    yield from found.notes


def _sections(found: Compared) -> Iterator[Section]:
    if comparison := found.stands.comparison:
        yield from _sides(found, comparison)
    if differing := _differing(found):
        heading = said("heading resolved of two")
        yield Section(heading=heading, before=(said("resolved"),), table=tables.frame(differing))
    if found.judged:
        yield _gate(found)
    if found.launches:
        rows = [_launch(found, one) for one in found.launches]
        yield Section(heading=said("heading launches of two"), table=tables.frame(rows))
    if told := facts.heard(found, {arm: [one for one in found.launches if one.arm == arm] for arm in SIDES}):
        yield Section(heading=said("heading effective"), before=(said("effective"),), table=tables.frame(told))
    if ignored := facts.ignored(found):
        yield Section(heading=said("heading ignored"), before=(said("ignored"),), table=tables.frame(ignored))
    provenance = tables.frame(list(_provenance(found)))
    yield Section(heading=said("heading provenance"), table=provenance, after=(said("facts of two"),))
    yield Section(heading=said("heading not measured"), items=tuple(not_measured(found)))


def _sides(found: Compared, comparison: Comparison) -> Iterator[Section]:
    a, b, root, raw = found.arm("A"), found.arm("B"), found.root, found.behind(found.root)
    metric = found.sides.space.objective.metric
    rates = sides.throughput(comparison, a, b, metric=metric, root=root, base="A", name="B")
    unit = said("unit", sd="unknown" if comparison.launch_sd is None else f"{100 * comparison.launch_sd:.1f} %")
    unsteady = (said("unsteady"),) if sides.drifting((*a, *b)) else ()
    table = tables.frame([{**row, RAW: raw} for row in rates])
    yield Section(heading=said("heading of two", metric=metric), table=table, after=(unit, *unsteady))
    seen = tables.frame([{**row, RAW: raw} for row in sides.users(a, b, root=root)])
    yield Section(heading=said("heading users"), table=seen, after=(said("users of two"),))


def _differing(found: Compared) -> list[Row]:
    return facts.differing(found.sides.a, found.sides.b, SIDES)


def _gate(found: Compared) -> Section:
    gates = found.sides.space.gates
    asked = tuple(said("gate of", task=gate.task, threshold=f"{gate.threshold:g}") for gate in gates)
    answers = [behind(found.root, (one,), ANSWERS) for one, _ in found.judged]
    judged = [(one.arm, judgement) for one, judgement in found.judged]
    table = tables.gate(judged, answers)
    before, after = (said("gates of two", tasks=asked),), (said("gate notes"),)
    return Section(heading=said("heading gate"), before=before, table=table, after=after)


def _launch(found: Compared, one: Launched) -> Row:
    """Return the row of a launch; each number links to the outcome that has it."""
    values, ladder = found.values(one), found.sides.a.workload.concurrency
    rates = {f"concurrency {point}": values.levels[point] if values else None for point in ladder}
    figures = {**rates, "objective": values.objective if values else None}
    source = (one.folder / OUTCOME).relative_to(found.root).as_posix()
    return {
        "launch": one.number,
        "arm": one.arm,
        **{name: "" if rate is None else Sources((Link(f"{rate:.1f}", source),)) for name, rate in figures.items()},
        "gate": one.outcome.verdict.result if isinstance(one.outcome, Measured) and one.outcome.verdict else "",
        "outcome": tables.ended(one.outcome),
        RAW: found.raw[one.folder],
    }


def _provenance(found: Compared) -> Iterator[Row]:
    yield from (facts.row(name, fact, START) for name, fact in found.provenance.items() if fact)
    yield from facts.machines(found)
    for side, named, recipe in zip(SIDES, found.settings.names, (found.sides.a, found.sides.b), strict=True):
        file = f"{side.lower()}.yaml"
        yield facts.row(side, _served(named, recipe), Sources((Link(file, file),)))
    yield from (facts.row(name, fact, SETTINGS) for name, fact in _begun(found))


def _served(named: str, recipe: Recipe) -> str:
    target = recipe.target
    image = target.image or "none"
    return f"{named}: {target.model} on {target.engine}, image {image}, recipe {recipe.fingerprint}"


def _begun(found: Compared) -> Iterator[tuple[str, str]]:
    settings, rules = found.settings, found.settings.rules
    begun = sorted(machine.begun for machine in found.machines.values())
    last = f", the last launch {begun[-1]}" if begun else ""
    yield "dates", f"started {settings.started}{last}"
    yield "launches", f"A B B A, at most {rules.most} of each, until {rules.until}"
    seed = settings.seed
    yield "seeds", f"of the prompts {1000 * seed} plus the number of the pair: both launches of a pair get the same"
    yield "load", tables.load(found.sides.a.workload)
    yield "gate asked", "in full of the first launch of each arm" if rules.judged else "no"


def not_measured(found: Compared) -> Iterator[Said]:
    """Yield what a reader might think was measured and was not."""
    if found.settings.emulation:
        yield said("not anything")
    workload = found.sides.a.workload
    yield said("not lengths", lengths=workload.shape.words, ladder=", ".join(map(str, workload.concurrency)))
    yield said("not hardware", hardware=found.sides.space.target.hardware)
    if (count := len(_differing(found))) > 1:
        yield said("not apart", count=count)
    if found.judged:
        yield from facts.unasked([judgement.verdict for _, judgement in found.judged])
    else:
        yield said("not asked")
    yield from facts.untold(found.launches)
    yield from facts.lost(found)
