"""Is this machine fit: each check on real files, processes and limits, and how to mend what it finds."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import IO

import psutil
import pytest

from autotune.doctor import (
    GIB,
    OTHER_FILES,
    Finding,
    Level,
    Site,
    Unfit,
    chosen_once,
    examine,
    found_engine,
    found_files,
    free_ports,
    intact_files,
    left_containers,
    left_engines,
    load_average,
    memory,
    open_files,
    refuse_unfit,
    room,
    unsourced,
    versions,
    writable,
)
from search_spaces import File, SearchSpace
from tests.autotune.drivers import begun, driven
from tests.conftest import Autotune
from tests.fakes.docked import containers, docked
from tests.fakes.running import ENGINE
from trials.engines import ENGINES
from trials.launchers.container import LABEL
from trials.supervisor import ENDED, STARTED, Ended, Started

UNFIT = 3
WEIGHTS = b"GGUF"

Weighed = Callable[..., SearchSpace]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return where a study of a test would run."""
    return Site(studies=tmp_path / "studies", data_root=tmp_path / "data", space_folder=tmp_path)


@pytest.fixture
def weighed(tmp_path: Path, small: SearchSpace) -> Weighed:
    """Return a function that gives a space with weights of four bytes beside it, known by a sha256 or not."""
    (tmp_path / "weights.gguf").write_bytes(WEIGHTS)

    def space(digest: str | None = None) -> SearchSpace:
        files = {"weights": File(space="weights.gguf", sha256=digest)}
        return small.model_copy(update={"target": small.target.model_copy(update={"files": files})})

    return space


