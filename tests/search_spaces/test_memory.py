"""The memory model: it accepts what was published, refuses what cannot start, and shows its arithmetic."""

from dataclasses import replace
from typing import Any

import pytest

from search_spaces import Config, Hardware, RuleBroken, SearchSpace, SpaceError, estimate, hardware_of, load, shortage
from search_spaces.memory import Estimate

Data = dict[str, Any]
MI355X = hardware_of("mi355x")

PUBLISHED = [  # SemiAnalysisAI/InferenceX 843c6254 configs/amd-master.yaml, configs/deprecated: all are 8k in, 1k out
    ("kimik2.5-mi355x", {"tp": 4, "gmu": 0.85, "kv": "fp8", "mnbt": 16384}),
    ("kimik2.5-mi355x", {"tp": 8, "gmu": 0.85, "kv": "fp8", "mnbt": 16384}),
    ("kimik2.5-mi355x", {"tp": 4, "gmu": 0.9, "block": 1}),
    ("kimik2.5-mi355x-atom", {"tp": 4}),
    ("kimik3-mi355x-atom", {}),
    ("dsv4-mi355x-vllm", {"dp": 1}),
    ("dsv4-mi355x-sglang", {"tp": 4}),
    ("dsv4-mi355x-sglang", {"tp": 4, "dp_attention_from": 16}),
    ("dsv4-mi355x-sglang", {"tp": 8}),
    ("minimaxm3-mi355x-vllm", {"tp": 2}),
    ("minimaxm3-mi355x-vllm", {"tp": 4}),
    ("qwen3.5-mi355x-sglang", {"tp": 2}),
    ("qwen3.5-mi355x-sglang", {"tp": 4}),
    ("dsr1-mi355x-sglang", {"tp": 4}),
    ("dsr1-mi355x-sglang", {"tp": 8}),
]

DSV4_ATOM = Estimate(
    weights_gb=806, gpus=4, activation_bytes=68.7e9, kv_bytes_per_token=0, kv_tokens=0, share=0.9, memory_gib=268.2
)
"""DeepSeek-V4-Pro with ATOM, four GPUs and MTP: 201 GB of weights a GPU, and -10.98 GB were left for the KV cache.
InferenceX configs/amd-master.yaml:1264; of 288 x 10^9 bytes the log's numbers leave 68.7 for the activations."""


def complete(space: SearchSpace, config: Config) -> Config:
    """Return the baseline with these knobs moved."""
    return {**space.baseline, **config}


def kimi_on(data: Data, gpus: int) -> SearchSpace:
    """Return Kimi-K2.5's space with another count of GPUs as its baseline."""
    knobs = {**data["knobs"], "tp": {"layout": "tp", "choice": [gpus]}}
    return SearchSpace.model_validate(
        {**data, "knobs": knobs, "baseline": {**data["baseline"], "tp": gpus}, "known": ()}
    )


@pytest.fixture(scope="module")
def kimi() -> Data:
    """Return the plain data of Kimi-K2.5's space."""
    return load("kimik2.5-mi355x").model_dump(exclude={"name", "folder"}, exclude_defaults=True)


@pytest.mark.parametrize(("name", "config"), PUBLISHED)
def test_what_was_published_fits(name: str, config: Config) -> None:
    space = load(name)
    assert shortage(space, complete(space, config), MI355X) is None


def test_two_gpus_do_not_hold_kimi_and_the_arithmetic_says_so(kimi: Data) -> None:
    space = kimi_on(kimi, 2)
    assert shortage(space, dict(space.baseline), MI355X) == (
        "at concurrency 4 one GPU is too small: weights 557 GB / 2 = 259.4 GiB + activations 0.2 GiB"
        " + KV cache 9472 tokens x 70272 B = 0.6 GiB: 260.2 GiB do not fit in 0.9 x 288 GiB = 259.2 GiB"
    )


def test_a_smaller_gpu_needs_more_of_them(kimi: Data) -> None:
    h200 = hardware_of("h200")
    assert shortage(kimi_on(kimi, 4), dict(kimi_on(kimi, 4).baseline), h200) is not None
    assert shortage(kimi_on(kimi, 8), dict(kimi_on(kimi, 8).baseline), h200) is None


def test_what_ran_out_of_memory_is_refused_by_what_it_was_short_of() -> None:
    assert not DSV4_ATOM.fits
    assert (DSV4_ATOM.budget_gib - DSV4_ATOM.needed_gib) * 1.0737 == pytest.approx(-10.98, abs=0.1)
    assert replace(DSV4_ATOM, gpus=8).fits


def test_each_term_grows_with_what_it_is_made_of() -> None:
    fits = Estimate(
        weights_gb=100,
        gpus=4,
        activation_bytes=2**30,
        kv_bytes_per_token=2**20,
        kv_tokens=1024,
        share=0.5,
        memory_gib=60,
    )
    assert fits.fits
    assert fits.needed_gib == pytest.approx(100e9 / 4 / 2**30 + 2)
    changes: list[dict[str, float]] = [
        {"weights_gb": 130},
        {"gpus": 3},
        {"activation_bytes": 2**33},
        {"kv_tokens": 10240},
        {"kv_bytes_per_token": 2**24},
        {"share": 0.4},
        {"memory_gib": 48},
    ]
    assert not [change for change in changes if replace(fits, **change).fits]


def test_an_fp8_cache_takes_half() -> None:
    space = load("kimik2.5-mi355x")
    auto, fp8 = (estimate(space, complete(space, {"kv": kv}), 4, MI355X) for kv in ("auto", "fp8"))
    assert auto is not None
    assert fp8 is not None
    assert auto.kv_gib == 2 * fp8.kv_gib
    assert auto.kv_bytes_per_token == 70272


def test_what_is_not_known_is_neither_counted_nor_said() -> None:
    space = load("dsv4-mi355x-vllm")
    found = estimate(space, dict(space.baseline), 4, MI355X)
    assert found is not None
    assert found.words == "weights 805 GB / 8 = 93.7 GiB: 93.7 GiB in 0.8 x 288 GiB = 230.4 GiB"


def test_without_sizes_or_without_gpus_nothing_is_refused() -> None:
    demo, kimi = load("demo"), load("kimik2.5-mi355x")
    assert shortage(demo, dict(demo.baseline), MI355X) is None
    assert shortage(kimi, dict(kimi.baseline), Hardware(source="none")) is None


def test_a_size_that_cannot_be_computed_is_the_configs_fault(kimi: Data) -> None:
    space = SearchSpace.model_validate({**kimi, "memory": {**kimi["memory"], "share": "$kv"}})
    with pytest.raises(RuleBroken, match=r"memory\.share, because it needs a number, not 'auto'"):
        shortage(space, dict(space.baseline), MI355X)
    space = SearchSpace.model_validate({**kimi, "memory": {**kimi["memory"], "gpus": {"mul": [2, "$kv"]}}})
    with pytest.raises(RuleBroken, match=r"memory\.gpus, because mul needs numbers, not 'auto'"):
        shortage(space, dict(space.baseline), MI355X)


def test_unknown_hardware_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match="mi355: unknown hardware; did you mean 'mi355x'"):
        hardware_of("mi355")
