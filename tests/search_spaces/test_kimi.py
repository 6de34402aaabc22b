"""Kimi-K2.5 on MI355X: what is known beforehand is what InferenceX #2213 merged, and the knobs are the landscape's."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from search_spaces import Choice, Config, SearchSpace, Serve, load, resolve

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"
LEVELS = {
    "tp": 2,
    "ep": 2,
    "kv": 2,
    "block": 4,
    "mnbt": 4,
    "mns": 5,
    "cg": 3,
    "gmu": 3,
    "async": 2,
    "prefix": 2,
    "qr": 5,
    "omp": 3,
    "sort": 3,
    **dict.fromkeys(("aiter", "moe", "mla", "rms", "linear", "fse", "skinny", "mxint", "bypass"), 2),
    **dict.fromkeys(("bmm", "rope", "persist", "scratch"), 2),
}


@pytest.fixture(scope="module")
def kimi() -> SearchSpace:
    """Return the space."""
    return load("kimik2.5-mi355x")


def published(name: str) -> dict[str, Any]:
    """Return a recipe of InferenceX as data."""
    recipe: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return recipe


def flags(argv: Sequence[str]) -> dict[str, str | None]:
    """Return each flag with its value, numbers in one way of writing them."""
    pairs = zip_longest(argv, argv[1:], fillvalue="--")
    values = {flag: None if value.startswith("-") else value for flag, value in pairs if flag.startswith("--")}
    return {
        flag: f"{float(value):g}" if value and re.fullmatch(r"[\d.]+", value) else value
        for flag, value in values.items()
    }


def said(serve: Serve) -> tuple[dict[str, str], dict[str, str | None]]:
    """Return the variables that are set, and the flags, that of the layout among them."""
    env = {name: value for name, value in serve.env.items() if value is not None}
    return env, {"--tensor-parallel-size": str(serve.layout["tp"]), **flags(serve.args)}


def known(space: SearchSpace, name: str) -> Config:
    """Return the config of a known recipe."""
    return next(dict(recipe.set) for recipe in space.known if recipe.name == name)


@pytest.mark.parametrize(("name", "gpus"), [("InferenceX #2213", "4"), ("InferenceX #2213 on eight GPUs", "8")])
def test_the_known_recipe_is_the_merged_one_at_every_concurrency(kimi: SearchSpace, name: str, gpus: str) -> None:
    merged = published("kimik2.5-2213")
    recipe = resolve(kimi, known(kimi, name))
    assert (recipe.target.image, recipe.target.model) == (merged["image"], merged["model"])
    assert (recipe.workload.input_tokens, recipe.workload.output_tokens) == (8192, 1024)
    assert set(recipe.workload.concurrency) <= set(merged["concurrency"])
    for concurrency in recipe.workload.concurrency:
        serve: Mapping[str, Any] = merged["serve"][gpus]
        assert said(recipe.at(concurrency)) == (serve["env"], flags(serve["argv"]))


def test_the_draft_asked_for_more_memory_than_was_merged(kimi: SearchSpace) -> None:
    draft = published("kimik2.5-2213-draft")["serve"]["4"]
    recipe = resolve(kimi, {**known(kimi, "InferenceX #2213"), "gmu": 0.9})
    assert said(recipe.serve) == (draft["env"], flags(draft["argv"]))


def test_the_baseline_is_what_was_there_before(kimi: SearchSpace) -> None:
    fingerprints = {each.name: resolve(kimi, dict(each.set)).fingerprint for each in kimi.known}
    assert len(set(fingerprints.values())) == len(fingerprints)
    assert fingerprints["InferenceX before #2213"] == resolve(kimi, {}).fingerprint


def test_there_is_a_knob_for_each_of_the_landscapes_parameters_with_as_many_levels(kimi: SearchSpace) -> None:
    domains = {name: knob.domain for name, knob in kimi.knobs.items()}
    assert {name: len(domain.values) for name, domain in domains.items() if isinstance(domain, Choice)} == LEVELS


def test_every_flag_and_variable_is_one_that_the_emulated_engine_reads(kimi: SearchSpace) -> None:
    names = (ROOT / "trials/engines/emulated/NAMES.md").read_text(encoding="utf-8")
    for name, knob in kimi.knobs.items():
        row = next(line for line in names.splitlines() if line.startswith(f"| {name} |"))
        place = knob.env or knob.switch or knob.json_flag or (knob.flag or ("--tensor-parallel-size",))[0]
        assert f"`{place}`" in row
