"""Is this machine fit for a study? Each check is a small function that returns findings."""

import os
import platform
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError, metadata, packages_distributions, requires, version
from pathlib import Path
from typing import IO, Literal

import psutil
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autotune.folder import StudyFolder
from autotune.leftovers import leftovers
from search_spaces import SearchSpace, resolve
from trials.data import DataMissing, locate
from trials.engines import ENGINES, EngineNotFound, engine
from trials.engines.adapter import Building, Pattern, Reading
from trials.launchers import CLIENTS, LAUNCHERS
from trials.launchers.orphans import orphans
from trials.load.selftest import SelfTest
from trials.ports import NoFreePort, lease
from trials.telemetry import VISIBLE

OURS = "autotune-serve"
PACKAGES = ("evals", "search_spaces", "trials")
PORTS = 2  # for an engine that runs and one that still ends
MIB, GIB = 1 << 20, 1 << 30
LITTLE_DISK, TOO_LITTLE_DISK = 5 * GIB, 1 * GIB
OTHER_FILES = 256  # open in a driver or an engine beside one connection a request
QUIET = 0.25  # load average a processor above which a measurement may see another program

Level = Literal["ok", "warn", "unfit"]
Opener = Callable[[Path], AbstractContextManager[IO[bytes]]]


class Unfit(Exception):
    """This environment can't run a study; the message says how to mend it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What a check found.

    Attributes:
        check: What was looked at.
        mend: How to mend it; empty where nothing is to be mended.
    """

    level: Level
    check: str
    what: str
    mend: str = ""

    @property
    def words(self) -> str:
        """What was found and how to mend it."""
        return f"{self.what}: {self.mend}" if self.mend else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """
    Where a study is to run.

    Attributes:
        studies: Folder of all studies; it need not exist yet.
        data_root: Where fetched weights and engines are.
        space_folder: Where files that stand beside the space file are.
    """

    studies: Path
    data_root: Path
    space_folder: Path = Path()


def refuse_unfit(findings: Iterable[Finding]) -> list[Finding]:
    """
    Return what may disturb a study, and refuse what would spoil it.

    Raises:
        Unfit: At the first finding of that level, with its words.
    """
    warnings = []
    for finding in findings:
        if finding.level == "unfit":
            raise Unfit(finding.words)
        if finding.level == "warn":
            warnings.append(finding)
    return warnings


def examine(space: SearchSpace | None, site: Site) -> Iterator[Finding]:
    """Yield what a study should know before it starts; takes a second at most."""
    yield from foreign_packages()
    yield from versions()
    if space:
        yield found_engine(space, site)
        yield from found_files(space, site)
        yield from memory(space, site)
        yield open_files(space)
    yield writable(site.studies)
    yield from disk(site)
    yield free_ports()
    yield chosen_once({**os.environ, **(resolve(space, space.baseline).serve.env if space else {})})
    yield from left_engines(site.studies)
    yield from left_containers()
    yield load_average(os.getloadavg()[0], os.cpu_count() or 1)


def foreign_packages() -> Iterator[Finding]:
    """Yield each of our packages' names that another distribution owns too: pip lets it overwrite our files."""
    owners = packages_distributions()
    for package in PACKAGES:
        if foreign := sorted(set(owners.get(package, ())) - {OURS}):
            yield Finding(
                "unfit",
                "packages",
                f"package {package!r} belongs to {', '.join(foreign)} too",
                "install autotune-serve into a virtual environment of its own, or pip uninstall "
                f"{foreign[0]} and install autotune-serve again",
            )


def versions() -> Iterator[Finding]:
    """Yield what is not in the range that is asked for, of Python and the libraries; all of them if nothing is."""
    python = metadata(OURS)["Requires-Python"]
    found = [_version("Python", platform.python_version(), SpecifierSet(python), f"use Python {python}")]
    for line in requires(OURS) or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate():
            found.append(_library(wanted))
    unfit = [finding for finding in found if finding.level == "unfit"]
    yield from unfit or [Finding("ok", "versions", ", ".join(finding.what for finding in found))]


