"""Samplers by name, ours and those of other packages."""

import sys
from pathlib import Path

import pytest

from autotune.search.samplers import SAMPLERS, UnknownSampler, make, names
from search_spaces import SearchSpace

METADATA = "Metadata-Version: 2.1\nName: another\nVersion: 1\n"
ENTRY = "[autotune.samplers]\nbackwards = another_sampler:backwards\nrandom = another_sampler:backwards\n"
CODE = """
from optuna.samplers import RandomSampler


class Backwards(RandomSampler):
    pass


def backwards(space, seed):
    sampler = Backwards(seed=seed)
    sampler.baseline = space.baseline
    return sampler
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a sampler named `backwards`, and one named as ours."""
    info = tmp_path / "another-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY)
    (tmp_path / "another_sampler.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


def test_an_unknown_sampler_is_told_with_those_that_are_known(small: SearchSpace) -> None:
    with pytest.raises(UnknownSampler, match="no sampler 'bogo': known are ablation, tpe, gp, nsga2, random, grid"):
        make("bogo", small, 0)


@pytest.mark.usefixtures("installed")
def test_a_package_brings_a_sampler_of_its_own(small: SearchSpace) -> None:
    assert names() == [*SAMPLERS, "backwards"]
    made = make("backwards", small, 3)
    assert type(made).__name__ == "Backwards"
    assert vars(made)["baseline"] == small.baseline


@pytest.mark.usefixtures("installed")
def test_ours_go_before_a_package_with_the_same_name(small: SearchSpace) -> None:
    assert type(make("random", small, 0)).__name__ == "RandomSampler"
