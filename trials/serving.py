"""An engine as a `with` block: started, proved to be ours and to serve, and stopped on every path."""

import contextlib
import json
import math
import select
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trials import supervisor
from trials.data import substitute
from trials.engines import Failure, engine
from trials.files import write_whole
from trials.launchers import CLIENTS, LAUNCHERS, Job
from trials.launchers.orphans import sweep
from trials.load.client import RequestFailed, complete, reported_models, text
from trials.log import Silence
from trials.ports import HOST, lease, listeners
from trials.supervisor import Ended, Spec, Started

START_S = 60.0  # for the supervisor, a small program, on a machine under load
MARGIN_S = 2 * supervisor.KILL_S + 20.0  # after the engine's own grace: SIGKILL, a slow daemon, and the report
SETTLE_S = 1.0  # a dying engine drops its connections before it is gone
POLL_S = 0.1
LOG_TAIL_BYTES = 1 << 20
PROBE = "The capital of France is"
PROBE_TOKENS = 4


class EngineFailed(Exception):
    """The engine did not serve, or ended before it was asked to."""

    def __init__(self, failure: Failure) -> None:
        """Keep the failure; the message is its reason."""
        super().__init__(f"{failure.kind}: {failure.reason}")
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """
    One start of one engine.

    Attributes:
        engine: A key of `trials.engines.ENGINES`.
        model: The id that the API must report.
        args: The recipe's flags, those of its layout too; `${name}` stands for a path of `files`.
        env: Added to our own environment; None removes a name.
        data_root: Where fetched engines are.
        folder: The launch's own, for its log, its command and its supervisor's reports.
        ready_s: Seconds from the start until it must have answered a completion.
        stop_s: Seconds between SIGTERM and SIGKILL.
        request_s: Seconds that one request may take.
        silent_s: Seconds that it may say nothing new while it starts, unless it is building something.
        launcher: A key of `trials.launchers.LAUNCHERS`.
        image: What the launcher runs it in; None for a bare process.
    """

    engine: str
    model: str
    args: tuple[str, ...]
    env: Mapping[str, str | None]
    files: Mapping[str, Path]
    data_root: Path
    folder: Path
    ready_s: float
    stop_s: float
    request_s: float
    silent_s: float = math.inf
    launcher: str = "process"
    image: str | None = None

    def spec(self, port: int, *, elsewhere: bool = False) -> Spec:
        """
        Return what the supervisor of this launch runs.

        Args:
            elsewhere: On another machine: name the engine's program by its plain name.

        Raises:
            EngineNotFound: The engine, or its launcher, is not on this machine.
        """
        how = LAUNCHERS[self.launcher]
        place = None if how.contained or elsewhere else self.data_root
        args = substitute(self.args, self.files)
        argv = engine(self.engine).argv(args, model=self.model, host=HOST, port=port, data_root=place)
        reads = tuple(path for path in (*self.files.values(), self.data_root) if path.exists())
        folder = self.folder.absolute()
        return how.spec(Job(argv=argv, env=self.env, image=self.image, reads=reads, folder=folder, stop_s=self.stop_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """
    A running engine.

    Attributes:
        url: Without `/v1`.
        started: Its processes.
        spec: What its supervisor runs.
    """

    url: str
    port: int
    model: str
    launch: Launch
    started: Started
    spec: Spec = field(repr=False)
    _supervisor: socket.socket = field(repr=False, compare=False)

    def said(self) -> str:
        """Return all that the engine has said so far of itself: its log, and its page of metrics where it has one."""
        log = (self.launch.folder / supervisor.LOG).read_text(encoding="utf-8", errors="replace")
        try:
            return f"{log}\n{text(f'{self.url}/metrics', timeout_s=self.launch.request_s)}"
        except RequestFailed:
            return log

    def failed(self, *, within_s: float = 0.0) -> Failure | None:
        """Return why the engine ended, as soon as it has; None if it still runs after `within_s` seconds."""
        ended, _, _ = select.select([self._supervisor], [], [], within_s)
        return _why(self.launch) if ended else None


@contextlib.contextmanager
def serving(launch: Launch) -> Iterator[Endpoint]:
    """
    Serve for the length of the block; leave no process behind, however the block or this process ends.

    Raises:
        EngineFailed: It was not ready in time or ended by itself. This wins over what the block raised because of it.
        EngineNotFound: The engine is not on this machine.
        FileExistsError: The folder holds another launch already.
    """
    if launch.launcher in CLIENTS and (trouble := sweep(launch.launcher, stop_s=launch.stop_s)):
        raise EngineFailed(Failure("world", trouble))
    with lease() as leased:
        (port,) = leased.ports
        spec = launch.spec(port)
        with _supervised(launch, spec, leased.fds) as (started, channel):
            endpoint = Endpoint(
                url=f"http://{HOST}:{port}",
                port=port,
                model=launch.model,
                launch=launch,
                started=started,
                spec=spec,
                _supervisor=channel,
            )
            _wait_until_ready(endpoint)
            try:
                yield endpoint
            except Exception as error:
                if failure := endpoint.failed(within_s=SETTLE_S):
                    raise EngineFailed(failure) from error
                raise


def command(argv: Sequence[str], env: Mapping[str, str | None]) -> str:
    """Return a bash script that runs `argv` under `env`, also when pasted."""
    unset = [word for name, value in env.items() if value is None for word in ("-u", name)]
    assigned = [f"{name}={value}" for name, value in env.items() if value is not None]
    return f"#!/usr/bin/env bash\n{shlex.join(['env', *unset, *assigned, *argv])}\n"


@contextlib.contextmanager
def _supervised(launch: Launch, spec: Spec, leased: Sequence[int]) -> Iterator[tuple[Started, socket.socket]]:
    """Run `spec` under a supervisor for the block; it hears of our end, and we of its, through a pair of sockets."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            _spawn(launch, spec, owner_fd=theirs.fileno(), leased=leased)
        try:
            yield _started(launch, ours), ours
        except BaseException as error:
            if trouble := _stop(launch, ours):
                error.add_note(trouble.reason)
            raise
        if trouble := _stop(launch, ours):
            raise EngineFailed(trouble)


def _spawn(launch: Launch, spec: Spec, *, owner_fd: int, leased: Sequence[int]) -> None:
    """Write down what will run and start the supervisor; it detaches, so that the program we wait for ends at once."""
    folder = launch.folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    if path.exists():
        raise FileExistsError(f"{folder} holds a launch already: give each launch a folder of its own")
    script = folder / "command.sh"
    write_whole(script, command(spec.argv, spec.env))
    script.chmod(0o755)
    write_whole(path, json.dumps(asdict(spec), indent=2) + "\n")
    program = [sys.executable, "-P", supervisor.__file__, str(path), str(owner_fd)]
    with (folder / "supervisor.log").open("ab") as log:
        subprocess.run(
            program,
            pass_fds=(owner_fd, *leased),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,  # the socket tells how it went
            timeout=START_S,
        )


def _started(launch: Launch, channel: socket.socket) -> Started:
    channel.settimeout(START_S)
    if not channel.recv(1):
        raise EngineFailed(_why(launch))
    return Started(**json.loads((launch.folder / supervisor.STARTED).read_text(encoding="utf-8")))


def _wait_until_ready(endpoint: Endpoint) -> None:
    """Return once the engine has proved itself; a crash is noticed at once, not at the deadline."""
    launch = endpoint.launch
    deadline = time.monotonic() + launch.ready_s
    silence = Silence(launch.folder / supervisor.LOG, engine(launch.engine).building)
    while shortfall := _shortfall(endpoint, timeout_s=min(launch.request_s, max(1.0, deadline - time.monotonic()))):
        if failure := endpoint.failed(within_s=POLL_S):
            raise EngineFailed(failure)
        if shortfall.kind == "world":
            raise EngineFailed(shortfall)
        if time.monotonic() > deadline:
            raise EngineFailed(Failure("stuck", f"not ready after {launch.ready_s:g} s: {shortfall.reason}"))
        if silence.lasts_s() > launch.silent_s:
            raise EngineFailed(Failure("stuck", f"no word for {launch.silent_s:g} s of its start: {shortfall.reason}"))


def _shortfall(endpoint: Endpoint, *, timeout_s: float) -> Failure | None:
    """Return what is missing for ready: `stuck` may still come, `world` never will. None is ready."""
    url, model = endpoint.url, endpoint.model
    if not _accepts(endpoint.port):
        return Failure("stuck", f"nothing listens at {url}")
    pids = listeners(endpoint.port)
    if not LAUNCHERS[endpoint.launch.launcher].owns(pids, endpoint.started, endpoint.spec):
        who = ", ".join(f"process {pid}" for pid in sorted(pids)) or "a process of somebody else"
        return Failure("world", f"{url} belongs to {who}, not to the engine: end it, or keep it off this port")
    try:
        models = reported_models(url, timeout_s=timeout_s)
        if model not in models:
            return Failure("world", f"{url} serves {', '.join(models) or 'no model'}, not {model}")
        answer = complete(url, model, PROBE, max_tokens=PROBE_TOKENS, timeout_s=timeout_s, ignore_eos=True)
    except RequestFailed as error:
        return Failure("stuck", str(error))
    return None if answer.completion_tokens else Failure("stuck", f"{url} answers a completion without a token")


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1.0):
            return True
    except OSError:
        return False


def _stop(launch: Launch, channel: socket.socket) -> Failure | None:
    """Stop the engine and wait until its supervisor has ended; return what is then still there."""
    channel.shutdown(socket.SHUT_WR)
    channel.settimeout(launch.stop_s + MARGIN_S)
    try:
        while channel.recv(1):
            continue
    except TimeoutError:
        return Failure("world", f"the engine's supervisor does not end: see {launch.folder}")
    ended = _ended(launch)
    if ended is None:  # killed: the container that it would have removed is an orphan now
        left = sweep(launch.launcher, stop_s=launch.stop_s) if launch.launcher in CLIENTS else None
        return Failure("world", left) if left else _why(launch)
    if ended.left:
        return Failure("world", f"SIGKILL does not end processes {', '.join(map(str, ended.left))}: look at the driver")
    return Failure("world", f"a container may be left: {ended.trouble}") if ended.trouble else None


def _why(launch: Launch) -> Failure:
    """Return why an engine ended whose supervisor has ended, and that we did not stop."""
    ended = _ended(launch)
    if ended is None:
        return Failure("world", f"the engine's supervisor died: see {launch.folder / 'supervisor.log'}")
    if ended.error:
        return Failure("world", ended.error)
    if ended.stopped:
        return Failure("world", "stopped from outside: its supervisor was sent a signal")
    log = _log_tail(launch.folder / supervisor.LOG)
    if failure := LAUNCHERS[launch.launcher].why(ended, log):
        return failure
    failure = engine(launch.engine).explain(log, ended.returncode)
    if ended.returncode == 0 and ended.killed:
        left = f"{len(ended.killed)} process{'es' if len(ended.killed) > 1 else ''}"
        return Failure(
            failure.kind, f"{failure.reason}; it left {left} behind, now ended: an engine must stay in the foreground"
        )
    return failure


def _ended(launch: Launch) -> Ended | None:
    try:
        return Ended(**json.loads((launch.folder / supervisor.ENDED).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _log_tail(path: Path) -> str:
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
        return log.read().decode(errors="replace")
