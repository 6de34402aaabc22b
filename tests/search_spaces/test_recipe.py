"""A recipe: the exact command and environment at every concurrency, and when two recipes are one."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from search_spaces import (
    Recipe,
    RuleBroken,
    Scalar,
    SearchSpace,
    Serve,
    SpaceError,
    differences,
    parse_setting,
    resolve,
    serves,
)

Data = dict[str, Any]
Loaded = Callable[[Data], SearchSpace]


def after(serve: Serve, flag: str) -> str:
    """Return the argument that follows a flag."""
    return next(value for name, value in pairwise(serve.args) if name == flag)


def test_fixed_arguments_come_first_then_knobs_then_derived_values(data: Data, loaded: Loaded) -> None:
    data["derived"] = {"per_thread": {"flag": "--per-thread", "value": {"div": [3, "$threads"]}}}
    assert resolve(loaded(data), {"cache": "q8_0"}).serve.args == (
        *("--model", "${weights}", "--ctx-size", "4096"),
        *("--threads", "2"),
        *("--cache-type-k", "q8_0", "--cache-type-v", "q8_0"),
        "--no-kv-unified",
        *("--per-thread", "1.5"),
    )


def test_a_switch_says_true_false_or_nothing(vllm_like: SearchSpace) -> None:
    flags = {"--async-scheduling", "--no-async-scheduling", "--trust-remote-code", "--no-trust-remote-code"}

    def said(**config: Scalar) -> set[str]:
        return flags & set(resolve(vllm_like, config).serve.args)

    assert said() == set()
    assert said(async_scheduling=True, trust=True) == {"--async-scheduling", "--trust-remote-code"}
    assert said(async_scheduling=False) == {"--no-async-scheduling"}


def test_knobs_of_one_json_flag_merge_into_one_sorted_object(vllm_like: SearchSpace) -> None:
    assert after(resolve(vllm_like, {}).serve, "--compilation-config") == '{"cudagraph_mode":"FULL_AND_PIECEWISE"}'
    serve = resolve(vllm_like, {"fuse_allreduce_rms": False, "speculative": True, "draft_tokens": 3}).serve
    assert after(serve, "--compilation-config") == (
        '{"cudagraph_mode":"FULL_AND_PIECEWISE","max_cudagraph_capture_size":1024,'
        '"pass_config":{"fuse_allreduce_rms":false}}'
    )
    assert after(serve, "--speculative-config") == '{"method":"mtp","num_speculative_tokens":3}'
    assert serve.args.count("--compilation-config") == 1


def test_a_json_flag_without_a_value_is_left_out(vllm_like: SearchSpace) -> None:
    assert "--speculative-config" not in resolve(vllm_like, {}).serve.args


def test_an_unset_variable_is_taken_out_of_the_environment(vllm_like: SearchSpace) -> None:
    assert resolve(vllm_like, {}).serve.env == {
        "OMP_NUM_THREADS": "1",
        "HSA_NO_SCRATCH_RECLAIM": None,
        "VLLM_ROCM_USE_AITER": None,
        "VLLM_ROCM_USE_AITER_RMSNORM": "0",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "31",
    }
    assert resolve(vllm_like, {"aiter": "1"}).serve.env["VLLM_ROCM_USE_AITER"] == "1"


def test_the_layout_counts_the_gpus(vllm_like: SearchSpace) -> None:
    assert resolve(vllm_like, {"tp": 4}).serve.layout == {"tp": 4, "ep": 1}
    assert resolve(vllm_like, {"tp": 4, "ep": 8}).serve.gpus == 4
    assert Serve(layout={"tp": 2, "pp": 2, "dp": 3, "ep": 8}).gpus == 12
    assert Serve().gpus == 1


def test_overrides_hold_only_the_concurrencies_that_differ(vllm_like: SearchSpace) -> None:
    recipe = resolve(vllm_like, {})
    assert list(recipe.overrides) == [64, 128]
    assert [after(recipe.at(c), "--max-num-seqs") for c in (4, 16, 64, 128)] == ["256", "256", "512", "1024"]
    assert resolve(vllm_like, {"max_num_seqs": 300}).overrides == {}


def test_a_recipe_knows_only_its_ladder(vllm_like: SearchSpace) -> None:
    with pytest.raises(SpaceError, match="concurrency 32 is not on the ladder; choose of 4, 16, 64, 128"):
        resolve(vllm_like, {}).at(32)


def test_the_launches_of_a_recipe_come_in_the_order_of_the_ladder(vllm_like: SearchSpace) -> None:
    recipe = resolve(vllm_like, {})
    assert [ladder for _, ladder in serves(recipe)] == [(4, 16), (64,), (128,)]
    assert [serve for serve, _ in serves(recipe)] == [recipe.at(4), recipe.at(64), recipe.at(128)]
    assert serves(resolve(vllm_like, {"max_num_seqs": 300}))[0][1] == (4, 16, 64, 128)


def test_a_launch_is_shared_by_points_that_are_not_neighbours(data: Data, loaded: Loaded) -> None:
    data["workload"]["concurrency"] = [1, 2, 4]
    data["overrides"] = [{"concurrency": 2, "set": {"threads": 1}}]
    assert [ladder for _, ladder in serves(resolve(loaded(data), {}))] == [(1, 4), (2,)]


def test_configs_that_come_to_the_same_have_one_fingerprint(vllm_like: SearchSpace) -> None:
    baseline = resolve(vllm_like, {})
    assert resolve(vllm_like, vllm_like.baseline).fingerprint == baseline.fingerprint
    assert resolve(vllm_like, {"draft_tokens": 6}).fingerprint == baseline.fingerprint
    assert resolve(vllm_like, {"draft_tokens": 6}).config == baseline.config
    assert resolve(vllm_like, {"tp": 1, "ep": 8}).fingerprint == resolve(vllm_like, {"tp": 1}).fingerprint
    assert resolve(vllm_like, {"tp": 4}).fingerprint != baseline.fingerprint


def test_the_fingerprint_is_of_what_runs_not_of_its_names(vllm_like: SearchSpace) -> None:
    recipe = resolve(vllm_like, {})
    same = recipe.model_copy(update={"space": "other", "config": {}})
    assert same.fingerprint == recipe.fingerprint
    image = recipe.target.model_copy(update={"image": "another:1"})
    workload = recipe.workload.model_copy(update={"waves": 21})
    changed = [recipe.model_copy(update=update) for update in ({"target": image}, {"workload": workload})]
    assert len({recipe.fingerprint, *(other.fingerprint for other in changed)}) == 3
    assert len(recipe.fingerprint) == 64


def test_without_a_variable_what_differs_in_it_alone_is_one_start(vllm_like: SearchSpace) -> None:
    starts = {
        "serve": Serve(env={"A": "1", "B": None}, args=("--x",)),
        "overrides": {2: Serve(env={"A": "2", "B": None}, args=("--x",)), 4: Serve(env={"A": "2"}, args=("--y",))},
        "judged": {4: Serve(env={"A": "3"}, args=("--y",))},
    }
    told = resolve(vllm_like, {}).model_copy(update=starts)
    bare = told.without({"A"})
    assert (bare.serve.env, bare.overrides, bare.judged) == ({"B": None}, {4: Serve(args=("--y",))}, {})
    assert bare.fingerprint != told.fingerprint
    assert told.without({"C"}) == told


def test_the_fingerprint_of_a_recipe_does_not_change_between_versions(data: Data, loaded: Loaded) -> None:
    """A study finds its outcomes by it: changing how it is computed forgets every study."""
    known = "c5ff8624e72fb10e92f0d122e2783f573e5c27b3d6adebbbb30c9d89025cd5f7"
    assert resolve(loaded(data), {}).fingerprint == known
    data["target"]["files"]["weights"]["get"] = "copy them"
    assert resolve(loaded(data), {}).fingerprint == known


def test_how_to_get_a_trace_is_no_part_of_what_is_measured(data: Data, loaded: Loaded) -> None:
    def fingerprint(**get: str) -> str:
        shape = {"kind": "trace", "file": {"data": "trace.jsonl", **get}}
        data.update(workload={"shape": shape, "concurrency": [1]})
        data["deadlines"]["load_s"] = 60
        return resolve(loaded(data), {}).fingerprint

    assert fingerprint() == fingerprint(get="write one")


def test_the_config_of_a_recipe_resolves_to_the_recipe(vllm_like: SearchSpace) -> None:
    for config in ({}, {"tp": 1, "ep": 8}, {"draft_tokens": 4}, {"max_num_seqs": 512, "speculative": True}):
        recipe = resolve(vllm_like, config)
        assert resolve(vllm_like, recipe.config) == recipe


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tpp": 8}, "tpp: unknown knob; did you mean 'tp'?"),
        ({"tp": 2}, "tp: 2 is not one of 1, 4, 8"),
        ({"aiter": 1}, "aiter: 1 is not one of unset, 0, 1; quote it: '1'"),
    ],
)
def test_a_config_of_another_space_is_refused(vllm_like: SearchSpace, config: dict[str, Scalar], message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        resolve(vllm_like, config)
    assert str(caught.value) == message


def test_a_config_that_breaks_a_rule_anywhere_on_the_ladder_is_refused(vllm_like: SearchSpace) -> None:
    with pytest.raises(RuleBroken, match="a rank must have a sequence"):
        resolve(vllm_like, {"max_num_seqs": 4})


def test_differences_are_told_with_both_values(vllm_like: SearchSpace) -> None:
    assert differences(vllm_like, {"tp": 4, "ep": 1, "gpu_memory": 0.9}) == {"tp": (8, 4), "gpu_memory": (0.85, 0.9)}
    assert differences(vllm_like, vllm_like.baseline) == {}


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("tp=4", ("tp", 4)),
        ("gpu_memory=0.9", ("gpu_memory", 0.9)),
        ("aiter=1", ("aiter", "1")),
        ("async_scheduling=false", ("async_scheduling", False)),
        ("cudagraph=PIECEWISE", ("cudagraph", "PIECEWISE")),
    ],
)
def test_a_setting_has_the_type_of_its_knob(vllm_like: SearchSpace, text: str, setting: tuple[str, Scalar]) -> None:
    name, value = parse_setting(vllm_like, text)
    assert (name, value) == setting
    assert type(value) is type(setting[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tp", "'tp' is no setting; write knob=value"),
        ("trusted=4", "trusted: unknown knob; did you mean 'trust'?"),
        ("tp=four", "tp: 'four' is not one of 1, 4, 8"),
        ("cudagraph=PIECEWIZE", "cudagraph: 'PIECEWIZE' is not one of"),
    ],
)
def test_what_is_no_setting_is_refused(vllm_like: SearchSpace, text: str, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        parse_setting(vllm_like, text)
    assert str(caught.value).startswith(message)


def test_a_recipe_survives_being_written_as_plain_data(vllm_like: SearchSpace) -> None:
    recipe = resolve(vllm_like, {"speculative": True})
    plain = json.loads(json.dumps(recipe.model_dump(mode="json")))
    assert Recipe.model_validate(plain) == recipe
    assert Recipe.model_validate(plain).fingerprint == recipe.fingerprint


def test_the_gate_may_need_a_launch_of_its_own(data: Data, loaded: Loaded) -> None:
    data["derived"] = {"forced": {"flag": "--forced", "value": 0.75, "when": {"judging": False, "concurrency": 4}}}
    recipe = resolve(loaded(data), {})
    assert after(recipe.at(4), "--forced") == "0.75"
    assert list(recipe.judged) == [4]
    assert "--forced" not in recipe.judged_at(4).args
    assert recipe.judged_at(1) == recipe.at(1)
    with pytest.raises(SpaceError, match="concurrency 2 is not on the ladder"):
        recipe.judged_at(2)
    assert recipe.fingerprint != recipe.model_copy(update={"judged": {}}).fingerprint


def test_mostly_the_gate_is_asked_where_the_load_was(vllm_like: SearchSpace) -> None:
    recipe = resolve(vllm_like, {})
    assert recipe.judged == {}
    assert all(recipe.judged_at(point) == recipe.at(point) for point in recipe.workload.concurrency)
