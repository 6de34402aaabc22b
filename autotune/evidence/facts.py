"""What a reader needs to get the same again: where and with what it ran, what the engine said, what nobody measured."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autotune.diff import Difference, Point, differences, grouped
from autotune.evidence.evidence import Evidence, judged
from autotune.evidence.raw import COMMAND, EFFECTIVE, OUTCOME, Gathered, Link, Record, Sources
from autotune.evidence.sides import drifting
from autotune.evidence.tables import RAW, Row, load
from autotune.evidence.words import Said, said
from autotune.folder import LaunchRecord
from autotune.proof import arms_beside
from autotune.redaction import hidden
from autotune.rounds import BASELINE, CANDIDATE, DEFAULTS, REDUCED, of
from autotune.sides import served
from evals import Verdict
from search_spaces import Recipe, SearchSpace, resolve
from trials.engines.asked import Mismatch
from trials.machine import FILE as MACHINE
from trials.machine import Machine
from trials.outcome import Lost, Measured
from trials.smi import Device

EVERYWHERE = "every one"


def provenance(found: Evidence) -> list[Row]:
    """Return the facts of a study: of its start, of its machines, of its random choices."""
    files = Sources((Link("provenance.json", "provenance.json"),))
    settings = Sources((Link("study.json", "study.json"), _space(found)))
    return [
        *(row(name, fact, files) for name, fact in found.provenance.items()),
        *machines(found),
        *(row(name, fact, settings) for name, fact in _begun(found)),
    ]


def row(name: str, fact: str, raw: Sources) -> Row:
    """Return a fact, and the files that say so."""
    return {"fact": name, "is": fact, RAW: raw}


def _begun(found: Evidence) -> Iterator[tuple[str, str]]:
    settings = found.settings
    yield "dates", f"started {settings.started}, {f'finished {found.finished}' if found.finished else 'not finished'}"
    hours = f", {settings.hours:g} h" if settings.hours else ""
    yield "search", f"{settings.sampler}, at most {settings.trials} trials beside the baseline{hours}"
    yield "seeds", _seeds(found)
    yield "load", load(found.space.workload)


def _seeds(found: Evidence) -> str:
    seed = found.settings.seed
    protocols = {judgement.verdict.protocol.identity for _, judgement in judged(found)}
    shots = ", ".join(sorted({f"{each.task}: {each.order}, few-shot {each.fewshot_seed}" for each in protocols}))
    return (
        f"{seed} of the sampler and of the search's prompts; of fresh launches {1000 * seed} plus a number for their "
        f"stage and round, so that all recipes of a round get the same{f'; {shots}' if shots else ''}"
    )


def machines(found: Gathered) -> Iterator[Row]:
    """Yield each distinct machine in words, with the files that say so."""
    where: dict[str, list[Path]] = {}
    for folder, machine in found.machines.items():
        where.setdefault(words(machine), []).append(folder / MACHINE)
    for said_of, files in where.items():
        yield row("machine", said_of, Sources(tuple(_link(found.root, path) for path in files)))


def words(machine: Machine) -> str:
    """Return a machine in a line."""
    kinds: dict[str, list[Device]] = {}
    for gpu in machine.gpus:
        memory = "" if gpu.memory_mib is None else f", {gpu.memory_mib:.0f} MiB"
        kinds.setdefault(f"{gpu.name or 'GPU'}{memory}, driver {gpu.driver or 'not told'}", []).append(gpu)
    gpus = "; ".join(f"{len(some)} x {kind}" for kind, some in kinds.items()) or "no GPU that a vendor's tool tells of"
    return f"{machine.host}: {gpus}; {machine.system}; client autotune {machine.client}"


def effective(found: Evidence) -> list[Row]:
    """Return what the engines of baseline and candidate said that they ran, each with the launches that said so."""
    last = found.standing
    launched = of(found.launches, "confirm", last.candidate.number) if last else []
    arms = {arm: [one for one in launched if one.arm == arm] for arm in (BASELINE, CANDIDATE)}
    sides: dict[str, Sequence[Record]] = {
        "baseline": arms[BASELINE] or [found.baseline],
        "candidate": arms[CANDIDATE] or ([last.candidate] if last else []),
    }
    if found.reduced:
        sides["recipe"] = [one for one in found.launches if one.arm == REDUCED]
    return heard(found, sides)


def heard(found: Gathered, sides: Mapping[str, Sequence[Record]]) -> list[Row]:
    """Return what the engines of each side said that they ran, by name, each with the launches that said so."""
    sayings = {side: _heard(found, records) for side, records in sides.items()}
    names = dict.fromkeys(name for told in sayings.values() for name in told)
    return [
        {
            "name": name,
            **{side: "; ".join(told.get(name, {})) for side, told in sayings.items()},
            RAW: Sources(
                tuple(link for told in sayings.values() for links in told.get(name, {}).values() for link in links)
            ),
        }
        for name in names
    ]


def _heard(found: Gathered, records: Sequence[Record]) -> Mapping[str, Mapping[str, Sequence[Link]]]:
    """Return by name, and by what was said, the launches that said it."""
    told: dict[str, dict[str, list[Link]]] = {}
    for record in records:
        for name, value in found.effective.get(record.folder, {}).items():
            told.setdefault(name, {}).setdefault(value, []).append(_link(found.root, record.folder / EFFECTIVE))
    return told


def ignored(found: Gathered) -> list[Row]:
    """Return each setting that engines say they run otherwise than asked, with the trials and launches that did."""
    where: dict[Mismatch, list[Link]] = {}
    for record in found.records:
        for each in _mismatches(record):
            where.setdefault(each, []).append(_link(found.root, record.folder / OUTCOME))
    return [
        {"setting": each.setting, "asked": each.asked, "runs": each.effective, RAW: Sources(tuple(links))}
        for each, links in where.items()
    ]


def in_vain(found: Evidence) -> Said | None:
    """Return what the trial that decided, else the baseline's, asked for and did not get; None: all took effect."""
    trial = found.standing.candidate if found.standing else found.baseline
    arm = REDUCED if found.reduced else CANDIDATE
    launched = [one for one in found.launches if one.candidate == trial.number and one.arm == arm]
    records: list[Record] = [*launched] if found.reduced else [trial, *launched]
    settings = dict.fromkeys(each for one in records for each in _mismatches(one))
    if not settings:
        return None
    shown = ", ".join(f"{each.setting} {each.asked} ({each.effective})" for each in settings)
    return said("in vain", number=trial.number, settings=shown)


