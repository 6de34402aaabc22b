"""A study's folder: its name is no path, it is made once, and what was written is read back."""

from pathlib import Path

import pytest

from autotune.folder import (
    BadName,
    StudyExists,
    StudyFolder,
    UnknownStudy,
    all_studies,
    open_study,
    study_folder,
)
from autotune.lock import StudyLocked
from search_spaces import Config, SearchSpace, load
from tests.autotune.conftest import Loaded
from tests.autotune.studies import LOST, MEMORY, settings
from tests.support import measured
from trials import outcome as outcomes

PROVENANCE = {"host": "a host"}


@pytest.fixture
def begun(tmp_path: Path, small: SearchSpace) -> StudyFolder:
    """Return the folder of a study that has just begun."""
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(settings(tmp_path), small, PROVENANCE)
    return folder


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "/abs", "a\\b", "-flag", ".hidden", "a b", "a\n", "ä"])
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadName, match=r"study name .* use letters, digits"):
        study_folder(tmp_path, name)


def test_a_name_has_at_most_a_hundred_characters(tmp_path: Path) -> None:
    assert study_folder(tmp_path, "a" * 100).root.parent == tmp_path
    with pytest.raises(BadName, match="at most 100"):
        study_folder(tmp_path, "a" * 101)


@pytest.mark.parametrize("name", ["demo", "kimik2.5-mi355x", "2026_01_02"])
def test_a_plain_name_is_a_folder_below_the_studies(tmp_path: Path, name: str) -> None:
    assert study_folder(tmp_path, name).root == tmp_path / name


def test_a_study_is_not_begun_over_another(begun: StudyFolder, tmp_path: Path, small: SearchSpace) -> None:
    said = r"study 'one' exists in .*studies: go on with .autotune resume one., or choose"
    with pytest.raises(StudyExists, match=said):
        begun.begin(settings(tmp_path), small, PROVENANCE)


def test_an_unknown_study_is_refused_with_the_ones_that_are_there(begun: StudyFolder, tmp_path: Path) -> None:
    studies = begun.root.parent
    with pytest.raises(UnknownStudy, match=r"no study 'two' in .*: there is one$"):
        open_study(studies, "two")
    with pytest.raises(UnknownStudy, match=r"there is none$"):
        open_study(tmp_path / "nowhere", "two")


def test_a_study_is_opened_by_its_name(begun: StudyFolder) -> None:
    assert open_study(begun.root.parent, "one") == begun
    with pytest.raises(BadName):
        open_study(begun.root.parent, "../studies/one")


def test_studies_are_listed_by_name(begun: StudyFolder, tmp_path: Path, small: SearchSpace) -> None:
    for name in ("zwei", "drei"):
        study_folder(begun.root.parent, name).begin(settings(tmp_path), small, PROVENANCE)
    (begun.root.parent / "no-study").mkdir()
    assert [one.root.name for one in all_studies(begun.root.parent)] == ["drei", "one", "zwei"]


def test_settings_are_read_back(begun: StudyFolder, tmp_path: Path) -> None:
    assert begun.settings() == settings(tmp_path)


def test_the_space_is_kept_as_it_was(begun: StudyFolder, tmp_path: Path, small: SearchSpace) -> None:
    (tmp_path / "small.yaml").write_text("changed afterwards", encoding="utf-8")
    kept = load(begun.space)
    assert kept.model_dump(exclude={"folder"}) == small.model_dump(exclude={"folder"})


def test_a_trial_is_read_back_with_its_outcome(begun: StudyFolder, small: SearchSpace) -> None:
    outcome = measured(100.0, 90.0)
    folder = begun.new_trial(0, small.baseline, "f" * 64)
    outcomes.write(folder / "outcome.json", outcome)
    (record,) = begun.trials()
    assert (record.number, record.config, record.fingerprint) == (0, small.baseline, "f" * 64)
    assert (record.folder, record.outcome) == (folder, outcome)


def test_values_of_a_config_keep_their_types(begun: StudyFolder) -> None:
    config: Config = {"whole": 1, "real": 1.0, "word": "1", "yes": True, "unset": "unset", "tiny": 1e-7}
    begun.new_trial(0, config, "f")
    read = begun.trials()[0].config
    assert [(name, type(value), value) for name, value in read.items()] == [
        (name, type(value), value) for name, value in config.items()
    ]


