"""A small space that is right, to be broken in one place, and a large one with every feature."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search_spaces import SearchSpace, SpaceError, load, names, text
from tests.search_spaces.drawn import Drawn, outcomes

Data = dict[str, Any]


@pytest.fixture
def data() -> Data:
    """Return the plain data of a small space."""
    return {
        "summary": "a small space",
        "target": {"engine": "llamacpp", "model": "m", "hardware": "cpu", "files": {"weights": {"data": "m.gguf"}}},
        "workload": {
            "input_tokens": 8,
            "output_tokens": 8,
            "concurrency": [1, 4],
        },
        "serve": {"args": ["--model", "${weights}", "--ctx-size", 4096], "env": {}},
        "baseline": {"threads": 2, "cache": "f16", "unified": False},
        "knobs": {
            "threads": {"flag": "--threads", "int": {"low": 1, "high": 4}},
            "cache": {"flag": ["--cache-type-k", "--cache-type-v"], "choice": ["f16", "q8_0", "q4_0"]},
            "unified": {"switch": "--kv-unified"},
        },
        "gate": {
            "task": "sums",
            "threshold": 0.9,
            "filters": ["strict-match"],
            "questions": {"search": 8, "confirm": 16},
            "smell": 4,
            "concurrency": 4,
            "max_tokens": 64,
        },
        "budget": {"trials": 4, "hours": 0.1, "confirm_launches": 3},
        "deadlines": {"ready_s": 10, "stop_s": 2, "request_s": 5},
    }


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[Data], SearchSpace]:
    """Return a function that writes data to a file and loads it."""

    def load_data(data: Data) -> SearchSpace:
        path = tmp_path / "small.yaml"
        path.write_text(text(data), encoding="utf-8")
        return load(path)

    return load_data


@pytest.fixture
def refusal(loaded: Callable[[Data], SearchSpace]) -> Callable[[Data], list[str]]:
    """Return a function that gives the lines with which data are refused."""

    def lines(data: Data) -> list[str]:
        with pytest.raises(SpaceError) as caught:
            loaded(data)
        return str(caught.value).splitlines()

    return lines


@pytest.fixture(scope="session")
def spaces() -> dict[str, SearchSpace]:
    """Return the shipped spaces."""
    return {name: load(name) for name in names()}


@pytest.fixture(scope="session")
def drawn(spaces: dict[str, SearchSpace]) -> dict[str, Drawn]:
    """Return for each shipped space what its drawn configs come to."""
    return {name: outcomes(space) for name, space in spaces.items()}


@pytest.fixture(scope="session")
def vllm_like() -> SearchSpace:
    """Return the space that has every feature."""
    return load(Path(__file__).with_name("vllm_like.yaml"))
