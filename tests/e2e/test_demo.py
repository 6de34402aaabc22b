"""The demo as a newcomer runs it: a real engine, a real load, a real gate, Optuna and Ray."""

import json
from pathlib import Path

import pytest

from search_spaces import load_recipe
from tests.conftest import Autotune

pytestmark = [pytest.mark.engine, pytest.mark.ray, pytest.mark.timeout(1800)]


@pytest.fixture
def study(
    request: pytest.FixtureRequest, autotune: Autotune, demo_engine: Path, tmp_path: Path, campaign_seed: int
) -> Path:
    """Run the demo whole; where campaigns run short, take the two trials of the README's study, which has seed 0."""
    if not request.config.getoption("all_seeds"):
        request.getfixturevalue("readme")
        folder: Path = request.getfixturevalue("readers_folder")
        return folder / "studies/quick"
    arguments = ["study", "demo", "--seed", str(campaign_seed)]
    ran = autotune(*arguments, cwd=tmp_path, timeout_s=1700, AUTOTUNE_DATA=str(demo_engine))
    print(ran.stdout)  # noqa: T201 what `make campaigns` shows
    assert ran.returncode == 0, ran.stderr
    return tmp_path / "studies/demo"


@pytest.mark.campaign("demo")
def test_the_search_meets_a_refusal_and_an_accuracy_loss_and_q4_never_wins(study: Path, *, all_seeds: bool) -> None:
    evidence = json.loads((study / "evidence.json").read_text())
    outcomes = [trial["outcome"] for trial in evidence["trials"]]
    refused = [outcome for outcome in outcomes if outcome["kind"] == "infeasible"]
    assert refused
    assert {outcome["failure"] for outcome in refused} == {"refused"}
    measured = [outcome for outcome in outcomes if outcome["kind"] == "measured"]
    verdicts = [judgement["verdict"] for outcome in measured for judgement in outcome["judged"]]
    failed = [verdict for verdict in verdicts if verdict["result"] == "fail"]
    assert failed
    assert all(0 < each["low"] < each["high"] < 1 for verdict in failed for each in verdict["filters"])
    assert load_recipe(study / "recipe.yaml").config["cache_type"] != "q4_0"
    if all_seeds:
        assert len(measured) > 10
