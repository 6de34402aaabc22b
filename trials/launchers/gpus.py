"""The GPUs of this machine as their device nodes show them: which there are, and who may open them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEV = Path("/dev")


@dataclass(frozen=True, slots=True)
class Gpus:
    """
    What a container needs to see the GPUs.

    Attributes:
        rocm: The device nodes of AMD's; empty where there are none.
        groups: Ids of the groups that may open these (video, render): an image need not know them by name.
        nvidia: Whether NVIDIA's driver is here.
    """

    rocm: tuple[Path, ...] = ()
    groups: tuple[int, ...] = ()
    nvidia: bool = False


def gpus(dev: Path = DEV) -> Gpus:
    """Return the GPUs of this machine."""
    if (dev / "kfd").exists():
        groups = sorted({node.stat().st_gid for node in _nodes(dev)} - {0})
        return Gpus(rocm=(dev / "kfd", dev / "dri"), groups=tuple(groups))
    return Gpus(nvidia=(dev / "nvidiactl").exists())


def _nodes(dev: Path) -> Iterator[Path]:
    yield dev / "kfd"
    yield from (dev / "dri").glob("renderD*")
    yield from (dev / "dri").glob("card*")
