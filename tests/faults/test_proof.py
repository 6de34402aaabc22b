"""A whole study on the fake engine, of which one knob pays and one does nothing: real processes up to the recipe."""

import signal

import pytest

from search_spaces import load_recipe
from tests.fakes.bench import Bench

KNOBS = {
    "slow": {"flag": "--token-s", "choice": [0.04, 0.005]},
    "word": {"flag": "--word", "choice": [" word", " term"]},
}
BASELINE = {"slow": 0.04, "word": " word"}
KNOWN = [{"name": "fast", "set": {"slow": 0.005, "word": " term"}}]
BUDGET = {"trials": 1, "hours": 1, "confirm_launches": 2, "ablation_launches": 8, "regime_launches": 0}


@pytest.mark.long
def test_a_win_is_confirmed_taken_apart_and_reduced_across_two_sittings(bench: Bench) -> None:
    bench.write_space(KNOBS, BASELINE, known=KNOWN, budget=BUDGET, defaults={"keep": ["slow"]}, gate={"margin": 0.5})
    driver = bench.start("study", "fake.yaml", "--dispatcher", "local")
    bench.wait_for("confirm/03-D/outcome.json", saying="measured")
    driver.send_signal(signal.SIGTERM)
    driver.wait(timeout=60)
    made = {path.parent.name for path in bench.study.glob("confirm/*/outcome.json")}
    ran = bench.run("resume", "fake", timeout_s=240)
    assert ran.returncode == 0, ran.stderr
    folders = sorted(path.name for path in bench.study.glob("confirm/*"))
    assert made <= set(folders)
    assert [name.partition("-")[2] for name in folders[:3]] == ["A", "B", "D"]
    assert bench.evidence()["result"] == "win"
    assert {"A", "B", "D", "B-slow", "B-word"} <= {name.partition("-")[2] for name in folders}
    assert load_recipe(bench.study / "recipe.yaml").config["slow"] == 0.005
