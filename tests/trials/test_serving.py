"""An engine as a `with` block: proved before it is used, explained when it fails, gone afterwards."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from trials.data import data_root
from trials.engines import EngineNotFound, Failure
from trials.engines.llamacpp import program
from trials.load.client import complete, reported_models
from trials.ports import HOST
from trials.serving import EngineFailed, Launch, command, serving

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests/fakes"

Launches = Callable[..., Launch]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    """Return a launch of the fake engine with these flags."""
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(FAKES / "engine.py"))

    def launch(
        *args: str,
        ready_s: float = 60.0,
        stop_s: float = 10.0,
        request_s: float = 10.0,
        silent_s: float = math.inf,
    ) -> Launch:
        return Launch(
            engine="llamacpp",
            model="m",
            args=args,
            env={},
            files={},
            data_root=tmp_path,
            folder=tmp_path / "launch",
            ready_s=ready_s,
            stop_s=stop_s,
            request_s=request_s,
            silent_s=silent_s,
        )

    return launch


def log(launch: Launch) -> str:
    """Return what the engine printed."""
    return (launch.folder / "engine.log").read_text()


def pids(launch: Launch) -> list[int]:
    """Return every process that the fake engine says it is or has left."""
    lines = [line.split() for line in log(launch).splitlines()]
    return [int(words[1]) for words in lines if words[0] in {"pid", "child", "orphan"}]


def exited(launch: Launch) -> dict[str, object]:
    """Return the supervisor's last report."""
    report: dict[str, object] = json.loads((launch.folder / "exit.json").read_text())
    return report


