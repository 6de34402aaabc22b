"""
Containers that lost their supervisor.

A supervisor holds a lock on the spec that its container is labelled with. Where that lock is free nobody will stop or
remove the container any more; the guard in it ends the engine, and what is left is removed here.
"""

import fcntl
from dataclasses import dataclass
from pathlib import Path

from trials.launchers.container import LABEL, run


@dataclass(frozen=True, slots=True)
class Orphan:
    """
    A container of ours without a supervisor.

    Attributes:
        spec: Of the launch that it came of.
        running: Whether its engine still runs: its guard is about to end it.
    """

    id: str
    spec: Path
    running: bool


def orphans(client: str) -> list[Orphan]:
    """
    Return the containers that `client` knows whose supervisor has died.

    One whose spec this process cannot see is left alone: it is of another user, or of another view of the disk.
    """
    code, said = run([client, "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}"])
    found = (_orphan(client, container) for container in (said.split() if code == 0 else ()))
    return [orphan for orphan in found if orphan]


def sweep(client: str, *, stop_s: float) -> str | None:
    """Stop the orphans that still run, with a grace, and remove all; return why one is still there."""
    for orphan in orphans(client):
        run([client, "stop", "-t", str(round(stop_s)), orphan.id], within_s=stop_s)
        code, said = run([client, "rm", "--force", orphan.id])
        if code:
            return f"container {orphan.id[:12]} of {orphan.spec} is left: {said}"
    return None


def _orphan(client: str, container: str) -> Orphan | None:
    """Return a container if it is an orphan; None also if it is being removed just now."""
    form = f'{{{{.State.Running}}}} {{{{index .Config.Labels "{LABEL}"}}}}'
    code, said = run([client, "inspect", "--type", "container", "--format", form, container])
    running, _, label = said.partition(" ")
    spec = Path(label)
    if code or not spec.is_file() or _held(spec):
        return None
    return Orphan(container, spec, running=running == "true")


def _held(spec: Path) -> bool:
    """Say whether a supervisor lives that holds this spec."""
    with spec.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
