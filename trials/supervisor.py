"""
Own one engine: start it, stop it when its owner ends, and leave no process behind.

A program, `python supervisor.py SPEC.json OWNER_FD`. It makes itself nobody's child, so that nothing which reaps the
owner's children reaches it, and learns of the owner's end by end-of-file on OWNER_FD, one end of a socket pair; the
owner learns of its end by the same. It stands alone (the standard library and psutil) so that it stays small and keeps
working whatever the rest of the package imports. Every other descriptor it inherits, it holds until it ends.

An engine in a container is no descendant of ours: SPEC.json then says how to ask about it, stop it and remove it. While
we live we hold a lock on SPEC.json, so that a container whose lock is free is known to have lost its supervisor.
"""

import contextlib
import ctypes
import dataclasses
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

LOG, STARTED, ENDED = "engine.log", "supervisor.json", "exit.json"
KILL_S = 60.0  # a process in a driver call, or with much pinned memory, takes long to die, or does not
COMMAND_S = 30.0  # for a command to a container's daemon
NO_CONTAINER = "no such container"  # docker and podman
LAST_WORDS_S = 5.0  # of a container, until its client has passed them on
POLL_S = 0.02
STOPPING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


@dataclass(frozen=True)
class Spec:
    """
    What to run; SPEC.json is this, and its folder gets the log and the two reports.

    Attributes:
        argv: The engine, or the client of a container that ends when the container does. A client's standard input
            stays open for as long as we live.
        env: Added to the supervisor's own environment; None removes a name.
        stop_s: Seconds between SIGTERM and SIGKILL.
        state: Prints the container's state as JSON, with `Running`; fails if there is none. Empty without a container.
        stop: Ends the container within its grace, and SIGKILLs it then.
        remove: Removes the container, dead or alive.
    """

    argv: list[str]
    env: Mapping[str, str | None]
    stop_s: float
    state: list[str] = field(default_factory=list)
    stop: list[str] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)


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
        returncode: The engine's, or its client's; below 0 it is a signal; None if it never started or cannot be killed.
        stopped: True if the owner, its death or a signal made us end the engine, False if it ended by itself.
        killed: Pids that needed SIGKILL.
        left: Pids that even SIGKILL did not end: the machine needs a look.
        error: Why the engine could not be started at all.
        container: The state of the container when its client had ended or was to be stopped; None if there was none.
        trouble: What the container's daemon said when it could not remove it.
    """

    returncode: int | None
    stopped: bool
    killed: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    error: str | None = None
    container: Mapping[str, Any] | None = None
    trouble: str | None = None


def main(spec_path: str, owner_fd: str) -> None:
    """Detach, supervise, report."""
    path = Path(spec_path).absolute()
    spec = Spec(**json.loads(path.read_text(encoding="utf-8")))
    _detach()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    with _locked(path), socket.socket(fileno=int(owner_fd)) as owner:
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
        if stopped and not spec.state:
            os.kill(engine.pid, signal.SIGTERM)  # it is not reaped, so the pid is still its own
            _outwait(engine, signals, spec.stop_s)
    finally:
        container, trouble = _close(spec, engine, signals)
        killed, left = _kill_rest(engine)
    return Ended(engine.returncode, stopped, killed, left, container=container, trouble=trouble)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file, which the kernel drops however we end."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
            stdin=subprocess.PIPE if spec.state else subprocess.DEVNULL,
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


def _outwait(engine: subprocess.Popen[bytes], signals: socket.socket, within_s: float) -> None:
    """Give the engine's main process so many seconds to end."""
    deadline = time.monotonic() + within_s
    while not _reap(engine) and (left_s := deadline - time.monotonic()) > 0:
        if select.select([signals], [], [], left_s)[0]:
            signals.recv(4096)


def _close(
    spec: Spec, engine: subprocess.Popen[bytes], signals: socket.socket
) -> tuple[Mapping[str, Any] | None, str | None]:
    """Stop and remove the container, if there is one; return the state it was in, and why it is still there."""
    if not spec.state:
        return None, None
    code, said = _command(spec.state, COMMAND_S)
    state = json.loads(said) if code == 0 else None
    if state and state["Running"]:
        _command(spec.stop, spec.stop_s + KILL_S)
        _outwait(engine, signals, LAST_WORDS_S)
    code, said = _command(spec.remove, COMMAND_S)
    return state, said if code and NO_CONTAINER not in said.lower() else None


def _command(argv: list[str], within_s: float) -> tuple[int, str]:
    """Run a command to its end; return its exit code and what it said, or what became of it."""
    try:
        ran = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=within_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return ran.returncode, (ran.stdout if ran.returncode == 0 else ran.stderr).strip()


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
