"""Every shipped space, over thousands of drawn configs: what can be proposed, what is refused, and what would run."""

from pathlib import Path

import pytest

from search_spaces import Recipe, SearchSpace, load, names, resolve, source
from search_spaces.expression import same
from tests.search_spaces.drawn import DRAWS, Drawn, after, launches, levels, outcome

SHIPPED = names()
MI355X = sorted(set(SHIPPED) - {"demo"})
CONTEXTS = ("--max-model-len", "--context-length")
LEAST_CONTEXT = 9472
"""What the script of SemiAnalysisAI/InferenceX #2247 raises the served length to, or every question is refused."""


@pytest.mark.parametrize("name", SHIPPED)
def test_the_baseline_resolves_at_every_concurrency(spaces: dict[str, SearchSpace], name: str) -> None:
    recipe = resolve(spaces[name], {})
    assert recipe.config == dict(spaces[name].baseline)
    assert all(recipe.at(concurrency).args for concurrency in recipe.workload.concurrency)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_whole_space_survives_being_written(spaces: dict[str, SearchSpace], name: str, tmp_path: Path) -> None:
    space = spaces[name]
    path = tmp_path / f"{name}.yaml"
    path.write_text(source(space), encoding="utf-8")
    assert load(path) == space.model_copy(update={"folder": tmp_path})


@pytest.mark.parametrize("name", SHIPPED)
def test_everything_says_where_it_comes_from(spaces: dict[str, SearchSpace], name: str) -> None:
    space = spaces[name]
    placed = {**space.knobs, **space.derived}
    assert not [each for each, value in placed.items() if not value.source]
    assert not [rule.words for rule in space.rules if not rule.source]
    assert not [known.name for known in space.known if not known.source]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_value_of_every_knob_can_reach_the_engine(
    spaces: dict[str, SearchSpace], drawn: dict[str, Drawn], name: str
) -> None:
    space = spaces[name]
    near = [outcome(space, {each: value}) for each, knob in space.knobs.items() for value in levels(knob.domain)]
    found = [recipe for recipe in (*near, *(each for _, each in drawn[name])) if isinstance(recipe, Recipe)]
    unreached = {
        (each, value)
        for each, knob in space.knobs.items()
        for value in levels(knob.domain)
        if not any(same(recipe.config[each], value) for recipe in found)
    }
    assert not unreached


@pytest.mark.parametrize("name", SHIPPED)
def test_most_of_what_is_drawn_may_be_tried(drawn: dict[str, Drawn], name: str) -> None:
    tried = sum(isinstance(recipe, Recipe) for _, recipe in drawn[name])
    assert tried > DRAWS / 4


@pytest.mark.parametrize("name", SHIPPED)
def test_one_node_is_enough_and_no_config_lightens_the_model(drawn: dict[str, Drawn], name: str) -> None:
    for _, _, serve in launches(drawn[name]):
        assert serve.gpus in {1, 2, 4, 8}
        assert "--hf-overrides" not in serve.args  # InferenceX refuses what skips the model's work


@pytest.mark.parametrize("name", MI355X)
def test_the_served_length_has_room_for_what_the_gate_asks(drawn: dict[str, Drawn], name: str) -> None:
    served = {after(serve, flag) for _, _, serve in launches(drawn[name]) for flag in CONTEXTS} - {None}
    assert all(int(length) >= LEAST_CONTEXT for length in served if length)
    assert len(served) <= 1


@pytest.mark.parametrize("name", ["kimik2.5-mi355x", "dsv4-mi355x-vllm", "minimaxm3-mi355x-vllm"])
def test_shared_experts_are_never_fused_under_expert_parallelism(drawn: dict[str, Drawn], name: str) -> None:
    parallel = [serve for _, _, serve in launches(drawn[name]) if "--enable-expert-parallel" in serve.args]
    assert parallel
    assert {serve.env["VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS"] for serve in parallel} == {None}


def test_without_aiter_none_of_its_switches_is_moved(spaces: dict[str, SearchSpace], drawn: dict[str, Drawn]) -> None:
    baseline = resolve(spaces["kimik2.5-mi355x"], {}).serve.env
    without = [s for _, _, s in launches(drawn["kimik2.5-mi355x"]) if s.env["VLLM_ROCM_USE_AITER"] == "0"]
    assert without
    assert {item for serve in without for item in serve.env.items() if "AITER_" in item[0]} == {
        item for item in baseline.items() if "AITER_" in item[0]
    }


def test_atoms_data_parallel_attention_runs_as_many_sequences_as_are_sent(drawn: dict[str, Drawn]) -> None:
    found = list(launches(drawn["kimik2.5-mi355x-atom"]))
    parallel = [(point, serve) for _, point, serve in found if "--enable-dp-attention" in serve.args]
    assert parallel
    assert all(after(serve, "--max-num-seqs") == str(point) for point, serve in parallel)
    overlapped = [(point, serve) for _, point, serve in found if "--enable-tbo" in serve.args]
    assert overlapped
    for point, serve in overlapped:
        assert point >= 64
        assert "--enable-dp-attention" in serve.args
        assert serve.env["GPU_MAX_HW_QUEUES"] == "5"


