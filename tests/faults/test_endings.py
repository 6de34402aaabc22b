"""However a Ray actor ends that owns an engine, the engine is asked first, has its grace, and is gone afterwards."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray

from autotune.dispatch import on_ray
from tests.fakes.actor import Owner
from tests.fakes.running import ENGINE
from trials.supervisor import Ended

DRAIN_S, STOP_S = 20.0, 30.0


def out_of_scope(actors: dict[str, Any]) -> None:
    """Drop the only handle."""
    del actors["out of scope"]


ENDINGS: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "return": lambda actors: actors["return"].leave.remote(),
    "exit_actor": lambda actors: actors["exit_actor"].exit_actor.remote(),
    "ray.kill": lambda actors: ray.kill(actors["ray.kill"]),
    "out of scope": out_of_scope,
    "SIGKILL": lambda actors: actors["SIGKILL"].kill_worker.remote(),
}

pytestmark = [pytest.mark.ray]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Start five owners and end each in its own way, side by side; return their folders when all engines ended."""
    home = tmp_path_factory.mktemp("endings")
    made = {ending: home / ending.replace(" ", "-") for ending in ENDINGS}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
        with on_ray():
            owner: Any = ray.remote(num_cpus=0)(Owner)
            flags = ("--drain", str(DRAIN_S), "--child")
            actors = {ending: owner.remote(made[ending], STOP_S, flags) for ending in ENDINGS}
            ray.get([actor.serve.remote() for actor in actors.values()], timeout=120)
            for end in ENDINGS.values():
                end(actors)
            wait_until_ended(made.values())
    return made


def wait_until_ended(folders: Collection[Path]) -> None:
    """Wait for each supervisor's last word."""
    deadline = time.monotonic() + STOP_S + 60
    while not all((folder / "exit.json").exists() for folder in folders) and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_engine_has_its_whole_grace_and_is_gone(folders: Mapping[str, Path], ending: str) -> None:
    log = (folders[ending] / "engine.log").read_text()
    engine, child = (int(line.split()[1]) for line in log.splitlines() if line.split()[0] in {"pid", "child"})
    assert log.endswith("SIGTERM: draining\ndrained\n")
    ended = Ended(**json.loads((folders[ending] / "exit.json").read_text()))
    assert ended == Ended(returncode=0, stopped=True, killed=[child], left=[])
    assert not any(psutil.pid_exists(pid) for pid in (engine, child))
