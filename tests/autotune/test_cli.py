"""The command line as a user meets it: what it says, and with which exit code it ends."""

from pathlib import Path

import pytest

from autotune import __version__
from autotune.fetch import FETCHES
from search_spaces import load, recipe_text, resolve
from tests.conftest import ROOT, Autotune

BAD_INPUT, UNFIT, EXISTS = 2, 3, 4


def test_the_changelogs_newest_version_is_ours() -> None:
    versions = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## [")]
    assert versions[1].startswith(f"## [{__version__}]")


def test_help_names_every_exit_code(autotune: Autotune, tmp_path: Path) -> None:
    said = autotune("--help", cwd=tmp_path).stdout
    for code in ("0 done", "1 a bug", "2 bad input", "3 this", "4 the study", "5 the baseline", "10 no win", "130"):
        assert code in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["study", "dmo"], BAD_INPUT, "dmo: no such space; did you mean 'demo'?"),
        (["study", "./mine.yaml"], BAD_INPUT, "mine.yaml: cannot be read: No such file"),
        (["study", "demo", "--sampler", "tpee"], BAD_INPUT, "no sampler 'tpee': known are ablation, tpe"),
        (["study", "demo", "--name", "../up"], BAD_INPUT, "study name '../up': use letters"),
        (["study", "demo", "--trials", "-1"], BAD_INPUT, "--trials"),
        (["command", "demo", "--set", "threds=2"], BAD_INPUT, "threds: unknown knob; did you mean 'threads'?"),
        (["command", "demo", "--set", "cache_type=q4"], BAD_INPUT, "cache_type: 'q4' is not one of f16, q8_0, q4_0"),
        (["command", "demo", "--concurrency", "3"], BAD_INPUT, "concurrency 3 is not on the ladder; choose of 1, 4"),
        (["status", "nothing"], BAD_INPUT, "no study 'nothing' in studies: there is none"),
        (["resume", "nothing"], BAD_INPUT, "no study 'nothing' in studies: there is none"),
        (["fetch", "nothing"], UNFIT, "nothing is called 'nothing': known is demo"),
        (["study", "demo"], UNFIT, "run `autotune fetch demo`"),
        (["command", "demo"], UNFIT, "run `autotune fetch demo`"),
        (["command", "dsv4-mi355x-sglang"], UNFIT, "deepseek_v4_thinking.jinja does not exist: copy it from"),
    ],
)
def test_bad_input_gets_one_message_and_its_exit_code(
    autotune: Autotune, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    ran = autotune(*arguments, cwd=tmp_path, AUTOTUNE_DATA=str(tmp_path / "empty"), PATH="")
    assert ran.returncode == code, ran.stderr
    assert said in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "studies").exists()


def test_an_unknown_key_of_a_users_space_is_named_with_its_path(autotune: Autotune, tmp_path: Path) -> None:
    mine = (ROOT / "search_spaces/demo.yaml").read_text().replace("  threads:\n    flag:", "  threads:\n    flagg:", 1)
    (tmp_path / "mine.yaml").write_text(mine)
    ran = autotune("study", "mine.yaml", cwd=tmp_path)
    assert ran.returncode == BAD_INPUT
    assert "mine.yaml: knobs.threads: unknown key 'flagg'; did you mean 'flag'?" in ran.stderr


@pytest.mark.engine
def test_a_study_that_exists_is_not_touched(autotune: Autotune, demo_engine: Path, tmp_path: Path) -> None:
    (tmp_path / "studies/demo").mkdir(parents=True)
    ran = autotune("study", "demo", cwd=tmp_path, AUTOTUNE_DATA=str(demo_engine))
    assert ran.returncode == EXISTS
    assert "study 'demo' exists in studies: go on with `autotune resume demo`" in ran.stderr
    assert list((tmp_path / "studies/demo").iterdir()) == []


def test_what_can_be_fetched_is_what_the_demo_space_asks_for() -> None:
    weights = load("demo").target.files["weights"]
    assert (weights.data, weights.sha256) == (FETCHES["demo"].target, FETCHES["demo"].target_sha256)


@pytest.mark.engine
def test_a_recipe_runs_beside_its_study_by_its_spaces_name_and_from_anywhere(
    autotune: Autotune, demo_engine: Path, tmp_path: Path
) -> None:
    """A recipe that left its study finds a shipped space's files; its own name is no matter."""
    recipe = resolve(load("demo"), {"threads": 1})
    (tmp_path / "winner.yaml").write_text(recipe_text(recipe))
    printed = autotune("command", "winner.yaml", cwd=tmp_path, AUTOTUNE_DATA=str(demo_engine))
    assert printed.returncode == 0, printed.stderr
    assert f"--lora {ROOT}/search_spaces/demo/adapter.gguf" in printed.stdout
    assert "--threads 1 " in printed.stdout
    moved = autotune("command", "winner.yaml", "--set", "threads=2", cwd=tmp_path)
    assert moved.returncode == BAD_INPUT
    assert "winner.yaml: --set and --known are of a space; a recipe has no knobs" in moved.stderr
