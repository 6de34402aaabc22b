"""`autotune compare`, `bisect` and `noise` on emulated engines, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.autotune.comparing import EMULATED
from tests.conftest import Autotune

QUICK = ("--emulate", "--noise", "0.001", "--dispatcher", "local")
BAD_INPUT, EXISTS = 2, 4


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a user's folder with a space in it."""
    (tmp_path / "it.yaml").write_text(EMULATED, encoding="utf-8")
    return tmp_path


def last(stdout: str) -> dict[str, Any]:
    """Return the JSON object that ends what was printed."""
    record: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    return record


@pytest.mark.long
def test_a_faster_image_wins_and_the_evidence_says_so(autotune: Autotune, home: Path) -> None:
    images = ("--image-a", "emulated:a", "--image-b", "emulated:b?rate=1.1")
    ran = autotune("compare", "it.yaml", "it.yaml", *images, *QUICK, "--name", "ab", cwd=home, AUTOTUNE_DATA=str(home))
    assert ran.returncode == 0, ran.stderr
    assert "EMULATED B is faster than A: +" in ran.stdout
    evidence = json.loads((home / "comparisons/ab/evidence.json").read_text())
    assert (evidence["emulated"], evidence["result"]) == (True, "win")
    assert evidence["comparison"]["overall"]["change"] == pytest.approx(0.1, abs=0.01)
    first = json.loads((home / "comparisons/ab/00-A/outcome.json").read_text())
    assert first["judged"][0]["verdict"]["asked"] == 24
    again = autotune("compare", "it.yaml", "it.yaml", *images, *QUICK, "--name", "ab", cwd=home)
    assert again.returncode == EXISTS
    resumed = autotune(
        "compare", "it.yaml", "it.yaml", *images, *QUICK, "--name", "ab", "--resume", "--json", cwd=home,
        AUTOTUNE_DATA=str(home),
    )  # fmt: skip
    assert len(resumed.stdout.splitlines()) == 1, resumed.stderr
    assert last(resumed.stdout)["result"] == "win"


@pytest.mark.long
def test_a_long_context_that_loses_is_found_and_not_claimed_at_a_short_one(autotune: Autotune, home: Path) -> None:
    images = ("--image-a", "emulated:v0.18?persist=0", "--image-b", "emulated:v0.22")
    sweep = ("--context-sweep", "4x1000,16x50000", "--name", "sweep", "--json")
    ran = autotune("compare", "it.yaml", "it.yaml", *images, *QUICK, *sweep, cwd=home, AUTOTUNE_DATA=str(home))
    assert ran.returncode == 0, ran.stderr
    found = last(ran.stdout)
    assert {cell["context"]: cell["result"] for cell in found["cells"]}[50000] == "loss"
    assert {cell["context"]: cell["result"] for cell in found["cells"]}[1000] in {"tie", "win"}
    assert (found["crossover"]["after"], found["crossover"]["at"]) == (4000, 800000)
    assert "B slower from 800,000 tokens" in (home / "comparisons/sweep/plots/crossover.svg").read_text()
    assert "[" in (home / "comparisons/sweep/sweep.md").read_text()


@pytest.mark.long
def test_of_five_images_the_first_slower_one_is_found(autotune: Autotune, home: Path) -> None:
    names = [f"emulated:v{number}" + ("?rate=0.94" if number >= 4 else "") for number in range(1, 6)]
    images = [word for name in names for word in ("--image", name)]
    ran = autotune("bisect", "it.yaml", *images, *QUICK, "--json", cwd=home, AUTOTUNE_DATA=str(home))
    assert ran.returncode == 0, ran.stderr
    assert last(ran.stdout)["first_worse"] == "emulated:v4?rate=0.94"
    asked = sorted(path.name for path in (home / "comparisons/bisect-it.yaml").iterdir())
    assert asked == ["0-against-2", "0-against-3", "0-against-4"]
    assert len(list((home / "comparisons").rglob("outcome.json"))) <= 3 * 2 * 3


@pytest.mark.long
def test_noise_is_measured_once_and_used_by_the_next_comparison(autotune: Autotune, home: Path) -> None:
    ran = autotune("noise", "it.yaml", *QUICK, "--launches", "4", cwd=home, AUTOTUNE_DATA=str(home / "data"))
    assert ran.returncode == 0, ran.stderr
    assert "EMULATED launch sd" in ran.stdout
    (kept,) = (home / "data/noise").iterdir()
    sd = json.loads(kept.read_text())["objective"]["sd"]
    ran = autotune(
        "compare", "it.yaml", "it.yaml", *QUICK, "--json", "--max-launches", "2", cwd=home,
        AUTOTUNE_DATA=str(home / "data"),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert last(ran.stdout)["known_sd"] == sd


def test_an_image_that_can_not_be_emulated_is_refused(autotune: Autotune, home: Path) -> None:
    ran = autotune("compare", "it.yaml", "it.yaml", "--image-b", "vllm:1", *QUICK, cwd=home)
    assert (ran.returncode, "is not emulated" in ran.stderr) == (BAD_INPUT, True)
