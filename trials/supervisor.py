"""
Own one engine: start it, stop it when its owner ends, and leave no process behind.

A program, `python supervisor.py SPEC.json OWNER_FD`. It makes itself nobody's child, so that nothing which reaps the
owner's children reaches it, and learns of the owner's end by end-of-file on OWNER_FD, one end of a socket pair; the
owner learns of its end by the same. It stands alone (the standard library and psutil) so that it stays small and keeps
working whatever the rest of the package imports. Every other descriptor it inherits, it holds until it ends.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

LOG, STARTED, ENDED = "engine.log", "supervisor.json", "exit.json"
KILL_S = 60.0  # a process in a driver call, or with much pinned memory, takes long to die, or does not
POLL_S = 0.02
STOPPING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


@dataclass(frozen=True)
class Spec:
    """
    What to run; SPEC.json is this, and its folder gets the log and the two reports.

    Attributes:
        env: Added to the supervisor's own environment; None removes a name.
        stop_s: Seconds between SIGTERM and SIGKILL.
    """

    argv: list[str]
    env: Mapping[str, str | None]
    stop_s: float


@dataclass(frozen=True)
class Started:
    """The processes, each with its creation time so that a reused pid is not taken for it."""

    supervisor_pid: int
    supervisor_created: float
    engine_pid: int
    engine_created: float


@dataclass(frozen=True)
class Ended:
    """
    How it ended: written last, when nothing is left to do.

    Attributes:
        returncode: The engine's; below 0 it is a signal; None if it never started or cannot be killed.
        stopped: True if the owner, its death or a signal made us end the engine, False if it ended by itself.
        killed: Pids that needed SIGKILL.
        left: Pids that even SIGKILL did not end: the machine needs a look.
        error: Why the engine could not be started at all.
    """

    returncode: int | None
    stopped: bool
    killed: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    error: str | None = None


def main(spec_path: str, owner_fd: str) -> None:
    """Detach, supervise, report."""
    path = Path(spec_path).absolute()
    spec = Spec(**json.loads(path.read_text(encoding="utf-8")))
    _detach()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    with socket.socket(fileno=int(owner_fd)) as owner:
        _publish(path.with_name(ENDED), supervise(spec, path.parent, owner))


def supervise(spec: Spec, folder: Path, owner: socket.socket) -> Ended:
    """Run the engine until it ends or is to be stopped; return when no descendant is left."""
    signals = _signals()
    try:
        engine = _start(spec, folder / LOG)
    except OSError as error:
        return Ended(returncode=None, stopped=False, error=f"cannot start {spec.argv[0]}: {error.strerror}")
    try:
        _publish(folder / STARTED, _started(engine.pid))
        with contextlib.suppress(ConnectionError):
            owner.send(b"!")
        stopped = _told_to_stop(engine, owner, signals)
        if stopped:
            _terminate(engine, signals, spec.stop_s)
    finally:
        killed, left = _kill_rest(engine)
    return Ended(returncode=engine.returncode, stopped=stopped, killed=killed, left=left)


def _detach() -> None:
    """Become nobody's child, in a session of our own, by two forks."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def _start(spec: Spec, log: Path) -> subprocess.Popen[bytes]:
    """Start the engine in a session of its own: one that signals its whole group must not reach us."""
    env = {name: value for name, value in {**os.environ, **spec.env}.items() if value is not None}
    with log.open("ab") as out:
        return subprocess.Popen(
            spec.argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509 we have one thread
        )


def _told_to_stop(engine: subprocess.Popen[bytes], owner: socket.socket, signals: socket.socket) -> bool:
    """Wait; return False when the engine has ended, True when the owner's end is closed or on a signal to stop."""
    asked = False
    while not _reap(engine):
        if asked:
            return True
        readable, _, _ = select.select([owner, signals], [], [])
        caught = signals.recv(4096) if signals in readable else b""
        asked = owner in readable or bool(STOPPING.intersection(caught))
    return False


def _terminate(engine: subprocess.Popen[bytes], signals: socket.socket, grace_s: float) -> None:
    """Ask the engine's main process to end, and give it `grace_s` seconds."""
    os.kill(engine.pid, signal.SIGTERM)  # it is not reaped, so the pid is still its own
    deadline = time.monotonic() + grace_s
    while not _reap(engine) and (left_s := deadline - time.monotonic()) > 0:
        if select.select([signals], [], [], left_s)[0]:
            signals.recv(4096)


def _kill_rest(engine: subprocess.Popen[bytes]) -> tuple[list[int], list[int]]:
    """
    Kill every descendant and reap it; return who was killed and who is left after KILL_S.

    We are their subreaper: an orphan becomes our child, so none leaves the tree.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + KILL_S
    _reap(engine)
    while (rest := psutil.Process().children(recursive=True)) and time.monotonic() < deadline:
        for process in rest:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if process.status() != psutil.STATUS_ZOMBIE:
                    process.kill()
                    killed.add(process.pid)
        time.sleep(POLL_S)
        _reap(engine)
    return sorted(killed), [process.pid for process in rest]


def _reap(engine: subprocess.Popen[bytes]) -> bool:
    """Collect every child that has ended, the engine's exit code where Popen keeps it; return whether it has ended."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == engine.pid:
                engine.returncode = os.waitstatus_to_exitcode(found[1])
    return engine.returncode is not None


def _signals() -> socket.socket:
    """Return a socket on which each caught signal arrives as a byte; none of them ends us any more."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    for number in (*STOPPING, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(theirs.detach(), warn_on_full_buffer=False)
    return ours


def _started(engine_pid: int) -> Started:
    supervisor, engine = psutil.Process(), psutil.Process(engine_pid)
    return Started(
        supervisor_pid=supervisor.pid,
        supervisor_created=supervisor.create_time(),
        engine_pid=engine.pid,
        engine_created=engine.create_time(),
    )


def _publish(path: Path, report: Any) -> None:  # noqa: ANN401 a dataclass has no type of its own
    """Write a report: a reader sees all of it or none."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(dataclasses.asdict(report), indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


if __name__ == "__main__":
    main(*sys.argv[1:])
