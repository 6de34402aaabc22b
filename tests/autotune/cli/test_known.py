"""The known recipe of a space against the recipe as it was merged, by the commands that a user has."""

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, Autotune

MERGED = json.loads((ROOT / "tests/data/kimik2.5-2213.json").read_text(encoding="utf-8"))
KNOWN = {"4": "InferenceX #2213", "8": "InferenceX #2213 on eight GPUs"}


@pytest.mark.parametrize("gpus", KNOWN)
@pytest.mark.parametrize("concurrency", ["4", "128"])
def test_the_known_recipes_command_is_the_one_that_was_merged(
    autotune: Autotune, tmp_path: Path, gpus: str, concurrency: str
) -> None:
    ours = autotune("command", "kimik2.5-mi355x", "--known", KNOWN[gpus], "--concurrency", concurrency, cwd=tmp_path)
    assert ours.returncode == 0, ours.stderr
    (tmp_path / "ours.sh").write_text(ours.stdout, encoding="utf-8")
    serve = MERGED["serve"][gpus]
    variables = [f"{name}={value}" for name, value in serve["env"].items()]
    (tmp_path / "merged.sh").write_text(shlex.join(["env", *variables, *serve["argv"]]) + "\n", encoding="utf-8")
    found = autotune("diff", "ours.sh", "merged.sh", "--exit-code", cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_an_unknown_recipe_is_refused_with_those_that_there_are(autotune: Autotune, tmp_path: Path) -> None:
    ran = autotune("command", "kimik2.5-mi355x", "--known", "none", cwd=tmp_path)
    assert ran.returncode == 2
    assert "no known recipe 'none'; it has 'InferenceX #2213'" in ran.stderr
