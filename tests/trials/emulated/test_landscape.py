"""The landscape against the evaluations that came with it: some kept here, all of them where they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from trials.engines.emulated.config import config
from trials.engines.emulated.failures import accuracy, failure, start_minutes
from trials.engines.emulated.landscape import NAMES, captures, kv_tokens, load, objective, point, step_ms

KEPT = Path(__file__).parents[2] / "data" / "landscape" / "rows.json"
ALL = Path(__file__).parents[4] / "shared" / "data" / "landscape"
CLOSE = 1e-9
Row = dict[str, Any]


def kept(name: str) -> list[Row]:
    """Return the evaluations of a landscape that are kept here."""
    rows: list[Row] = json.loads(KEPT.read_text())[name]
    return rows


def check(name: str, row: Row) -> None:
    """Compare everything that an evaluation says."""
    landscape, chosen = load(name), config(row["config"])
    assert objective(landscape, chosen) == pytest.approx(row["objective"], rel=CLOSE)
    for concurrency, expected in row["points"].items():
        found = point(landscape, chosen, int(concurrency))._asdict()
        assert {field: found[field] for field in expected} == pytest.approx(expected, rel=CLOSE)
    found_failure = failure(landscape, chosen)
    assert (found_failure.kind if found_failure else None) == row["fail"]
    assert (found_failure.minutes if found_failure else None) == row["fail_minutes"]
    assert accuracy(landscape, chosen) == pytest.approx(row["accuracy"], rel=CLOSE)
    assert start_minutes(chosen) == pytest.approx(row["start_minutes"], rel=CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_a_landscape_says_what_its_reference_says(name: str) -> None:
    for row in kept(name):
        check(name, row)


@pytest.mark.parametrize("name", NAMES)
def test_a_landscape_says_what_all_of_its_reference_says(name: str) -> None:
    if not (path := ALL / f"{name}.json").is_file():
        pytest.skip(f"the whole reference is not here: {path}")
    for row in json.loads(path.read_text())["reference"]:
        check(name, row)


@pytest.mark.parametrize("name", NAMES)
def test_the_best_config_is_as_good_as_its_landscape_says_and_serves(name: str) -> None:
    landscape = load(name)
    assert objective(landscape, landscape.best) == pytest.approx(landscape.best_objective, rel=CLOSE)
    assert failure(landscape, landscape.best) is None
    assert accuracy(landscape, landscape.best) >= landscape.gate


def test_an_unknown_landscape_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="there are L0, L1, L2"):
        load("L9")


def test_a_config_without_a_value_is_refused() -> None:
    values = load("L0").baseline._asdict()
    del values["async_"]
    with pytest.raises(ValueError, match="see async_"):
        config(values)


def test_the_kv_cache_holds_as_many_tokens_as_published() -> None:
    base = load("L0").baseline
    assert kv_tokens(load("L0"), base) == pytest.approx(1_358_885, rel=1e-5)
    assert kv_tokens(load("L0"), base._replace(kv="fp8", mnbt=32768, mns=256)) == pytest.approx(2_730_007, rel=1e-5)


def test_weights_on_two_gpus_do_not_fit() -> None:
    landscape = load("L0")
    found = failure(landscape, landscape.baseline._replace(tp=2))
    assert found is not None
    assert found.kind == "oom_start"


def test_without_the_mla_kernel_full_graphs_are_not_used() -> None:
    chosen = load("L0").baseline._replace(cg="FULL_AND_PIECEWISE")
    assert captures(chosen) == "FULL_AND_PIECEWISE"
    assert captures(chosen._replace(mla=0)) == captures(chosen._replace(aiter=0)) == "PIECEWISE"


def test_a_larger_batch_takes_longer() -> None:
    landscape = load("L0")
    steps = [step_ms(landscape, landscape.baseline, batch, 8704) for batch in (32, 64, 128)]
    assert steps == sorted(steps)


def test_requests_beyond_the_batch_wait_for_a_whole_cycle() -> None:
    landscape = load("L0")
    narrow = point(landscape, landscape.baseline._replace(mns=64), 128)
    full = point(landscape, landscape.baseline._replace(mns=64), 64)
    assert narrow.total_tok_per_s_per_gpu == pytest.approx(full.total_tok_per_s_per_gpu)
    assert narrow.ttft_ms == pytest.approx(full.ttft_ms + full.cycle_s * 1e3)


def test_a_kv_cache_that_is_too_small_preempts() -> None:
    landscape = load("L0")
    tight = point(landscape, landscape.baseline._replace(gmu=0.62), 64)
    assert tight.batch < 64
    assert tight.slowdown > 1
