"""A study on an emulated machine: what of it differs from a real one, and how everything it writes says so."""

import json
from collections.abc import Sequence
from pathlib import Path

from autotune.folder import Settings, StudyFolder
from autotune.gates import GateOfStudy
from search_spaces import SearchSpace
from trials.emulation import ENGINE
from trials.files import write_whole

MARK = "EMULATED"


def rehearsed(space: SearchSpace) -> SearchSpace:
    """Return a space whose engine is the emulated one, which reads no files."""
    target = space.target.model_copy(update={"engine": ENGINE, "files": {}, "launcher": "process", "image": None})
    return space.model_copy(update={"target": target})


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
