"""Where weights and engines lie on this machine, and the files that a space may name."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from search_spaces import File, Prompts, Trace, Workload

REFERENCE = re.compile(r"\$\{([^}]*)\}")


class DataRefused(ValueError):
    """A recipe refers to a file that its target does not list."""


class DataMissing(Exception):
    """A file that a target lists is not on this machine; the message says how to get it."""


def data_root() -> Path:
    """Return the folder of fetched engines and weights: $AUTOTUNE_DATA, or the user's data folder."""
    return Path(os.environ.get("AUTOTUNE_DATA") or platformdirs.user_data_dir("autotune")).absolute()


def workload_file(workload: Workload, *, space_folder: Path, data_root: Path) -> Path | None:
    """
    Return the file that lists what a workload sends, where it is listed.

    Raises:
        DataMissing: It is not here.
    """
    match workload.shape:
        case Trace(file=file) | Prompts(file=file):
            return locate({"workload": file}, space_folder=space_folder, data_root=data_root)["workload"]
        case _:
            return None


def locate(files: Mapping[str, File], *, space_folder: Path, data_root: Path) -> dict[str, Path]:
    """
    Return the path of every named file.

    Raises:
        DataMissing: A file is not where the space says it is.
    """
    return {
        name: _present(name, file, file.locate(data_root=data_root, space_folder=space_folder))
        for name, file in files.items()
    }


def substitute(args: Sequence[str], files: Mapping[str, Path]) -> tuple[str, ...]:
    """
    Return `args` with each `${name}` replaced by that file's path.

    Raises:
        DataRefused: An argument names a file that the target does not list.
    """

    def path(reference: re.Match[str]) -> str:
        if reference[1] not in files:
            known = ", ".join(sorted(files)) or "none"
            raise DataRefused(f"{reference[0]} names no file of the target; it lists: {known}")
        return str(files[reference[1]])

    return tuple(REFERENCE.sub(path, arg) for arg in args)


def _present(name: str, file: File, path: Path) -> Path:
    if not path.exists():
        another = ", or name another folder with --data-root" if file.data else ""
        raise DataMissing(f"file {name!r}: {path} does not exist: {file.get or 'put it there'}{another}")
    return path.absolute()