def living(numbers: list[int]) -> list[int]:
    """Return those that still run."""
    return [pid for pid in numbers if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def failure_of(launch: Launch) -> Failure:
    """Serve in vain and return why."""
    with pytest.raises(EngineFailed) as caught, serving(launch):
        pass
    assert not living(pids(launch))
    return caught.value.failure


def test_an_endpoint_serves_the_model_for_the_length_of_the_block(fake: Launches) -> None:
    launch = fake()
    with serving(launch) as endpoint:
        assert reported_models(endpoint.url, timeout_s=10) == ("m",)
        assert complete(endpoint.url, endpoint.model, "1 + 1 =", max_tokens=2, timeout_s=10).completion_tokens == 2
        assert endpoint.failed() is None
        assert endpoint.started.engine_pid == pids(launch)[0]
    assert not living(pids(launch))


def test_a_crash_is_noticed_before_the_deadline(fake: Launches) -> None:
    failure = failure_of(fake("--say", "boom", "--exit-at-start", "3", ready_s=100_000))
    assert failure == Failure("unknown", "exited with code 3; its last words: boom")


def test_an_engine_without_memory_is_explained_in_its_own_words(fake: Launches) -> None:
    words = "failed to initialize the context: failed to allocate buffer for kv cache"
    assert failure_of(fake("--say", f"E llama: {words}", "--exit-at-start", "1")) == Failure("memory", words)


def test_an_engine_that_never_listens_is_stuck(fake: Launches) -> None:
    failure = failure_of(fake("--never-listen", ready_s=0.5))
    assert failure.kind == "stuck"
    assert failure.reason.startswith("not ready after 0.5 s: nothing listens at http://127.0.0.1:")


def test_an_engine_that_says_nothing_more_is_stuck_long_before_its_deadline(fake: Launches) -> None:
    failure = failure_of(fake("--never-listen", ready_s=100_000, silent_s=0.5))
    assert failure.kind == "stuck"
    assert failure.reason.startswith("no word for 0.5 s of its start: nothing listens at http://127.0.0.1:")


def test_an_engine_that_is_building_something_may_be_silent_until_its_deadline(fake: Launches) -> None:
    builds = "ggml_metal_library_compile_pipeline: compiling pipeline: base = 'kernel_mul_mv'"
    failure = failure_of(fake("--never-listen", "--say", builds, ready_s=2, silent_s=0.5))
    assert failure.reason.startswith("not ready after 2 s: ")


def test_a_healthy_engine_that_answers_no_completion_is_stuck(fake: Launches) -> None:
    failure = failure_of(fake("--hang-completions", ready_s=1, request_s=0.5))
    assert failure.kind == "stuck"
    assert "/v1/completions: " in failure.reason


def test_another_model_id_is_the_worlds_fault_and_named(fake: Launches) -> None:
    failure = failure_of(fake("--report-model", "other"))
    assert failure.kind == "world"
    assert failure.reason.endswith(" serves other, not m")


def test_a_stranger_on_the_port_is_the_worlds_fault_and_named(fake: Launches) -> None:
    launch = fake("--never-listen")
    servers = []

    def squat() -> None:
        started = launch.folder / "supervisor.json"
        while not started.exists():
            time.sleep(0.01)
        argv = json.loads((launch.folder / "spec.json").read_text())["argv"]
        servers.append(socket.create_server((HOST, int(argv[-1]))))

    stranger = threading.Thread(target=squat)
    stranger.start()
    failure = failure_of(launch)
    stranger.join()
    servers[0].close()
    assert failure.kind == "world"
    assert f"belongs to process {os.getpid()}, not to the engine" in failure.reason


def test_the_death_of_the_engine_wins_over_what_the_block_raised_because_of_it(fake: Launches) -> None:
    launch = fake("--exit-on-completion", "2")
    with pytest.raises(EngineFailed) as caught, serving(launch) as endpoint:
        complete(endpoint.url, endpoint.model, "1 + 1 =", max_tokens=2, timeout_s=10)
    assert caught.value.failure.kind == "unknown"
    assert caught.value.failure.reason.startswith("killed by signal 9")
    assert "/v1/completions" in str(caught.value.__cause__)


def test_what_the_block_raises_passes_while_the_engine_lives(fake: Launches) -> None:
    launch = fake()
    with pytest.raises(ZeroDivisionError), serving(launch):
        _ = 1 / 0
    assert not living(pids(launch))


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_stops_the_engine_and_passes(fake: Launches, leaving: type[BaseException]) -> None:
    launch = fake()
    with pytest.raises(leaving), serving(launch):
        raise leaving
    assert not living(pids(launch))


def test_an_engine_may_drain_after_sigterm(fake: Launches) -> None:
    launch = fake("--drain", "1")
    with serving(launch):
        pass
    assert log(launch).endswith("SIGTERM: draining\ndrained\n")
    assert exited(launch)["killed"] == []


def test_an_engine_that_ignores_sigterm_is_killed_after_its_grace(fake: Launches) -> None:
    launch = fake("--ignore-sigterm", stop_s=0.3)
    with serving(launch):
        pass
    assert exited(launch)["killed"] == pids(launch)
    assert not living(pids(launch))


def test_a_signal_to_the_supervisor_is_not_the_engines_fault(fake: Launches) -> None:
    with serving(fake()) as endpoint:
        os.kill(endpoint.started.supervisor_pid, signal.SIGTERM)
        assert endpoint.failed(within_s=30) == Failure(
            "world", "stopped from outside: its supervisor was sent a signal"
        )


def test_the_death_of_the_supervisor_is_the_worlds_fault(fake: Launches) -> None:
    launch = fake()
    with pytest.raises(EngineFailed) as caught, serving(launch) as endpoint:
        os.kill(endpoint.started.supervisor_pid, signal.SIGKILL)
    died = Failure("world", f"the engine's supervisor died: see {launch.folder}/supervisor.log")
    assert caught.value.failure == died


def test_a_missing_engine_is_not_a_failure_of_the_config(fake: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = fake()
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", "/no/such/program")
    with pytest.raises(EngineNotFound), serving(launch):
        pass


def test_a_program_that_cannot_be_executed_is_the_worlds_fault(
    fake: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "llama-server"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    launch = fake()
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(broken))
    with pytest.raises(EngineFailed, match=f"world: cannot start {broken}: No such file"), serving(launch):
        pass


def test_a_folder_holds_one_launch(fake: Launches) -> None:
    launch = fake("--exit-at-start", "0")
    failure_of(launch)
    with pytest.raises(FileExistsError, match="give each launch a folder of its own"), serving(launch):
        pass


def test_the_command_that_runs_is_kept(fake: Launches) -> None:
    launch = replace(fake("--say-env", "WORDS", "--exit-at-start", "0"), env={"WORDS": "two words", "HOME": None})
    failure_of(launch)
    again = subprocess.run([launch.folder / "command.sh"], capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[1:] == log(launch).splitlines()[1:] == ["WORDS=two words"]


def test_references_to_files_become_paths(fake: Launches, tmp_path: Path) -> None:
    launch = replace(fake("--say", "${weights}", "--exit-at-start", "0"), files={"weights": tmp_path / "w"})
    assert failure_of(launch).reason.endswith(str(tmp_path / "w"))


def test_a_pasted_command_means_the_same_to_bash() -> None:
    hostile = ["a b", "$HOME", "`id`", "it's", '"', "*", "", "a\nb", "--x={y}", "!!"]
    show = "import os, sys, json; print(json.dumps([sys.argv[1:], os.environ['E'], 'HOME' in os.environ]))"
    script = command([sys.executable, "-c", show, *hostile], {"E": "v w; exit", "HOME": None})
    ran = subprocess.run(["/bin/bash"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [hostile, "v w; exit", False]


@pytest.fixture
def owner(fake: Launches) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], Launch]]]:
    """Return a function that starts another process as the owner of a fake engine with a child and a daemon."""
    owners = []

    def start(ending: str) -> tuple[subprocess.Popen[str], Launch]:
        launch = fake()
        argv = [
            sys.executable,
            str(FAKES / "owner.py"),
            str(launch.folder),
            ending,
            "--drain",
            "0.5",
            "--child",
            "--orphan",
        ]
        process = subprocess.Popen(
            argv,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        owners.append(process)
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        return process, launch

    yield start
    for process in owners:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("ending", "number", "returncode"),
    [
        pytest.param("return", None, 0, id="returns"),
        pytest.param("raise", None, 1, id="raises"),
        pytest.param("exit", None, 7, id="calls sys.exit"),
        pytest.param("hang", signal.SIGINT, -signal.SIGINT, id="is interrupted"),
        pytest.param("hang", signal.SIGTERM, -signal.SIGTERM, id="is terminated"),
        pytest.param("hang", signal.SIGKILL, -signal.SIGKILL, id="is killed"),
    ],
)
def test_however_its_owner_ends_an_engine_drains_and_leaves_nothing(
    owner: Callable[[str], tuple[subprocess.Popen[str], Launch]],
    ending: str,
    number: signal.Signals | None,
    returncode: int,
) -> None:
    process, launch = owner(ending)
    if number:
        process.send_signal(number)
    assert process.wait(60) == returncode
    report = launch.folder / "exit.json"
    while not report.exists():
        time.sleep(0.02)
    assert "SIGTERM: draining\ndrained\n" in log(launch)
    engine, *left_behind = pids(launch)
    assert exited(launch)["returncode"] == 0
    assert exited(launch)["killed"] == sorted(left_behind)
    assert not living([engine, *left_behind])


@pytest.fixture
def real(tmp_path: Path) -> Launch:
    """Return a launch of the demo's llama.cpp with SmolLM2."""
    try:
        program(data_root())
    except EngineNotFound as error:
        pytest.skip(str(error))
    weights = next(data_root().rglob("SmolLM2*.gguf"), None)
    if weights is None:
        pytest.skip(f"no SmolLM2 in {data_root()}: run `autotune fetch demo`")
    return Launch(
        engine="llamacpp",
        model="smollm2",
        args=("-m", "${weights}", "-c", "256", "-np", "1", "-t", "2", "--poll", "0"),
        env={},
        files={"weights": weights},
        data_root=data_root(),
        folder=tmp_path / "launch",
        ready_s=120,
        stop_s=30,
        request_s=60,
    )


@pytest.mark.engine
def test_the_real_llamacpp_serves_and_goes(real: Launch) -> None:
    with serving(real) as endpoint:
        assert complete(endpoint.url, endpoint.model, "1 + 1 =", max_tokens=4, timeout_s=60).text
    assert exited(real) | {"returncode": 0, "killed": []} == exited(real)


@pytest.mark.engine
def test_the_real_llamacpp_refuses_a_quantized_v_cache_without_flash_attention(real: Launch) -> None:
    refused = replace(real, args=(*real.args, "-fa", "off", "-ctv", "q4_0"))
    with pytest.raises(EngineFailed) as caught, serving(refused):
        pass
    assert caught.value.failure == Failure("refused", "quantized V cache requires flash_attn to be enabled")
