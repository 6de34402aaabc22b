"""The supervisor as the program it is: what it starts, what it hears, what it leaves."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from trials import supervisor
from trials.supervisor import Ended, Spec, Started

SLEEP = ["/bin/sleep", "600"]


class Supervised:
    """A supervisor that runs, seen from its owner's side."""

    def __init__(
        self,
        folder: Path,
        argv: Sequence[str],
        *,
        env: Mapping[str, str | None] | None = None,
        stop_s: float = 5.0,
        **container: list[str],
    ) -> None:
        """Start it and wait until it says that the engine runs; `container` is what the spec says of one."""
        self.folder = folder
        spec = folder / "spec.json"
        spec.write_text(json.dumps(asdict(Spec(list(argv), env or {}, stop_s, **container))))
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(60)
        with theirs:
            program = [sys.executable, "-P", supervisor.__file__, str(spec), str(theirs.fileno())]
            subprocess.run(program, pass_fds=[theirs.fileno()], check=True, timeout=60)
        self.began = self.channel.recv(1)

    def started(self) -> Started:
        """Return its first report."""
        return Started(**json.loads((self.folder / supervisor.STARTED).read_text()))

    def ended(self) -> Ended:
        """Wait for its end and return its last report."""
        assert self.channel.recv(1) == b""
        self.channel.close()
        return Ended(**json.loads((self.folder / supervisor.ENDED).read_text()))

    def log(self) -> str:
        """Return what the engine printed."""
        return (self.folder / supervisor.LOG).read_text()


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_an_engine_that_ends_by_itself_is_reported_with_its_code(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, shell("echo out; echo err >&2; exit 3"))
    assert supervised.ended() == Ended(returncode=3, stopped=False, killed=[], left=[])
    assert supervised.log() == "out\nerr\n"


def test_an_engine_that_is_killed_is_reported_with_its_signal(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    os.kill(supervised.started().engine_pid, signal.SIGSEGV)
    assert supervised.ended().returncode == -signal.SIGSEGV


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, ["/no/such/engine"])
    assert supervised.began == b""
    assert supervised.ended().error == "cannot start /no/such/engine: No such file or directory"


def test_the_end_of_the_owner_stops_the_engine(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    supervised.channel.shutdown(socket.SHUT_WR)
    assert supervised.ended() == Ended(returncode=-signal.SIGTERM, stopped=True, killed=[], left=[])


@pytest.mark.parametrize("number", sorted(supervisor.STOPPING))
def test_a_signal_stops_the_engine_before_the_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    os.kill(supervised.started().supervisor_pid, number)
    assert supervised.ended() == Ended(returncode=-signal.SIGTERM, stopped=True, killed=[], left=[])


def test_an_engine_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, shell("trap '' TERM; while :; do sleep 0.1; done"), stop_s=0.3)
    engine = supervised.started().engine_pid
    supervised.channel.shutdown(socket.SHUT_WR)
    ended = supervised.ended()
    assert ended.returncode == -signal.SIGKILL
    assert engine in ended.killed


def test_a_second_call_to_stop_does_not_shorten_the_grace(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, shell("trap 'sleep 0.5; echo drained; exit 0' TERM; while :; do sleep 0.1; done"))
    pid = supervised.started().supervisor_pid
    supervised.channel.shutdown(socket.SHUT_WR)
    os.kill(pid, signal.SIGTERM)
    assert supervised.ended().returncode == 0
    assert supervised.log() == "drained\n"


def test_a_daemon_that_the_engine_leaves_behind_is_killed(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, shell("setsid sleep 600 & echo $!; exit 0"))
    (killed,) = supervised.ended().killed
    assert killed == int(supervised.log())
    assert not lives(killed)


def test_an_orphan_that_ends_while_the_engine_runs_is_no_zombie(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, shell("sh -c 'sleep 0.2 & echo $!'; exec sleep 600"))
    while not (line := supervised.log()).endswith("\n"):
        time.sleep(0.02)
    psutil.wait_procs([psutil.Process(pid) for pid in psutil.pids() if pid == int(line)], timeout=30)
    assert not psutil.pid_exists(int(line))
    supervised.channel.shutdown(socket.SHUT_WR)
    supervised.ended()


