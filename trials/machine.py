"""On what machine a trial ran: a fact of the node, which may be another one than the driver's."""

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from trials.files import write_whole
from trials.smi import LISTINGS, Device
from trials.telemetry import ROCM_BIN, TIMEOUT_S

FILE = "machine.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """
    A machine when a trial began on it.

    Attributes:
        system: The kernel.
        gpus: None are known where no tool of a vendor answers.
        client: Version of autotune there.
        begun: ISO 8601 with offset.
    """

    host: str
    system: str
    gpus: tuple[Device, ...]
    client: str
    begun: str


_JSON = TypeAdapter(Machine)


def note(folder: Path, *, gpus: bool = True) -> None:
    """
    Write down in a trial's folder on what machine it begins.

    Args:
        gpus: Whether they have a part in it: none has in a rehearsal.
    """
    found = Machine(
        host=socket.gethostname(),
        system=f"{platform.system()} {platform.release()}",
        gpus=next(_answers(), ()) if gpus else (),
        client=version("autotune-serve"),
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_whole(folder / FILE, _JSON.dump_json(found, indent=2).decode() + "\n")


def noted(folder: Path) -> Machine | None:
    """
    Return what `note` wrote in a trial's folder; None where there is nothing.

    Raises:
        pydantic.ValidationError: If it is something else.
    """
    path = folder / FILE
    return _JSON.validate_json(path.read_bytes()) if path.exists() else None


def _answers() -> Iterator[tuple[Device, ...]]:
    """Yield what each vendor's tool says that is here and answers."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), ROCM_BIN])
    for listing in LISTINGS:
        if program := shutil.which(listing.name, path=path):
            try:
                ran = subprocess.run(
                    [program, *listing.args],
                    capture_output=True,
                    text=True,
                    errors="replace",
                    check=True,
                    timeout=TIMEOUT_S,
                )
                yield listing.parse(ran.stdout)
            except (OSError, ValueError, subprocess.SubprocessError):
                continue
