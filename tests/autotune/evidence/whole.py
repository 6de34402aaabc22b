"""Studies, a comparison and a sweep with something of everything: what pages and plots are tested on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autotune.comparisons import ComparisonFolder, Rules
from autotune.evidence.comparison import write as write_comparison
from autotune.evidence.evidence import Evidence
from autotune.evidence.html import page
from autotune.evidence.publish import markdown
from autotune.evidence.sections import document
from autotune.folder import StudyFolder, study_folder
from autotune.sweep import at_context
from evals import Verdict
from evals.gate import interval
from search_spaces import load
from tests.autotune import comparing
from tests.autotune.studies import LOST, SMALL, settings, space, trial
from tests.autotune.truths import KNOBS, World, fastest
from tests.support import point, verdict
from trials import outcome as outcomes
from trials.outcome import Infeasible, Judgement, Lost, Measured

WORDS = '<script>alert(1)</script> & "out of memory" $x$'
RAW = ("command.sh", "engine.log", "requests.parquet", "runs.jsonl", "answers.jsonl")
SECRET = "hf_abcdefghijklmnopqrst"  # noqa: S105 nobody's
MACHINE = {
    "host": "node-1",
    "system": "Linux 6.1",
    "gpus": [
        {"index": n, "name": "AMD Instinct MI355X", "memory_mib": 294896.0, "driver": "6.14.14"} for n in range(8)
    ],
    "client": "0.1.0",
    "begun": "2026-01-02T03:05:00+00:00",
}
ENDED = "2026-01-02T04:05:06+00:00"
REFERENCE = "reference: {label: ATOM, source: 'InferenceX #2213', figures: {1: 110.0, 2: 111.0}}\n"
KNOWN = "known: [{name: theirs, set: {a: true}}]\n"
SWEEP = Rules(most=2, until="every level decided", judged=False)


def to_markdown(found: Evidence) -> str:
    """Return a study's evidence as Markdown."""
    return markdown(document(found))


def to_html(found: Evidence) -> str:
    """Return a study's evidence as a page."""
    return page(document(found))


def run(rate: float, *, wrong: Sequence[int] = (), gate: Verdict | None = None) -> Measured:
    """Return what an engine measures that is the slower for each user the more there are; `wrong` are questions."""
    points = tuple(
        replace(point(rate * gain, concurrency=users), intvty=rate * gain / users)
        for users, gain in ((1, 1.0), (2, 1.6))
    )
    correct = tuple(question not in wrong for question in range(64))
    judged = (Judgement(concurrency=16, verdict=gate, correct={"strict-match": correct}),) if gate else ()
    return Measured(points=points, judged=judged, seconds={})


def drifting(measured: Measured) -> Measured:
    """Return what was measured with its first point not steady."""
    first, *others = measured.points
    return replace(measured, points=(replace(first, steady=False, drift=0.031), *others))


def judged(correct: int, *, result: str = "pass") -> Verdict:
    """Return a verdict on 64 questions, with the interval that belongs to it."""
    told = verdict(correct, result=result)
    low, high = interval(correct, 64)
    return replace(told, filters=(replace(told.filters[0], low=low, high=high),))


def whole(root: Path, *, finished: bool = True) -> StudyFolder:
    """
    Return a study of six trials, one that crashed, one that failed its gate, one lost, and six launches: a win.

    The engine's last words hold a script, and a secret; one launch was not steady.
    """
    made, small = study_folder(root / "studies", "one"), space(root, SMALL)
    made.begin(settings(root), small, {"engine": f"an engine, HF_TOKEN={SECRET}", "host": "a host"})
    failed = judged(56, result="fail")
    search = [
        trial(small, 0, run(100.0, gate=judged(64))),
        trial(small, 1, run(112.0, gate=judged(64)), cache="q8_0"),
        trial(small, 2, Infeasible(failure="memory", reason=f"{WORDS} {SECRET}", seconds={}), threads=4),
        trial(small, 3, LOST, threads=3),
        trial(small, 4, run(130.0, wrong=range(5, 13), gate=failed), cache="q4_0"),
        trial(small, 5, run(96.0, gate=judged(64)), unified=True),
    ]
    for one in search:
        folder = made.new_trial(one.number, one.config, one.fingerprint)
        _raw(folder, one.outcome)
    first = [run(100.2, wrong=[20], gate=judged(63)), run(110.3, wrong=[20, 41], gate=judged(62))]
    later = [run(rate) for rate in (111.0, 99.5, 110.6)] + [drifting(run(100.4))]
    for number, (arm, launched) in enumerate(zip("ABBABA", first + later, strict=True)):
        _raw(made.new_launch(number, "A" if arm == "A" else "B", 1), launched)
    if finished:
        made.finish(ENDED)
    return made


