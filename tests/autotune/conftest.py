"""Spaces that are read from files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from search_spaces import SearchSpace
from tests.autotune.studies import SMALL, space

Loaded = Callable[[str], SearchSpace]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """Return a function that gives the space of a text."""
    return lambda text: space(tmp_path, text)


@pytest.fixture
def small(loaded: Loaded) -> SearchSpace:
    """Return a space of 24 configs."""
    return loaded(SMALL)
