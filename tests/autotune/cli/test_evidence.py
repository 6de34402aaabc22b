"""`autotune evidence`: from raw data to every document, or one message why not."""

from pathlib import Path

from tests.autotune.evidence.whole import whole
from tests.conftest import Autotune

BAD_INPUT = 2
DERIVED = ("recipe.yaml", "evidence.*", "plots/*")


def derived(root: Path) -> dict[Path, bytes]:
    """Return every file that is made from the raw data."""
    return {path: path.read_bytes() for name in DERIVED for path in sorted(root.glob(name))}


def test_all_that_is_derived_comes_back_the_same(autotune: Autotune, tmp_path: Path) -> None:
    root = whole(tmp_path).root
    ran = autotune("evidence", "one", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "Win: trial 1 is faster than the baseline, and passes its gate.",
        "evidence: studies/one/evidence.html",
    ]
    before = derived(root)
    assert len(before) == 12
    for path in before:
        path.unlink()
    assert autotune("evidence", "one", "--studies", root.parent, cwd=tmp_path).returncode == 0
    assert derived(root) == before


def test_a_study_that_is_not_finished_says_so(autotune: Autotune, tmp_path: Path) -> None:
    whole(tmp_path, finished=False)
    ran = autotune("evidence", "one", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.startswith("Not finished, no verdict yet.")


def test_before_a_baseline_there_is_one_message(autotune: Autotune, tmp_path: Path) -> None:
    root = whole(tmp_path).root
    for path in root.glob("trials/*/trial.json"):
        path.unlink()
    ran = autotune("evidence", "one", cwd=tmp_path)
    assert ran.returncode == BAD_INPUT
    assert ran.stderr.splitlines() == [
        "autotune: study 'one' has no measured baseline, so no evidence: it has not ended; see `autotune status one`"
    ]
    assert derived(root) == {}


def test_an_unknown_study_is_refused(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("evidence", "nothing", cwd=tmp_path)
    assert ran.returncode == BAD_INPUT
    assert "no study 'nothing' in studies: there is none" in ran.stderr