def apart(root: Path, *, raw: bool = True) -> StudyFolder:
    """
    Return a study whose winner has two knobs that pay, and two that bring nothing; and another one at one point.

    Args:
        raw: Whether the raw files are there, and power was told; else there are the outcomes alone.
    """
    leave = _raw if raw else _outcome
    own = space(root, KNOBS + REFERENCE + KNOWN)
    made = study_folder(root / "studies", "one")
    made.begin(settings(root), own, {})
    world = World(load(made.space), {"a": {1: 0.02, 2: 0.30}, "b": 0.06, "c": {1: 0.15, 2: -0.15}}, sd=0.004)
    trials = fastest(world.searched(best="abgh"))
    world.finish(trials)
    for one in trials:
        leave(made.new_trial(one.number, one.config, one.fingerprint), one.outcome)
    for launch in world.launches:
        folder = made.new_launch(launch.number, launch.arm, launch.candidate, stage=launch.stage)
        leave(folder, launch.outcome)
    made.finish(ENDED)
    return made


def compared(root: Path) -> ComparisonFolder:
    """Return a comparison of two launches of each, with the gate, and of one that was lost with a script's words."""
    made = comparing.begun(root, space(root, SMALL), Rules(most=6))
    ended: tuple[outcomes.Outcome, ...] = (
        run(100.2, wrong=[20], gate=judged(63)),
        Lost(reason=f"{WORDS} {SECRET}", seconds={}),
        run(110.3, wrong=[20, 41], gate=judged(62)),
        run(111.0),
        drifting(run(100.4)),
    )
    for number, (arm, outcome) in enumerate(zip("ABBBA", ended, strict=True)):
        _raw(made.new_launch(number, "A" if arm == "A" else "B"), outcome)
    return made


def swept(root: Path) -> Path:
    """Return the folder of a sweep in which B is as fast as A at a short context and slower at a long one."""
    for context, rate in ((1000, 100.0), (50_000, 80.0)):
        at(root, context, [run(100.0), run(rate), run(rate + 0.01), run(100.01)])
    return root / "sweep"


def at(root: Path, context: int, launches: Sequence[outcomes.Outcome]) -> None:
    """Make the comparison of one context of a sweep, with its documents."""
    folder, own = ComparisonFolder(root / "sweep" / f"context-{context}"), comparing.sides(space(root, SMALL))
    workload = at_context(own.a.workload, context, (1, 2))
    a, b = (recipe.model_copy(update={"workload": workload}) for recipe in (own.a, own.b))
    begun = replace(comparing.settings(root, SWEEP), name=folder.root.name)
    folder.begin(begun, replace(own, a=a, b=b), {"host": "a host"})
    for number, (arm, outcome) in enumerate(zip("ABBA", launches, strict=False)):
        _raw(folder.new_launch(number, "A" if arm == "A" else "B"), outcome)
    write_comparison(folder)


def _raw(folder: Path, outcome: outcomes.Outcome | None) -> None:
    """Leave in a folder what a trial leaves; a crash has no requests and no answers."""
    for name in RAW if isinstance(outcome, Measured) else RAW[:2]:
        (folder / name).write_text(f"{name} of {folder.name}\n", encoding="utf-8")
    (folder / "machine.json").write_text(json.dumps(MACHINE), encoding="utf-8")
    told = {"version": "0.25.1", "attention": "AITER" if folder.name.endswith("-B") else "TRITON"}
    (folder / "effective.json").write_text(json.dumps(told), encoding="utf-8")
    _outcome(folder, powered(outcome))


def _outcome(folder: Path, outcome: outcomes.Outcome | None) -> None:
    if outcome is not None:
        outcomes.write(folder / "outcome.json", outcome)


def powered(outcome: outcomes.Outcome | None) -> outcomes.Outcome | None:
    """Return what was measured as if a vendor's tool had told the power."""
    if not isinstance(outcome, Measured):
        return outcome
    watts = [700.0 + 10 * each.concurrency for each in outcome.points]
    points = [
        replace(each, power_w=power, tok_per_s_per_watt=each.total_tok_per_s / power)
        for each, power in zip(outcome.points, watts, strict=True)
    ]
    return replace(outcome, points=tuple(points))
