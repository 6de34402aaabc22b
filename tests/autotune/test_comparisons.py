"""The folder of a comparison: what is written, read back, and refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.compare import LaunchSd
from autotune.comparisons import ComparisonExists, OtherComparison, Rules, comparison_folder
from autotune.folder import BadName
from autotune.lock import StudyLocked
from search_spaces import SearchSpace
from tests.autotune.comparing import begun, rates, settings, sides
from trials import outcome as outcomes

RULES = Rules(most=6, known_sd=LaunchSd(0.007, {1: 0.01}))


def test_what_was_begun_is_read_back(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    assert folder.settings() == settings(tmp_path, RULES)
    read, told = folder.sides(), sides(small)
    assert (read.a, read.b, read.space.objective) == (told.a, told.b, small.objective)
    assert read.space.gates == small.gates


def test_files_of_an_imported_side_lie_in_its_folder(tmp_path: Path, small: SearchSpace) -> None:
    folder = comparison_folder(tmp_path, "one")
    told = replace(sides(small), beside=({}, {"config.yaml": "a: 1\n"}))
    folder.begin(settings(tmp_path, RULES), told, {})
    assert (folder.imported("B") / "config.yaml").read_text() == "a: 1\n"
    assert not folder.imported("A").exists()


def test_a_beginning_that_fails_leaves_no_comparison(tmp_path: Path, small: SearchSpace) -> None:
    folder = comparison_folder(tmp_path, "one")
    told = replace(sides(small), beside=({}, {"no/such/folder": ""}))
    with pytest.raises(FileNotFoundError):
        folder.begin(settings(tmp_path, RULES), told, {})
    assert not folder.root.exists()


def test_one_that_is_there_is_not_overwritten(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    with pytest.raises(ComparisonExists, match="--resume, or choose another --name"):
        folder.begin_or_resume(settings(tmp_path, RULES), sides(small), {}, resume=False)


def test_the_same_one_is_gone_on_with_whatever_is_known_by_now(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    later = replace(settings(tmp_path, replace(RULES, known_sd=None)), started="2026-02-02T00:00:00+00:00")
    folder.begin_or_resume(later, sides(small), {}, resume=True)
    assert folder.settings() == settings(tmp_path, RULES)


@pytest.mark.parametrize("rules", [Rules(most=5), Rules(most=6, judged=False), Rules(most=6, until="most")])
def test_another_one_is_not_gone_on_with(rules: Rules, tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    with pytest.raises(OtherComparison, match="rules differ"):
        folder.begin_or_resume(settings(tmp_path, rules), sides(small), {}, resume=True)


def test_other_recipes_are_another_comparison(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    swapped = replace(sides(small), a=sides(small).b, b=sides(small).a)
    with pytest.raises(OtherComparison, match="a recipe differs"):
        folder.begin_or_resume(settings(tmp_path, RULES), swapped, {}, resume=True)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, small: SearchSpace) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(ComparisonExists, match="is no comparison"):
        comparison_folder(tmp_path, "one").begin_or_resume(settings(tmp_path, RULES), sides(small), {}, resume=True)


def test_what_is_not_there_begins(tmp_path: Path, small: SearchSpace) -> None:
    folder = comparison_folder(tmp_path, "one")
    folder.begin_or_resume(settings(tmp_path, RULES), sides(small), {}, resume=True)
    assert folder.settings_file.exists()


def test_launches_are_read_in_their_order(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    for number in (0, 1, 100, 2):
        folder.new_launch(number, "A" if number % 2 else "B")
    (first,) = rates(100.0)
    outcomes.write(folder.root / "00-B" / "outcome.json", first)
    found = folder.launches()
    assert [(one.number, one.arm) for one in found] == [(0, "B"), (1, "A"), (2, "B"), (100, "B")]
    assert [one.outcome for one in found] == [first, None, None, None]


def test_two_drivers_do_not_run_one_comparison(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, RULES)
    with folder.locked(), pytest.raises(StudyLocked), folder.locked():
        pass


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", "-x"])
def test_a_name_is_no_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadName, match="comparison name"):
        comparison_folder(tmp_path, name)