def _mismatches(record: Record) -> tuple[Mismatch, ...]:
    return record.outcome.mismatches if isinstance(record.outcome, Measured) else ()


def _link(root: Path, path: Path) -> Link:
    return Link(path.parent.name, path.relative_to(root).as_posix())


def resolved(found: Evidence) -> list[Row]:
    """Return the options and variables in which the last candidate's resolved command differs from the baseline's."""
    if found.standing is None:
        return []
    last = found.proof if found.reduced else found.standing.candidate
    left, right = (resolve(found.space, config) for config in (found.baseline.config, last.config))
    return differing(left, right, ("baseline", "recipe" if found.reduced else "candidate"))


def commands(found: Evidence, records: Sequence[LaunchRecord]) -> Sources:
    """Return the command lines of launches."""
    every = [(one, found.raw[one.folder]) for one in records]
    return Sources(
        tuple(
            Link(f"{link.name} of {one.folder.name}", link.href)
            for one, files in every
            for link in files.links
            if link.href.endswith(COMMAND)
        ),
        tuple(path for _, files in every for path in files.missing if path.endswith(COMMAND)),
    )


def told_by(found: Evidence, *files: str) -> Sources:
    """Return the space, and files that lie beside the document."""
    return Sources((_space(found), *(Link(name, name) for name in files)))


def _space(found: Evidence) -> Link:
    return Link("space", f"space/{found.space.name}.yaml")


def differing(left: Recipe, right: Recipe, sides: tuple[str, str]) -> list[Row]:
    """Return the options and variables in which two resolved commands differ, each side under its name."""
    points: dict[Point, Sequence[Difference]] = {
        concurrency: differences(served(left, concurrency), served(right, concurrency))
        for concurrency in left.workload.concurrency
    }
    return [_difference(one, at, left, sides) for at, some in grouped(points) for one in some]


def _difference(one: Difference, at: Sequence[Point], recipe: Recipe, sides: tuple[str, str]) -> Row:
    everywhere = len(at) == len(recipe.workload.concurrency)
    left, right = ("absent" if value is None else hidden(one.name, value) for value in (one.left, one.right))
    return {
        "kind": one.kind,
        "name": one.name,
        sides[0]: left,
        sides[1]: f"{right} (by default the same)" if one.by_default else right,
        "at concurrency": EVERYWHERE if everywhere else ", ".join(map(str, at)),
    }


def baseline_is_defaults(space: SearchSpace) -> bool:
    """Say whether the baseline is what the engine does by itself, so that it is not launched twice."""
    return DEFAULTS not in arms_beside(space, None)


def not_measured(found: Evidence) -> tuple[Said, ...]:
    """Return what a reader might think was measured and was not."""
    return tuple(_not_measured(found))


def _not_measured(found: Evidence) -> Iterator[Said]:
    if found.settings.emulation:
        yield said("not anything")
    workload = found.space.workload
    yield said("not lengths", lengths=workload.shape.words, ladder=", ".join(map(str, workload.concurrency)))
    yield said("not hardware", hardware=found.space.target.hardware)
    if not (baseline_is_defaults(found.space) or any(one.arm == DEFAULTS for one in found.proof.beside)):
        yield said("not defaults")
    yield from _not_ablated(found)
    yield from unasked([judgement.verdict for _, judgement in judged(found)])
    yield from untold(found.launches)
    yield from lost(found)


def untold(launches: Sequence[Record]) -> Iterator[Said]:
    """Yield what launches did not tell: power, or a steady state."""
    measured = [one.outcome for one in launches if isinstance(one.outcome, Measured)]
    if all(point.power_w is None for one in measured for point in one.points):
        yield said("not power")
    if points := drifting(launches):
        yield said("not steady", points=points)


def lost(found: Gathered) -> Iterator[Said]:
    """Yield how many of all that ran were lost."""
    if count := sum(isinstance(one.outcome, Lost) for one in found.records):
        yield said("not lost", lost=count)


def _not_ablated(found: Evidence) -> Iterator[Said]:
    allowed = found.space.budget.ablation_launches
    if not (apart := found.proof.ablation):
        yield said("not ablated")
    elif not apart.design.additive and apart.design.wanted > allowed:
        yield said("not additive", needed=apart.design.wanted, allowed=allowed)


def unasked(verdicts: Sequence[Verdict]) -> Iterator[Said]:
    """Yield which of the gate's questions were not asked."""
    if not verdicts:
        yield said("not judged")
    left: dict[str, tuple[int, int]] = {}
    for verdict in verdicts:
        total = verdict.protocol.identity.questions
        left[verdict.protocol.identity.task] = (total - verdict.asked, total)
    for task, (count, total) in left.items():
        if count:
            yield said("not questions", task=task, left=count, total=total)
