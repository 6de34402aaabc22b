"""The space of another engine, found by its name or beside the study's own."""

from pathlib import Path

import pytest

from autotune.reference import reference_recipe, reference_space
from search_spaces import Reference, SearchSpace, SpaceError
from tests.autotune.studies import FRAME, SMALL


def told(small: SearchSpace, space: str) -> SearchSpace:
    """Return a space with a reference to launch."""
    return small.model_copy(update={"reference": Reference(label="ATOM", space=space)})


def test_a_shipped_space_is_found_by_its_name(small: SearchSpace, tmp_path: Path) -> None:
    found = reference_space(told(small, "kimik2.5-mi355x-atom"), tmp_path)
    assert found is not None
    assert found.target.engine == "atom"


def test_a_file_is_found_beside_the_space(small: SearchSpace, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(FRAME + SMALL, encoding="utf-8")
    found = reference_space(told(small, "other.yaml"), tmp_path)
    assert found is not None
    assert found.name == "other"


def test_a_space_that_is_not_there_is_said(small: SearchSpace, tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"none\.yaml"):
        reference_space(told(small, "none.yaml"), tmp_path)


def test_figures_are_nothing_to_launch(small: SearchSpace, tmp_path: Path) -> None:
    quoted = Reference(label="ATOM", source="a PR", figures={1: 100.0})
    assert reference_space(small.model_copy(update={"reference": quoted}), tmp_path) is None
    assert reference_space(small, tmp_path) is None


def test_the_references_baseline_is_served_under_the_studys_load(small: SearchSpace, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(FRAME.replace("[1, 2]", "[7]") + SMALL, encoding="utf-8")
    found = reference_space(told(small, "other.yaml"), tmp_path)
    assert found is not None
    recipe = reference_recipe(found, small)
    assert recipe.workload == small.workload
    assert recipe.config == found.baseline
