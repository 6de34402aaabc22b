"""Data sets of the hub, where there is no hub."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from evals.hub import cached_first


@pytest.fixture
def hub() -> Iterator[str]:
    """Return the address of a server that has nothing to offer, but answers."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def modes(*, cached: bool) -> list[bool]:
    """Build something that is in the cache or not; return for each attempt whether it was kept from the network."""
    tried: list[bool] = []

    def build() -> list[bool]:
        tried.append(constants.HF_HUB_OFFLINE)
        if constants.HF_HUB_OFFLINE and not cached:
            raise ConnectionError("not in the cache")
        return tried

    cached_first(build)
    return tried


def test_what_is_in_the_cache_is_taken_without_the_network() -> None:
    assert modes(cached=True) == [True]
    assert not constants.HF_HUB_OFFLINE


def test_what_is_not_in_the_cache_is_fetched_from_a_hub_that_answers(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", hub)
    assert modes(cached=False) == [True, False]


def test_a_hub_out_of_reach_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(OSError, match="refused"):
        modes(cached=False)


def test_a_hub_that_must_not_be_asked_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match="not in the cache"):
        modes(cached=False)
