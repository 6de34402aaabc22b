"""A whole study of Kimi-K2.5 on emulated MI355X, four nodes at once: what it confirms, held against the landscape."""

import json
from pathlib import Path
from statistics import median

import pytest

from search_spaces import Recipe, load_recipe
from search_spaces import load as load_space
from search_spaces.parse import source
from tests.conftest import Autotune
from trials.engines import engine
from trials.engines.emulated.failures import accuracy
from trials.engines.emulated.from_recipe import command
from trials.engines.emulated.landscape import Landscape, load, objective

SHARE = 0.88
TRIALS, SHORT = 40, 6

pytestmark = [pytest.mark.ray, pytest.mark.timeout(3600), pytest.mark.campaign("rehearsal"), pytest.mark.long]


def space(landscape: Landscape, folder: Path) -> Path:
    """Write the shipped space with the lengths that a landscape is of."""
    text = source(load_space("kimik2.5-mi355x")).replace("input_tokens: 8192", f"input_tokens: {landscape.isl}")
    path = folder / f"{landscape.name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def share(landscape: Landscape, recipe: Recipe) -> float:
    """Return a recipe's objective without any noise over the best that is known of a landscape."""
    serve = recipe.at(recipe.workload.concurrency[0])
    argv = (*serve.args, *engine(recipe.target.engine).layout(serve.layout))
    chosen = command(argv, {name: value for name, value in serve.env.items() if value is not None}).config
    assert accuracy(landscape, chosen) >= landscape.gate
    return objective(landscape, chosen) / landscape.best_objective


@pytest.mark.parametrize("name", ["L0", "L2"])
def test_a_confirmed_winner_comes_near_the_best_and_never_under_the_gate(
    autotune: Autotune, gsm8k: Path | None, tmp_path: Path, campaign_seeds: range, name: str, *, all_seeds: bool
) -> None:
    if gsm8k is None:
        pytest.skip("GSM8K is not beside the project")
    landscape, shares = load(name), []
    path = space(landscape, tmp_path)
    for seed in campaign_seeds:
        study = f"{name}-{seed}"
        options = ["--emulate", "--landscape", name, "--no-known", "--seed", str(seed), "--name", study]
        trials = ["--trials", str(TRIALS if all_seeds else SHORT)]
        ran = autotune("study", path, *options, *trials, cwd=tmp_path, timeout_s=900, AUTOTUNE_DATA=str(gsm8k))
        assert ran.returncode == 0, ran.stderr
        folder = tmp_path / "studies" / study
        evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
        assert evidence["emulated"] is True
        assert (folder / "recipe.yaml").read_text(encoding="utf-8").startswith("# EMULATED: ")
        shares.append(share(landscape, load_recipe(folder / "recipe.yaml")))
        print(f"{name}, seed {seed}: {evidence['result']}, {shares[-1]:.3f} of the best")  # noqa: T201 for campaigns
    if all_seeds:
        assert median(shares) >= SHARE