@pytest.fixture
def limit() -> Iterator[int]:
    """Lower the limit of open files for a test."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowered = OTHER_FILES + 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowered, before[1]))
    yield lowered
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def opened(path: Path) -> IO[bytes]:
    """Open a file."""
    return path.open("rb")


def levels(findings: Iterator[Finding]) -> list[Level]:
    """Return how bad findings are."""
    return [finding.level for finding in findings]


def test_this_environment_has_what_it_asks_for() -> None:
    (found,) = versions()
    assert found.level == "ok"
    assert "Python 3." in found.what
    assert "optuna 5." in found.what


def test_an_engine_that_is_here_is_named(small: SearchSpace, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
    found = found_engine(small, site)
    assert (found.level, found.what.split(" sha256 ")[0]) == ("ok", str(ENGINE))


def test_an_engine_that_is_missing_is_unfit_and_says_how_to_get_it(
    small: SearchSpace, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOTUNE_LLAMA_SERVER", raising=False)
    monkeypatch.setenv("PATH", "")
    found = found_engine(small, site)
    assert (found.level, found.check) == ("unfit", "engine")
    assert found.what.startswith("llama.cpp is not here")
    assert found.mend.startswith("run `autotune fetch demo`")


def test_an_image_that_is_gone_is_found_before_a_study_begins(
    small: SearchSpace, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = small.target.model_copy(update={"launcher": "docker", "image": "absent"})
    with docked(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found = found_engine(small.model_copy(update={"target": target}), site)
    assert (found.level, found.mend) == ("unfit", "docker pull absent")


def test_a_file_that_is_there_is_weighed_and_one_that_is_missing_is_unfit(
    weighed: Weighed, site: Site, tmp_path: Path
) -> None:
    space = weighed()
    (found,) = found_files(space, site)
    assert (found.level, found.what) == ("ok", "file 'weights': 0.0 MiB")
    (tmp_path / "weights.gguf").unlink()
    (missing,) = found_files(space, site)
    assert missing.level == "unfit"
    assert "weights.gguf does not exist" in missing.what


def test_a_files_content_is_what_the_space_says_or_unfit(weighed: Weighed, site: Site) -> None:
    assert levels(intact_files(weighed(sha256(WEIGHTS).hexdigest()), site, opened)) == ["ok"]
    (changed,) = intact_files(weighed("0" * 64), site, opened)
    assert (changed.level, changed.mend) == ("unfit", "remove it and fetch it again")
    assert f"has sha256 {sha256(WEIGHTS).hexdigest()}, the space says {'0' * 64}" in changed.what


def test_a_file_without_a_sha256_is_not_read(weighed: Weighed, site: Site) -> None:
    assert levels(intact_files(weighed(), site, opened)) == []


def test_weights_larger_than_the_memory_are_unfit(weighed: Weighed, site: Site, tmp_path: Path) -> None:
    space = weighed()
    assert levels(memory(space, site)) == ["ok"]
    with (tmp_path / "weights.gguf").open("ab") as weights:
        weights.truncate(psutil.virtual_memory().total + 1)  # a hole, no bytes on the disk
    assert levels(memory(space, site)) == ["unfit"]


def test_the_memory_of_a_machine_with_devices_is_not_the_limit(weighed: Weighed, site: Site) -> None:
    space = weighed()
    on_device = space.model_copy(update={"target": space.target.model_copy(update={"hardware": "mi355x"})})
    assert levels(memory(on_device, site)) == []


def test_a_limit_of_open_files_below_the_concurrency_is_unfit(small: SearchSpace, limit: int) -> None:
    found = open_files(small)
    needed = small.gates[0].at_once(small.workload.concurrency, early=False) + OTHER_FILES
    assert found.words == f"{limit} files may be open at once, the space needs {needed}: ulimit -n {needed}"


def test_a_folder_that_cannot_be_written_is_unfit(tmp_path: Path) -> None:
    assert writable(tmp_path / "not" / "yet").level == "ok"
    assert writable(Path("/proc/studies")).words.startswith("/proc can't be written: ")


@pytest.mark.parametrize(("free", "level"), [(10 * GIB, "ok"), (4 * GIB, "warn"), (GIB - 1, "unfit")])
def test_a_disk_is_fit_by_what_is_free_on_it(free: int, level: Level) -> None:
    found = room(free, Path("studies"), "--studies")
    assert (found.level, "--studies" in found.mend) == (level, level != "ok")


@pytest.mark.parametrize(("load", "level"), [(0.4, "ok"), (1.9, "warn")])
def test_a_busy_machine_is_warned_of(load: float, level: Level) -> None:
    assert load_average(load, 2).level == level


def test_an_engine_finds_a_port() -> None:
    assert free_ports().level == "ok"


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({}, "ok"),
        ({"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": None}, "ok"),
        ({"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1"}, "ok"),
        ({"HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"}, "unfit"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "1"}, "unfit"),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, "unfit"),
    ],
)
def test_gpus_that_are_chosen_twice_are_unfit(env: Mapping[str, str | None], level: Level) -> None:
    assert chosen_once(env).level == level


def test_a_space_that_chooses_gpus_after_the_environment_did_is_unfit(
    small: SearchSpace, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "1")
    serve = small.serve.model_copy(update={"env": {"HIP_VISIBLE_DEVICES": "1"}})
    (found,) = (one for one in examine(small.model_copy(update={"serve": serve}), site) if one.check == "devices")
    assert found.words == (
        "the GPUs to use are chosen twice (ROCR_VISIBLE_DEVICES=1, HIP_VISIBLE_DEVICES=1): set one of "
        "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES"
    )


def test_an_engine_without_a_driver_is_reported_with_its_folder(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    launch = study.new_trial(0, small.baseline, "f")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as engine:
        created = psutil.Process(engine.pid).create_time()
        started = Started(supervisor_pid=1, supervisor_created=0.0, engine_pid=engine.pid, engine_created=created)
        (launch / STARTED).write_text(json.dumps(asdict(started)))
        (found,) = left_engines(study.root.parent)
        with driven(study):
            assert levels(left_engines(study.root.parent)) == ["ok"]
        (launch / ENDED).write_text(json.dumps(asdict(Ended(returncode=0, stopped=True))))
        assert levels(left_engines(study.root.parent)) == ["ok"]
        engine.kill()
    assert (found.level, f"engine {engine.pid} of {launch}" in found.what) == ("warn", True)


def test_a_container_without_its_supervisor_is_reported_with_how_to_remove_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "launch/spec.json"
    spec.parent.mkdir()
    spec.touch()
    with docked(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert list(left_containers()) == []
        run = ["docker", "run", "--name", "n", "--label", f"{LABEL}={spec}", "any", "sleep", "600"]
        with subprocess.Popen(run) as client:
            while not containers():
                client.poll()
            (found,) = left_containers()
            subprocess.run(found.mend.split(), check=True)
    assert found.what.endswith(f" of {spec.parent} runs, its supervisor does not")
    assert found.level == "warn"


def test_every_log_line_of_the_adapters_has_a_source_or_is_named() -> None:
    assert levels(unsourced()) == ["ok"] * len(ENGINES)


def test_the_facts_are_told_by_the_command(autotune: Autotune, tmp_path: Path) -> None:
    told = autotune("doctor", "--facts", cwd=tmp_path)
    assert told.returncode == 0
    assert "vllm: " in told.stdout
    assert "log lines, each with its source" in told.stdout


def test_an_engine_that_has_ended_is_not_left(tmp_path: Path, small: SearchSpace) -> None:
    study = begun(tmp_path, small)
    started = Started(supervisor_pid=1, supervisor_created=0.0, engine_pid=1, engine_created=0.0)
    (study.new_trial(0, small.baseline, "f") / STARTED).write_text(json.dumps(asdict(started)))
    assert levels(left_engines(study.root.parent)) == ["ok"]


def test_the_first_unfit_finding_is_refused_in_its_own_words_and_warnings_are_returned() -> None:
    warning = Finding("warn", "load", "load average 9", "end other programs")
    fine = Finding("ok", "ports", "free ones")
    assert refuse_unfit([fine, warning]) == [warning]
    with pytest.raises(Unfit, match=r"^1 GiB are free: free some$"):
        refuse_unfit([warning, Finding("unfit", "disk", "1 GiB are free", "free some")])


def test_without_a_space_only_the_machine_is_examined(site: Site) -> None:
    checks = {finding.check for finding in examine(None, site)}
    assert checks == {"versions", "devices", "folder", "disk", "ports", "leftovers", "load"}


def test_a_missing_engine_and_file_are_said_by_the_doctor_and_refused_by_a_study_in_the_same_words(
    autotune: Autotune, tmp_path: Path
) -> None:
    nowhere = {"AUTOTUNE_DATA": str(tmp_path / "empty"), "PATH": ""}
    examined = autotune("doctor", "demo", "--json", cwd=tmp_path, **nowhere)
    assert examined.returncode == UNFIT
    unfit = [found for found in map(json.loads, examined.stdout.splitlines()) if found["level"] == "unfit"]
    assert [found["check"] for found in unfit] == ["engine", "files"]
    assert examined.stderr == "autotune: this machine is unfit: engine, files; the lines above say how to mend it\n"
    refused = autotune("study", "demo", cwd=tmp_path, **nowhere)
    assert refused.returncode == UNFIT
    assert refused.stderr == f"autotune: {unfit[0]['what']}: {unfit[0]['mend']}\n"


def test_a_foreign_owner_of_our_packages_and_a_library_that_is_too_old_are_unfit(
    autotune: Autotune, tmp_path: Path
) -> None:
    distribution(tmp_path, "evals", "0.1", "evals\n")
    distribution(tmp_path, "httpx", "0.1", "httpx\n")
    ran = autotune("doctor", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert ran.returncode == UNFIT
    assert "unfit packages    package 'evals' belongs to evals too: install autotune-serve into a virtual" in ran.stdout
    assert "unfit versions    httpx is 0.1, not <1,>=0.28: pip install 'httpx<1,>=0.28'" in ran.stdout


def distribution(folder: Path, name: str, version: str, top_level: str) -> None:
    """Install the metadata of a distribution into a folder."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "top_level.txt").write_text(top_level)