def test_the_engine_inherits_no_descriptor_but_its_own_three(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, [sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"])
    supervised.ended()
    assert supervised.log() == "['0', '1', '2', '3']\n"  # 3 is the listing itself


def test_the_supervisor_is_nobodys_child_and_has_a_session_of_its_own(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    process = psutil.Process(supervised.started().supervisor_pid)
    assert process.ppid() != os.getpid()
    assert os.getsid(process.pid) not in (os.getsid(0), os.getsid(supervised.started().engine_pid))
    supervised.channel.shutdown(socket.SHUT_WR)
    supervised.ended()


def test_variables_are_added_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOES", "1")
    monkeypatch.setenv("STAYS", "2")
    supervised = Supervised(tmp_path, shell("echo $GOES,$STAYS,$COMES"), env={"GOES": None, "COMES": "a b"})
    supervised.ended()
    assert supervised.log() == ",2,a b\n"


def test_an_engine_hears_of_the_death_of_its_supervisor(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    started = supervised.started()
    os.kill(started.supervisor_pid, signal.SIGKILL)
    assert supervised.channel.recv(1) == b""
    supervised.channel.close()
    psutil.wait_procs([psutil.Process(started.engine_pid)] if psutil.pid_exists(started.engine_pid) else [], timeout=30)
    assert not lives(started.engine_pid)
    assert not (tmp_path / supervisor.ENDED).exists()


RUNS, GONE = '{"Running": true}', '{"Running": false}'


def test_a_container_that_ended_is_removed_and_its_state_kept(tmp_path: Path) -> None:
    supervised = Supervised(
        tmp_path,
        shell("exit 7"),
        state=["/bin/echo", GONE],
        stop=shell("echo stopped >&2; exit 1"),
        remove=["/bin/touch", str(tmp_path / "removed")],
    )
    assert supervised.ended() == Ended(returncode=7, stopped=False, container={"Running": False})
    assert (tmp_path / "removed").exists()


def test_a_container_is_stopped_by_its_command_and_its_client_has_the_last_word(tmp_path: Path) -> None:
    supervised = Supervised(
        tmp_path,
        shell(f"while [ ! -e {tmp_path}/stopped ]; do sleep 0.02; done; sleep 0.2; echo last words"),
        state=["/bin/echo", RUNS],
        stop=["/bin/touch", str(tmp_path / "stopped")],
        remove=["/bin/true"],
    )
    supervised.channel.shutdown(socket.SHUT_WR)
    assert supervised.ended() == Ended(returncode=0, stopped=True, container={"Running": True})
    assert supervised.log() == "last words\n"


@pytest.mark.parametrize(
    ("said", "trouble"),
    [("Error: No such container: n", None), ("cannot connect to the daemon", "cannot connect to the daemon")],
)
def test_a_container_that_cannot_be_removed_is_told_unless_there_is_none(
    tmp_path: Path, said: str, trouble: str | None
) -> None:
    supervised = Supervised(
        tmp_path, shell("exit 1"), state=["/bin/false"], stop=["/bin/false"], remove=shell(f"echo '{said}' >&2; exit 1")
    )
    ended = supervised.ended()
    assert (ended.container, ended.trouble) == (None, trouble)


def test_a_client_has_its_input_open_for_as_long_as_the_supervisor_lives(tmp_path: Path) -> None:
    supervised = Supervised(
        tmp_path, shell("cat; echo ended"), state=["/bin/echo", GONE], stop=["/bin/true"], remove=["/bin/true"]
    )
    os.kill(supervised.started().supervisor_pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid) for pid in psutil.pids() if pid == supervised.started().engine_pid], 30)
    assert supervised.channel.recv(1) == b""
    supervised.channel.close()
    assert not lives(supervised.started().engine_pid)


def test_a_spec_is_locked_for_as_long_as_its_supervisor_lives(tmp_path: Path) -> None:
    supervised = Supervised(tmp_path, SLEEP)
    with (tmp_path / "spec.json").open("rb") as spec:
        with pytest.raises(BlockingIOError):
            fcntl.flock(spec, fcntl.LOCK_EX | fcntl.LOCK_NB)
        supervised.channel.shutdown(socket.SHUT_WR)
        supervised.ended()
        fcntl.flock(spec, fcntl.LOCK_EX)