def test_sglangs_data_parallel_attention_comes_with_all_that_belongs_to_it(drawn: dict[str, Drawn]) -> None:
    bundle = ("SHARED_EXPERT_TP1", "DP_SHARED_EXPERT_LOCAL", "DP_USE_GATHERV", "DP_USE_REDUCE_SCATTER")
    for config, _, serve in launches(drawn["dsv4-mi355x-sglang"]):
        parallel = "--enable-dp-attention" in serve.args
        assert {serve.env[f"SGLANG_{name}"] for name in bundle} == {"1" if parallel else None}
        assert serve.env["GPU_MAX_HW_QUEUES"] == ("5" if parallel else None)
        assert after(serve, "--dp") == (str(serve.layout["tp"]) if parallel else None)
        ranks = serve.layout["tp"] if parallel else 1
        assert after(serve, "--chunked-prefill-size") == str(int(config["chunk"]) * ranks)


def test_a_shuffled_cache_has_one_head_a_rank_and_eight_bits(drawn: dict[str, Drawn]) -> None:
    found = [serve for _, _, serve in launches(drawn["minimaxm3-mi355x-vllm"])]
    shuffled = [serve for serve in found if serve.env["VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT"] == "1"]
    assert {(serve.layout["tp"], after(serve, "--kv-cache-dtype")) for serve in shuffled} == {(4, "fp8")}


def test_no_emulated_experts_under_expert_parallelism(drawn: dict[str, Drawn]) -> None:
    found = [serve for _, _, serve in launches(drawn["minimaxm3-mi355x-vllm"])]
    assert {after(s, "--moe-backend") for s in found if "--enable-expert-parallel" in s.args} == {"aiter"}


def test_the_ranks_share_the_cache_in_host_memory(drawn: dict[str, Drawn]) -> None:
    for config, point, serve in launches(drawn["kimik3-mi355x-atom"]):
        size = serve.env["LMCACHE_MAX_LOCAL_CPU_SIZE"]
        assert (size is None) == ("--kv-transfer-config" not in serve.args)
        assert size is None or int(size) == int(config["cache_gb"]) // 8
        assert point != 1 or size is None or config["offload_from"] == 1


@pytest.mark.parametrize(
    ("drafts", "length"), [(1, 1.85), (2, 2.51), (3, 3.0), (4, 3.36), (5, 3.62), (6, 3.75), (7, 3.84), (8, 4.0)]
)
def test_drafts_are_accepted_as_often_as_the_golden_length_says(drafts: int, length: float) -> None:
    recipe = resolve(load("kimik3-mi355x-atom"), {"draft_tokens": drafts})
    rate = after(recipe.at(8), "--spec-decode-acceptance-rate")
    assert float(rate or 0) == pytest.approx((length - 1) / drafts, abs=1e-12)


def test_the_gate_reads_text_that_was_verified() -> None:
    recipe = resolve(load("kimik3-mi355x-atom"), {})
    for point in recipe.workload.concurrency:
        assert after(recipe.judged_at(point), "--spec-decode-acceptance-rate") is None
        assert after(recipe.judged_at(point), "--num-speculative-tokens") is not None


def test_kimi_k3_has_the_published_settings_at_each_concurrency() -> None:
    recipe = resolve(load("kimik3-mi355x-atom"), {})
    flags = ("--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization", "--state-checkpoint-slots")
    at = {point: tuple(after(recipe.at(point), flag) for flag in flags) for point in recipe.workload.concurrency}
    assert at == {
        1: ("32", "8192", "0.88", None),
        4: ("32", "8192", "0.88", None),
        8: ("16", "8192", "0.88", "16"),
        10: ("16", "4096", "0.9", "16"),
    }
    assert [recipe.at(point).env["LMCACHE_MAX_LOCAL_CPU_SIZE"] for point in at] == [None, None, "32", "32"]
    assert [recipe.at(point).env["ATOM_ENABLE_REPLAYSSM"] for point in at] == ["0", "0", "1", "0"]
    assert [after(recipe.at(point), "--num-speculative-tokens") for point in at] == ["6", "2", "2", "2"]
    assert after(recipe.at(4), "--spec-decode-acceptance-rate") == "0.755"
    assert {recipe.at(point).env["AITER_LOG_LEVEL"] for point in at} == {"WARNING"}


def test_deepseek_r1_prefills_less_at_once_where_many_wait() -> None:
    recipe = resolve(load("dsr1-mi355x-sglang"), {})
    chunks = [after(recipe.at(point), "--chunked-prefill-size") for point in recipe.workload.concurrency]
    assert chunks == ["196608", "196608", "32768"]
    assert after(recipe.at(64), "--max-prefill-tokens") == "32768"
