"""Where and with what a study is run: facts that a reader of its evidence needs."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from autotune.gates import gates
from evals import Identity
from search_spaces import SearchSpace
from trials.engines import engine
from trials.launchers import LAUNCHERS

LIBRARIES = ("optuna", "ray", "lm-eval")


def provenance(space: SearchSpace, data_root: Path) -> dict[str, str]:
    """
    Return the facts by name.

    Raises:
        evals.TaskError: If a gate's task can't be loaded.
        trials.engines.EngineNotFound: If the engine is not on this machine.
    """
    target = space.target
    program = LAUNCHERS[target.launcher].version(engine(target.engine), target.image, data_root)
    return {
        "autotune": version("autotune-serve"),
        **{library: version(library) for library in LIBRARIES},
        "engine": f"{target.engine}, {program}, image {target.image or 'none'}",
        "model": f"{target.model}: "
        + ", ".join(f"{name} {file.data or file.space} sha256 {file.sha256}" for name, file in target.files.items()),
        "gate": gate_words(
            [gate.exam.identity for gate in gates(space, space_folder=space.folder, data_root=data_root)]
        ),
        "host": f"{platform.system()} {platform.release()}, {cpu()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB",
        "python": platform.python_version(),
    }


def gate_words(exams: Sequence[Identity]) -> str:
    """Return what is asked, and by which evaluator."""
    return "; ".join(map(_gate, exams))


def _gate(identity: Identity) -> str:
    return (
        f"{identity.task} by {identity.evaluator}, {identity.questions} questions over {identity.endpoint}, "
        f"task sha256 {identity.task_sha256}, questions sha256 {identity.questions_sha256}"
    )


def cpu() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def memory_gib() -> float:
    """Return the machine's memory in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