def test_a_trial_that_has_not_ended_has_no_outcome(begun: StudyFolder, small: SearchSpace) -> None:
    begun.new_trial(0, small.baseline, "f")
    assert begun.trials()[0].outcome is None


def test_trials_come_in_the_order_of_their_numbers(begun: StudyFolder, small: SearchSpace) -> None:
    for number in (10, 2, 0):
        begun.new_trial(number, small.baseline, "f")
    assert [one.number for one in begun.trials()] == [0, 2, 10]


def test_launches_are_read_back_in_order(begun: StudyFolder) -> None:
    outcomes.write(begun.new_launch(1, "B", 3) / "outcome.json", MEMORY)
    outcomes.write(begun.new_launch(0, "A", 3) / "outcome.json", LOST)
    begun.new_launch(2, "B", 3)
    assert [(one.number, one.arm, one.candidate, one.outcome) for one in begun.launches()] == [
        (0, "A", 3, LOST),
        (1, "B", 3, MEMORY),
        (2, "B", 3, None),
    ]
    assert [one.folder.name for one in begun.launches()] == ["00-A", "01-B", "02-B"]


def test_a_folder_that_a_crash_left_empty_is_no_trial_and_is_taken_over(begun: StudyFolder, small: SearchSpace) -> None:
    (begun.root / "trials" / "0000").mkdir(parents=True)
    (begun.root / "confirm" / "00-A").mkdir(parents=True)
    assert (begun.trials(), begun.launches()) == ([], [])
    begun.new_trial(0, small.baseline, "f")
    begun.new_launch(0, "A", 1)
    assert (len(begun.trials()), len(begun.launches())) == (1, 1)


def test_every_file_of_a_study_lies_in_its_folder(begun: StudyFolder) -> None:
    files = (
        begun.settings_file,
        begun.database,
        begun.recipe,
        begun.evidence_md,
        begun.evidence_html,
        begun.end,
        begun.evidence_json,
        begun.provenance,
    )
    assert len(set(files)) == len(files)
    assert {path.parent for path in files} == {begun.root}


def test_a_study_is_finished_when_it_first_said_so(begun: StudyFolder) -> None:
    assert begun.finished() is None
    for when in ("2026-01-02T04:05:06+00:00", "2026-01-03T00:00:00+00:00"):
        begun.finish(when)
    assert begun.finished() == "2026-01-02T04:05:06+00:00"


def test_a_study_that_begins_another_trial_or_launch_is_not_finished(begun: StudyFolder, small: SearchSpace) -> None:
    begun.finish("2026-01-02T04:05:06+00:00")
    begun.new_trial(0, small.baseline, "f")
    assert begun.finished() is None
    begun.finish("2026-01-03T00:00:00+00:00")
    begun.new_launch(0, "A", 1)
    assert begun.finished() is None


def test_the_copy_of_a_space_resolves_to_the_same_configs(tmp_path: Path, loaded: Loaded) -> None:
    space = loaded(
        """
baseline: {share: 0.85, mode: "on"}
knobs:
  share: {flag: --share, float: {low: 0.8, high: 0.95, step: 0.01}}
  mode: {flag: --mode, choice: ["on", "off", auto]}
rules:
  - {forbid: {mode: "off"}, when: {share: {gt: 0.9}}, because: it is so}
objective: {weights: {1: 3}}
"""
    )
    folder = study_folder(tmp_path / "studies", "two")
    folder.begin(settings(tmp_path), space, PROVENANCE)
    assert load(folder.space).model_dump(exclude={"folder"}) == space.model_dump(exclude={"folder"})


def test_a_study_that_could_not_be_begun_whole_is_not_there(tmp_path: Path, small: SearchSpace) -> None:
    folder = study_folder(tmp_path / "studies", "one")
    unwritable = {"host": object()}
    with pytest.raises(TypeError):
        folder.begin(settings(tmp_path), small, unwritable)  # type: ignore[arg-type]  # it stands for any fault on the way
    assert not folder.root.exists()
    assert list(all_studies(tmp_path / "studies")) == []


def test_two_drivers_never_share_a_study(begun: StudyFolder) -> None:
    with begun.locked(), pytest.raises(StudyLocked, match="study 'one' is being run"), begun.locked():
        pass
    with begun.locked():
        pass
