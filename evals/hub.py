"""Data sets of the Hugging Face hub: from the cache where they are in it, and no waiting for a hub out of reach."""

import contextlib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import TypeVar

import datasets.config  # type: ignore[import-untyped]  # it ships no types
from huggingface_hub import constants

REACH_S = 5.0
"""Seconds in which the hub must answer anything at all; its own client would go on trying for half a minute."""

Built = TypeVar("Built")


def cached_first(build: Callable[[], Built]) -> Built:
    """
    Return what `build` makes of data in the cache, or else of data that it fetches.

    Raises:
        OSError: The data are not in the cache, and the hub cannot be reached or must not be asked.
    """
    if constants.HF_HUB_OFFLINE:
        return build()
    try:
        with _offline():
            return build()
    except OSError:
        _reach(constants.ENDPOINT)
    return build()


def _reach(url: str) -> None:
    """Raise OSError where nobody answers at `url`; any answer is one."""
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310 the hub's own address, as its client has it
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=REACH_S):  # noqa: S310
        pass


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Keep the data set's library from the network."""
    before = datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