def _library(wanted: Requirement) -> Finding:
    mend = f"pip install '{wanted.name}{wanted.specifier}'"
    try:
        return _version(wanted.name, version(wanted.name), wanted.specifier, mend)
    except PackageNotFoundError:
        return Finding("unfit", "versions", f"{wanted.name} is not installed", mend)


def _version(name: str, installed: str, wanted: SpecifierSet, mend: str) -> Finding:
    if wanted.contains(installed, prereleases=True):
        return Finding("ok", "versions", f"{name} {installed}")
    return Finding("unfit", "versions", f"{name} is {installed}, not {wanted}", mend)


def found_engine(space: SearchSpace, site: Site) -> Finding:
    """Return which program would serve the space."""
    try:
        how, target = LAUNCHERS[space.target.launcher], space.target
        return Finding("ok", "engine", how.version(engine(target.engine), target.image, site.data_root))
    except EngineNotFound as error:
        return _unfit("engine", error)


def found_files(space: SearchSpace, site: Site) -> Iterator[Finding]:
    """Yield each file of the space: it is there, or how to get it."""
    for name, file in space.target.files.items():
        try:
            found = locate({name: file}, space_folder=site.space_folder, data_root=site.data_root)
        except DataMissing as error:
            yield _unfit("files", error)
        else:
            yield Finding("ok", "files", f"file {name!r}: {_shown(_size(found[name]))}")


def intact_files(space: SearchSpace, site: Site, opened: Opener) -> Iterator[Finding]:
    """
    Yield whether each file of the space that is there has the content it is known by.

    Args:
        opened: Opens a file; one that is large is read for minutes, and may show how far.
    """
    for name, file in space.target.files.items():
        path = file.locate(data_root=site.data_root, space_folder=site.space_folder)
        if not (file.sha256 and path.is_file()):
            continue
        with opened(path) as content:
            sha256 = file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # asks for more than it uses
        if sha256 == file.sha256:
            yield Finding("ok", "sha256", f"file {name!r}: as the space says")
        else:
            what = f"file {name!r}: {path} has sha256 {sha256}, the space says {file.sha256}"
            yield Finding("unfit", "sha256", what, "remove it and fetch it again")


def memory(space: SearchSpace, site: Site) -> Iterator[Finding]:
    """Yield the machine's memory against the size of the space's files, where an engine keeps them in it."""
    if space.target.hardware != "cpu":
        return
    paths = [f.locate(data_root=site.data_root, space_folder=site.space_folder) for f in space.target.files.values()]
    needed, machine = sum(_size(path) for path in paths), psutil.virtual_memory()
    what = f"{_shown(machine.available)} of {_shown(machine.total)} are free, the files alone are {_shown(needed)}"
    if needed > machine.total:
        yield Finding("unfit", "memory", what, "use a machine with more memory, or a smaller model")
    elif needed > machine.available:
        yield Finding("warn", "memory", what, "end other programs")
    else:
        yield Finding("ok", "memory", what)


def open_files(space: SearchSpace) -> Finding:
    """Return the limit of open files against the space's highest concurrency."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    ladder = space.workload.concurrency
    needed = max(*ladder, *(gate.at_once(ladder, early=False) for gate in space.gates)) + OTHER_FILES
    what = f"{limit} files may be open at once, the space needs {needed}"
    enough = limit == resource.RLIM_INFINITY or limit >= needed
    return Finding("ok" if enough else "unfit", "open files", what, "" if enough else f"ulimit -n {needed}")


def writable(studies: Path) -> Finding:
    """Return whether a study's folder could be made."""
    there = _nearest(studies)
    try:
        with tempfile.TemporaryFile(dir=there):
            return Finding("ok", "folder", f"{studies} can be written")
    except OSError as error:
        return Finding("unfit", "folder", f"{there} can't be written: {error.strerror}", "choose another --studies")


def disk(site: Site) -> Iterator[Finding]:
    """Yield the free space where studies go, and where weights and engines are."""
    for option, folder in (("--studies", site.studies), ("--data-root", site.data_root)):
        yield room(shutil.disk_usage(_nearest(folder)).free, folder, option)


