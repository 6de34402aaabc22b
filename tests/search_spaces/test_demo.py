"""The demo's space: it is what the demo says, and its files are the ones that were measured."""

import hashlib

import pytest

from search_spaces import RuleBroken, SearchSpace, load, resolve, serves


@pytest.fixture(scope="module")
def demo() -> SearchSpace:
    """Return the demo's space."""
    return load("demo")


def test_the_adapter_beside_the_space_is_the_one_that_was_measured(demo: SearchSpace) -> None:
    adapter = demo.target.files["adapter"]
    path = adapter.locate(data_root=demo.folder, space_folder=demo.folder)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == adapter.sha256


def test_one_engine_serves_the_whole_ladder(demo: SearchSpace) -> None:
    [(serve, ladder)] = serves(resolve(demo, {}))
    assert ladder == demo.workload.concurrency
    assert serve.gpus == 1
    assert serve.args[:4] == ("--model", "${weights}", "--lora", "${adapter}")


def test_a_physical_batch_above_the_logical_one_is_forbidden(demo: SearchSpace) -> None:
    with pytest.raises(RuleBroken, match=r"require ubatch <= \$batch"):
        resolve(demo, {"batch": 256, "ubatch": 512})


def test_the_engine_itself_must_refuse_a_quantised_cache_without_flash_attention(demo: SearchSpace) -> None:
    args = resolve(demo, {"flash_attn": "off", "cache_type": "q4_0"}).serve.args
    assert {"--flash-attn", "off", "--cache-type-v", "q4_0"} <= set(args)
