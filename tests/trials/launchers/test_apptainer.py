"""Apptainer's command line, and what its own end means."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from trials.engines import EngineNotFound, Failure, engine
from trials.launchers import LAUNCHERS, Job
from trials.launchers.apptainer import Apptainer
from trials.launchers.gpus import Gpus
from trials.supervisor import Ended, Spec, Started

APPTAINER = Apptainer()
JOB = Job(
    argv=["vllm", "serve"],
    env={"A": "1"},
    image="/images/vllm.sif",
    reads=(Path("/weights"),),
    folder=Path("/launch"),
    stop_s=60.0,
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an `apptainer` on PATH that tells its version."""
    found = tmp_path / "apptainer"
    found.write_text("#!/bin/sh\necho apptainer version 1.3.4\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return found


def test_values_are_in_the_clients_environment_under_names_that_pass_into_the_image(client: Path) -> None:
    spec = APPTAINER.spec(replace(JOB, env={"API_KEY": "secret"}))
    assert spec.argv[:2] == [str(client), "exec"]
    assert "secret" not in " ".join(spec.argv)
    assert spec.env == {"APPTAINERENV_API_KEY": "secret"}
    assert spec.state == []


@pytest.mark.usefixtures("client")
def test_a_variable_that_shall_not_be_is_taken_out_inside_the_image() -> None:
    spec = APPTAINER.spec(replace(JOB, env={"B": None}))
    assert spec.argv[-6:] == ["/images/vllm.sif", "env", "-u", "B", "vllm", "serve"]
    assert spec.env == {}


@pytest.mark.parametrize(
    ("found", "flags"),
    [(Gpus(rocm=(Path("/dev/kfd"),)), ["--rocm"]), (Gpus(nvidia=True), ["--nv"]), (Gpus(), [])],
)
def test_gpus_and_files_are_bound(found: Gpus, flags: list[str]) -> None:
    binds = ["--bind", "/weights:/weights:ro", "--bind", "/launch:/launch"]
    assert APPTAINER.options(JOB, found) == ["--cleanenv", "--no-home", *flags, *binds]


def test_its_own_fatal_words_are_the_worlds_fault() -> None:
    said = "INFO: one\nFATAL:   could not open image /images/vllm.sif: no such file\n"
    failure = APPTAINER.why(Ended(255, stopped=False), said)
    assert failure == Failure("world", "FATAL:   could not open image /images/vllm.sif: no such file")
    assert APPTAINER.why(Ended(255, stopped=False), "the engine's own") is None
    assert APPTAINER.why(Ended(1, stopped=False), said) is None


def test_a_listener_of_the_tree_is_ours() -> None:
    created = psutil.Process().create_time()
    me = Started(os.getpid(), created, os.getpid(), created)
    assert APPTAINER.owns({os.getpid()}, me, Spec([], {}, 0))
    assert not APPTAINER.owns({1}, me, Spec([], {}, 0))


@pytest.mark.usefixtures("client")
def test_what_would_run_is_the_images_content_and_the_client(tmp_path: Path) -> None:
    image = tmp_path / "vllm.sif"
    with pytest.raises(EngineNotFound, match=r"vllm.sif is not here: apptainer build "):
        APPTAINER.version(engine("vllm"), str(image), tmp_path)
    image.write_bytes(b"layers")
    digest = hashlib.sha256(b"layers").hexdigest()
    said = f"image {image} sha256 {digest} with apptainer version 1.3.4"
    assert LAUNCHERS["apptainer"].version(engine("vllm"), str(image), tmp_path) == said
    assert APPTAINER.version(engine("vllm"), str(tmp_path), tmp_path) == (
        f"image {tmp_path} with apptainer version 1.3.4"
    )


def test_a_client_that_does_not_run_is_none(client: Path, tmp_path: Path) -> None:
    client.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EngineNotFound, match="mend it, or choose another launcher"):
        APPTAINER.version(engine("vllm"), "vllm.sif", tmp_path)


def test_a_client_that_is_not_here_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineNotFound, match="apptainer is not here: install it"):
        APPTAINER.spec(JOB)
