"""The demo as a newcomer runs it: a real engine, a real load, a real gate, Optuna and Ray."""

import json
from pathlib import Path
from typing import Any

import pytest

from search_spaces import load_recipe
from tests.conftest import Autotune

FULL, SHORT = 12, 2  # trials beside the baseline

pytestmark = [pytest.mark.engine, pytest.mark.ray, pytest.mark.timeout(1800)]


@pytest.mark.campaign("demo")
def test_the_search_meets_a_refusal_and_an_accuracy_loss_and_q4_never_wins(
    autotune: Autotune, demo_engine: Path, tmp_path: Path, campaign_seed: int, *, all_seeds: bool
) -> None:
    trials = FULL if all_seeds else SHORT
    arguments = ["study", "demo", "--seed", str(campaign_seed), "--trials", str(trials)]
    ran = autotune(*arguments, cwd=tmp_path, timeout_s=1700, AUTOTUNE_DATA=str(demo_engine))
    print(ran.stdout)  # noqa: T201 what `make campaigns` shows
    assert ran.returncode == 0, ran.stderr
    study = tmp_path / "studies/demo"
    evidence = json.loads((study / "evidence.json").read_text())
    outcomes = [trial["outcome"] for trial in evidence["trials"]]
    refused = [outcome for outcome in outcomes if outcome["kind"] == "infeasible"]
    assert refused
    assert {outcome["failure"] for outcome in refused} == {"refused"}
    failed = [
        outcome for outcome in outcomes if outcome["kind"] == "measured" and outcome["verdict"]["result"] == "fail"
    ]
    assert failed
    assert all(0 < each["low"] < each["high"] < 1 for each in filters(failed))
    if all_seeds:
        assert sum(outcome["kind"] == "measured" for outcome in outcomes) > 10
    assert load_recipe(study / "recipe.yaml").config["cache_type"] != "q4_0"


def filters(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the filters' figures of measured outcomes."""
    return [each for outcome in outcomes for each in outcome["verdict"]["filters"]]
