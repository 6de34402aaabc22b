"""A whole study of Kimi-K2.5 on emulated MI355X, four nodes at once: what it confirms, held against the landscape."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from pydantic import JsonValue

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

REAL = {"client", "begun", "started", "finished", "answers"}
"""Of evidence, what is told of the machine that emulates: its clock, its load, its paths."""

pytestmark = [pytest.mark.ray, pytest.mark.timeout(3600), pytest.mark.long]


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


def virtual(told: JsonValue) -> JsonValue:
    """Return what evidence tells of the emulated world."""
    match told:
        case dict():
            return {key: virtual(value) for key, value in told.items() if key not in REAL}
        case list():
            return [virtual(value) for value in told]
        case _:
            return told


@contextlib.contextmanager
def busy_loops() -> Iterator[None]:
    """Keep as many loops busy as there are cores, within the block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_a_rehearsal_comes_to_the_same_on_an_idle_machine_and_beside_busy_loops(
    autotune: Autotune, gsm8k: Path | None, tmp_path: Path
) -> None:
    if gsm8k is None:
        pytest.skip("GSM8K is not beside the project")
    path, found = space(load("L2"), tmp_path), []
    for machine in (contextlib.nullcontext, busy_loops):
        cwd = tmp_path / machine.__name__
        cwd.mkdir()
        options = ["--emulate", "--landscape", "L2", "--no-known", "--name", "same", "--trials", str(SHORT)]
        with machine():
            ran = autotune("study", path, *options, cwd=cwd, timeout_s=1500, AUTOTUNE_DATA=str(gsm8k))
        assert ran.returncode == 0, ran.stderr
        evidence = json.loads((cwd / "studies" / "same" / "evidence.json").read_text(encoding="utf-8"))
        assert len(evidence["trials"]) > SHORT
        found.append(virtual(evidence))
    assert found[0] == found[1]


@pytest.mark.campaign("rehearsal")
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
