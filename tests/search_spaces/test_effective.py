"""What a config comes to at a concurrency: overrides, inactive knobs, implications, derived values and rules."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from search_spaces import RuleBroken, Scalar, SearchSpace
from search_spaces.effective import activation_order, baseline_at, values_at

Data = dict[str, Any]
Loaded = Callable[[Data], SearchSpace]


def at(space: SearchSpace, concurrency: int, **config: Scalar) -> dict[str, Scalar]:
    """Return the values of a config that is given by its differences from the baseline."""
    return values_at(space, {**space.baseline, **config}, concurrency)


def test_the_baseline_changes_with_the_concurrency_and_the_last_override_wins(vllm_like: SearchSpace) -> None:
    seqs = {c: baseline_at(vllm_like, c)["max_num_seqs"] for c in vllm_like.workload.concurrency}
    assert seqs == {4: 256, 16: 256, 64: 512, 128: 1024}


def test_an_override_leaves_a_chosen_value_alone(vllm_like: SearchSpace) -> None:
    assert at(vllm_like, 128, max_num_seqs=64)["max_num_seqs"] == 64
    assert at(vllm_like, 128, max_num_seqs=256)["max_num_seqs"] == 1024


def test_an_inactive_knob_is_at_its_baseline(vllm_like: SearchSpace) -> None:
    assert at(vllm_like, 4, draft_tokens=5)["draft_tokens"] == 1
    assert at(vllm_like, 4, draft_tokens=5, speculative=True)["draft_tokens"] == 5


def test_a_knob_that_hangs_on_an_inactive_knob_is_inactive_too(data: Data, loaded: Loaded) -> None:
    data["knobs"]["threads"]["when"] = {"cache": "q8_0"}
    data["knobs"]["cache"]["when"] = {"unified": True}
    space = loaded(data)
    assert activation_order(space.knobs) == ["unified", "cache", "threads"]
    assert at(space, 1, cache="q8_0", threads=4) == {"threads": 2, "cache": "f16", "unified": False}
    assert at(space, 1, cache="q8_0", threads=4, unified=True)["threads"] == 4


def test_an_implication_sets_a_knob(vllm_like: SearchSpace) -> None:
    assert at(vllm_like, 4, tp=1, ep=8)["ep"] == 1
    assert at(vllm_like, 4, tp=4, ep=8)["ep"] == 8


def test_an_inactive_knob_implies_nothing(data: Data, loaded: Loaded) -> None:
    data["knobs"]["cache"]["when"] = {"unified": True}
    data["rules"] = [{"imply": {"threads": 4}, "when": {"cache": "q8_0"}, "because": "it computes more"}]
    space = loaded(data)
    assert at(space, 1, cache="q8_0")["threads"] == 2
    assert at(space, 1, cache="q8_0", unified=True)["threads"] == 4


def test_an_implication_that_another_undoes_is_a_broken_rule(data: Data, loaded: Loaded) -> None:
    data["rules"] = [
        {"imply": {"threads": 4}, "when": {"cache": "q8_0"}, "because": "it computes more"},
        {"imply": {"threads": 1}, "when": {"unified": True}, "because": "it locks"},
    ]
    with pytest.raises(RuleBroken) as caught:
        at(loaded(data), 1, cache="q8_0", unified=True)
    assert caught.value.rule == "imply threads is 4 when cache is q8_0"
    assert caught.value.because == "it computes more"


def test_an_implied_value_outside_the_domain_is_a_broken_rule(data: Data, loaded: Loaded) -> None:
    data["rules"] = [
        {"imply": {"threads": {"mul": [2, "$concurrency"]}}, "when": {"cache": "q8_0"}, "because": "it scales"}
    ]
    with pytest.raises(RuleBroken, match=r"8 is not a whole number of 1\.\.4"):
        at(loaded(data), 4, cache="q8_0")


def test_a_derived_value_follows_the_knobs_and_earlier_derived_values(data: Data, loaded: Loaded) -> None:
    data["derived"] = {
        "per_slot": {"env": "A", "value": {"floor_div": [4096, "$threads"]}},
        "half": {"env": "B", "value": {"floor_div": ["$per_slot", "$concurrency"]}},
        "only_unified": {"env": "C", "value": 1, "when": {"unified": True}},
    }
    space = loaded(data)
    assert at(space, 4, threads=3) | {"threads": 3} == {
        "threads": 3,
        "cache": "f16",
        "unified": False,
        "per_slot": 1365,
        "half": 341,
        "only_unified": "unset",
    }
    assert at(space, 4, unified=True)["only_unified"] == 1


@pytest.mark.parametrize(("cache_gib", "per_rank"), [(254, 31), (257, 32)])
def test_the_memory_of_a_rank_is_rounded_down(vllm_like: SearchSpace, cache_gib: int, per_rank: int) -> None:
    assert at(vllm_like, 4, cache_gib=cache_gib)["cache_gib_per_rank"] == per_rank


def test_a_forbidden_config_is_refused_with_the_rule_and_its_reason(vllm_like: SearchSpace) -> None:
    with pytest.raises(RuleBroken) as caught:
        at(vllm_like, 4, cudagraph="PIECEWISE")
    assert str(caught.value) == (
        "forbid cudagraph is PIECEWISE and tp is 4 or 8, because piecewise graphs lose everywhere here"
    )
    assert at(vllm_like, 4, cudagraph="PIECEWISE", tp=1)["tp"] == 1


def test_a_requirement_counts_only_where_its_when_holds(vllm_like: SearchSpace) -> None:
    assert at(vllm_like, 4, max_num_seqs=2)["seqs_per_rank"] == 0.25
    with pytest.raises(RuleBroken, match="require seqs_per_rank >= 1 when concurrency >= 64"):
        at(vllm_like, 64, max_num_seqs=2)


def test_a_value_that_cannot_be_computed_is_a_broken_rule_not_a_crash(data: Data, loaded: Loaded) -> None:
    data["derived"] = {"a": {"env": "A", "value": {"div": [1, {"sub": ["$threads", 1]}]}}}
    with pytest.raises(RuleBroken, match=r"derived\.a, because div \[1, 0\] divides by zero"):
        at(loaded(data), 1, threads=1)


@pytest.mark.parametrize("kind", ["require", "when"])
def test_a_rule_that_cannot_be_computed_is_broken(data: Data, loaded: Loaded, kind: str) -> None:
    positive = {"threads": {"ge": 1}}
    data["rules"] = [
        {"require": positive, "when": positive, kind: {"threads": {"ge": {"div": [1, {"sub": ["$threads", 1]}]}}}}
        | {"because": "x"}
    ]
    with pytest.raises(RuleBroken, match="divides by zero"):
        at(loaded(data), 1, threads=1)


def test_a_when_that_cannot_be_computed_is_a_broken_rule(data: Data, loaded: Loaded) -> None:
    data["knobs"]["unified"]["when"] = {"threads": {"ge": {"div": [1, {"sub": ["$threads", 1]}]}}}
    with pytest.raises(RuleBroken, match=r"knobs\.unified\.when, because div \[1, 0\] divides by zero"):
        at(loaded(data), 1, threads=1)


def test_a_broken_rule_crosses_a_process_boundary() -> None:
    broken = pickle.loads(pickle.dumps(RuleBroken("forbid a is 1", "it crashes")))  # noqa: S301 our own bytes
    assert (broken.rule, broken.because) == ("forbid a is 1", "it crashes")
