"""The 26 parameters of the landscape."""

from collections.abc import Mapping
from typing import NamedTuple


class Config(NamedTuple):
    """
    A value for each parameter; NAMES.md says which flag or variable sets it.

    Attributes:
        mnbt: Most tokens of a batch.
        mns: Most sequences of a batch.
        gmu: Share of a GPU's memory.
        omp: Threads of OpenMP, or `unset`.
    """

    tp: int
    ep: int
    kv: str
    block: int
    mnbt: int
    mns: int
    cg: str
    gmu: float
    async_: int
    prefix: int
    qr: str
    aiter: int
    moe: int
    mla: int
    rms: int
    linear: int
    fse: int
    skinny: int
    mxint: int
    bypass: int
    sort: str
    bmm: int
    rope: int
    persist: int
    omp: str
    scratch: int


def config(values: Mapping[str, int | float | str]) -> Config:
    """
    Return the config with these values, named as the landscape's files name them.

    Raises:
        ValueError: If a parameter is missing, or there is none of a name.
    """
    named = {"async_" if name == "async" else name: value for name, value in values.items()}
    if wrong := named.keys() ^ set(Config._fields):
        raise ValueError(
            f"a config needs a value for each of {', '.join(Config._fields)}: see {', '.join(sorted(wrong))}"
        )
    return Config(**named)  # type: ignore[arg-type]  # checked by name; the files' types are theirs
