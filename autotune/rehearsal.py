"""A study on an emulated machine: what of it differs from a real one, and how everything it writes says so."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from autotune.folder import Settings, StudyFolder
from autotune.gates import GateOfStudy
from search_spaces import SearchSpace, SpaceError, Target, load, names
from trials.emulation import ENGINE, MODEL, TAKES, can_stand_in
from trials.files import write_whole

MARK = "EMULATED"


def at_start(space: SearchSpace) -> SearchSpace:
    """Return a space with the baseline that its rehearsals start from; what it knows stays what it is."""
    if space.rehearsal is None:
        return space
    known = tuple(one.model_copy(update={"set": {**space.baseline, **one.set}}) for one in space.known)
    baseline = {**space.baseline, **space.rehearsal.baseline}
    return space.model_copy(update={"baseline": baseline, "known": known, "rehearsal": None})


def rehearsed(space: SearchSpace) -> SearchSpace:
    """
    Return a space whose engine is the emulated one, which reads no files.

    Raises:
        SpaceError: The emulated engine can't stand in for its engine.
    """
    refuse_other(space.target, space.serve.args, name=space.name)
    target = space.target.model_copy(update={"engine": ENGINE, "files": {}, "launcher": "process", "image": None})
    return space.model_copy(update={"target": target})


def refuse_other(target: Target, args: Sequence[object], *, name: str) -> None:
    """
    Refuse what the emulated engine can't stand in for, before anything is launched.

    Args:
        args: Of the engine, as `can_stand_in` takes them.
        name: Of the space or the recipe, for the message.

    Raises:
        SpaceError: It is of another engine or of another model.
    """
    if not can_stand_in(target, args):
        raise SpaceError(
            f"{name}: {target.engine} with {target.model} can't be rehearsed: the emulated MI355X takes the command "
            f"line of {TAKES} and behaves as {MODEL} does: leave --emulate out, or name a space that can be: "
            f"{', '.join(_shipped())}"
        )


def _shipped() -> Iterator[str]:
    """Yield the shipped spaces that can be rehearsed."""
    for name in names():
        space = load(name)
        if can_stand_in(space.target, space.serve.args):
            yield name


def mark(settings: Settings) -> str:
    """Return the word that stands before everything that a rehearsal says; nothing for a real study."""
    return f"{MARK} " if settings.emulation else ""


def prepare(folder: StudyFolder, settings: Settings, gates: Sequence[GateOfStudy]) -> None:
    """Give the emulated engine of a rehearsal its answers."""
    if settings.emulation:
        give_answers(folder.answers, gates)


def give_answers(path: Path, gates: Sequence[GateOfStudy]) -> None:
    """Write the right answers for the emulated engine, which is as right as its landscape says."""
    if not path.exists():
        solutions = (gate.exam.solution(n) for gate in gates for n in range(len(gate.exam.questions)))
        lines = (json.dumps({"question": question, "answer": answer}) for question, answer in solutions)
        write_whole(path, "".join(f"{line}\n" for line in lines))