def room(free: int, folder: Path, option: str) -> Finding:
    """Return what so many free bytes mean for a folder that an option names."""
    level: Level = "unfit" if free < TOO_LITTLE_DISK else "warn" if free < LITTLE_DISK else "ok"
    mend = "" if level == "ok" else f"free some, or choose another {option}"
    return Finding(level, "disk", f"{_shown(free)} are free for {folder}", mend)


def free_ports() -> Finding:
    """Return whether an engine would find a port."""
    try:
        with lease(PORTS) as leased:
            return Finding("ok", "ports", f"free ones from {leased.ports[0]}")
    except NoFreePort as error:
        return _unfit("ports", error)


def chosen_once(env: Mapping[str, str | None]) -> Finding:
    """
    Return whether the GPUs that an engine may use are chosen once.

    ROCm counts those of HIP and CUDA among those that ROCR leaves, so that two choices may leave none, and some
    libraries refuse them (ray-project/ray#53737, vllm-project/vllm#12572); HIP and CUDA may say the same.
    """
    chosen = {name: value for name in VISIBLE if (value := env.get(name)) is not None}
    said = ", ".join(f"{name}={value}" for name, value in chosen.items())
    first, *others = VISIBLE
    if len(set(chosen.values())) > 1 or (first in chosen and chosen.keys() & set(others)):
        return Finding(
            "unfit", "devices", f"the GPUs to use are chosen twice ({said})", f"set one of {', '.join(VISIBLE)}"
        )
    return Finding("ok", "devices", said or "no variable leaves any out")


def left_engines(studies: Path) -> Iterator[Finding]:
    """Yield the engines that outlived their study's driver."""
    found = [left for path in sorted(studies.glob("*/study.json")) for left in leftovers(StudyFolder(path.parent))]
    for left in found:
        what = f"engine {left.pid} of {left.folder} still runs, its study does not"
        yield Finding("warn", "leftovers", what, f"wait a minute while it is stopped, then kill {left.pid}")
    if not found:
        yield Finding("ok", "leftovers", f"no engine of a study in {studies} that ended")


def client(test: SelfTest) -> Finding:
    """Return whether the load generator can measure the load that it was tried on."""
    if test.fit:
        return Finding("ok", "load generator", "measures this load")
    mend = "; ".join(test.advice) or "try again when the machine is idle, or at a lower concurrency"
    return Finding("unfit", "load generator", f"it can't measure this load here: {'; '.join(test.faults)}", mend)


def left_containers() -> Iterator[Finding]:
    """Yield the containers of ours whose supervisor was killed; the next launch of their kind removes them too."""
    for client in CLIENTS:
        for orphan in orphans(client) if shutil.which(client) else ():
            what = f"container {orphan.id[:12]} of {orphan.spec.parent} {'runs' if orphan.running else 'is left'}"
            yield Finding("warn", "leftovers", f"{what}, its supervisor does not", f"{client} rm -f {orphan.id[:12]}")


def unsourced() -> Iterator[Finding]:
    """Yield each log line that an adapter knows without a source: such a line decides nothing."""
    for name, adapter in ENGINES.items():
        lines: Sequence[Pattern | Building | Reading] = (
            *adapter.patterns,
            *adapter.building,
            *adapter.readings.values(),
            *([adapter.unknown_variable] if adapter.unknown_variable else []),
        )
        bare = [line.regex for line in lines if not line.source]
        for regex in bare:
            yield Finding("warn", "facts", f"{name}: {regex!r} has no source", "capture such a log, or cite one")
        if not bare:
            yield Finding("ok", "facts", f"{name}: {len(lines)} log lines, each with its source")


def load_average(load: float, processors: int) -> Finding:
    """Return whether other programs keep a machine busy."""
    what = f"load average {load:.1f} on {processors} processors"
    if load <= QUIET * processors:
        return Finding("ok", "load", what)
    return Finding("warn", "load", f"{what}, another load will be measured too", "end other programs")


def _unfit(check: str, error: Exception) -> Finding:
    """Return an error of ours as a finding: its last clause is how to mend it."""
    what, _, mend = str(error).rpartition(": ")
    return Finding("unfit", check, what, mend)


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder; 0 if it is not there."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def _shown(size: float) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / MIB:.1f} MiB"
