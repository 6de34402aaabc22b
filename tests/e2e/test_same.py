"""The demo compared with itself, on its real engine: there is nothing to find."""

import json
from pathlib import Path

import pytest

from tests.conftest import Autotune


@pytest.mark.engine
@pytest.mark.long
@pytest.mark.campaign("same")
@pytest.mark.timeout(3600)
def test_a_recipe_never_wins_against_itself(
    autotune: Autotune, demo_engine: Path, tmp_path: Path, campaign_seed: int
) -> None:
    options = ("--dispatcher", "local", "--seed", str(campaign_seed), "--name", "same", "--json")
    ran = autotune("compare", "demo", "demo", *options, cwd=tmp_path, timeout_s=3500, AUTOTUNE_DATA=str(demo_engine))
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout.splitlines()[-1])
    print(f"seed {campaign_seed}: {said['sentence']}")  # noqa: T201 what `make campaigns` shows
    assert said["failed"] is None
    assert said["result"] != "win"
