"""Overrides at single concurrencies: where the truth differs, and nowhere else."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from autotune.regimes import Where, alone, overridden, proposals
from search_spaces import SearchSpace, resolve
from tests.autotune.conftest import Loaded
from tests.autotune.studies import trial
from tests.autotune.truths import KNOBS, Effect, World, budgeted, fastest
from trials.outcome import Measured

SPLIT: Mapping[str, Effect] = {"a": 0.20, "c": {1: 0.15, 2: -0.15}}


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches with room for overrides, and none for an ablation."""
    return budgeted(loaded(KNOBS), ablation_launches=0, regime_launches=24, confirm_launches=6)


def test_where_the_best_recipe_differs_by_concurrency_each_override_is_proved_there(knobs: SearchSpace) -> None:
    world = World(knobs, SPLIT, sd=0.005)
    proof = world.finish(fastest(world.searched(best="a")))
    assert proof.conclusion.winner.number == 25
    (regime,) = (each for each in proof.regimes if each.proved)
    assert regime.proposal.concurrency == 1
    assert regime.comparison is not None
    assert regime.comparison.overall.change == pytest.approx(0.15, abs=0.02)
    assert {"--a", "--c"} <= set(proof.recipe.at(1).args)
    assert "--a" in proof.recipe.at(2).args
    assert "--c" not in proof.recipe.at(2).args


def test_an_override_is_launched_at_its_concurrency_alone(knobs: SearchSpace) -> None:
    world = World(knobs, SPLIT, sd=0.005)
    world.finish(fastest(world.searched(best="a")))
    made = [one for one in world.launches if one.stage == "regimes"]
    assert [one.arm for one in made[:4]] == ["F@1", "O@1", "O@1", "F@1"]
    assert all([point.concurrency for point in one.outcome.points] == [1] for one in made if one.outcome)  # type: ignore[union-attr]  # all measured


@pytest.mark.parametrize("seed", range(5))
def test_where_one_recipe_is_best_everywhere_there_is_one_recipe(knobs: SearchSpace, seed: int) -> None:
    world = World(knobs, {"a": 0.10, "b": 0.05}, sd=0.005, seed=seed)
    proof = world.finish(fastest(world.searched(best="ab")))
    assert not any(each.proved for each in proof.regimes)
    assert proof.recipe.overrides == {}


def test_the_baseline_too_may_be_overridden_where_another_is_better(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": {1: 0.20, 2: -0.16}}, sd=0.004)
    proof = world.finish(world.searched(best="a"))
    assert proof.conclusion.winner.number == 0 or proof.conclusion.result == "win"
    assert "--a" in proof.recipe.at(1).args
    assert "--a" not in proof.recipe.at(2).args


def test_without_a_budget_nothing_is_overridden(knobs: SearchSpace) -> None:
    none = budgeted(knobs, regime_launches=0)
    world = World(none, SPLIT, sd=0.005)
    proof = world.finish(fastest(world.searched(best="a")))
    assert proof.regimes == ()


def test_the_budget_is_shared_and_never_exceeded(knobs: SearchSpace) -> None:
    few = budgeted(knobs, regime_launches=6)
    world = World(few, SPLIT, sd=0.05)
    world.finish(fastest(world.searched(best="a")))
    assert sum(one.stage == "regimes" for one in world.launches) <= 6


def test_proposals_come_from_trials_that_passed_and_differ_there(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": {1: 0.10, 2: 0.0}, "b": {1: 0.0, 2: 0.10}}, sd=0.004)
    tried = world.searched()
    found = proposals(Where({**knobs.baseline, "a": True}, tried[-1], ()), tried, knobs)
    assert [each.concurrency for each in found] == [2]
    assert found[0].trial.config["b"] is True
    assert found[0].promise == pytest.approx(0.095, abs=0.03)


def test_what_fresh_launches_said_is_not_proposed_again(knobs: SearchSpace) -> None:
    """Two trials can't tell four knobs apart; the launches that took the winner apart could."""
    world = World(knobs, {"a": 0.20, "b": 0.10}, sd=0.003)
    tried = [trial(knobs, n, None, **dict.fromkeys(on, True)) for n, on in enumerate(["", "abgh"])]
    tried = [replace(one, outcome=world.run(one.config, (1, 2), judged=True, sd=0.003)) for one in tried]
    config = {**knobs.baseline, "a": True, "b": True}
    apart = tuple((each, world.run(each, (1, 2), judged=False, sd=0.003)) for each in (config, tried[1].config) * 4)
    fresh = tuple((each, outcome) for each, outcome in apart if isinstance(outcome, Measured))
    assert proposals(Where(config, tried[1], ()), tried, knobs) != []
    assert proposals(Where(config, tried[1], fresh), tried, knobs) == []


def test_a_recipe_alone_is_served_and_loaded_at_one_concurrency(knobs: SearchSpace) -> None:
    recipe = alone(resolve(knobs, {**knobs.baseline, "a": True}), 2)
    assert recipe.workload.concurrency == (2,)
    assert recipe.at(2) == resolve(knobs, {**knobs.baseline, "a": True}).at(2)
    assert recipe.fingerprint != resolve(knobs, {**knobs.baseline, "a": True}).fingerprint


def test_an_overridden_recipe_is_served_as_another_where_it_is_overridden(knobs: SearchSpace) -> None:
    plain, other = resolve(knobs, knobs.baseline), resolve(knobs, {**knobs.baseline, "a": True})
    mixed = overridden(plain, {1: other})
    assert (mixed.at(1), mixed.at(2)) == (other.at(1), plain.at(2))
    assert overridden(plain, {}) == plain


def test_the_gate_is_asked_of_an_override_as_it_is_served(loaded: Loaded) -> None:
    space = loaded(KNOBS + "derived: {forced: {flag: --forced, value: 1, when: {judging: false, a: true}}}\n")
    plain, other = resolve(space, space.baseline), resolve(space, {**space.baseline, "a": True})
    mixed = overridden(plain, {1: other})
    assert mixed.judged_at(1) == other.judged_at(1)
    assert mixed.judged_at(2) == plain.at(2)
    assert alone(other, 1).judged_at(1) == other.judged_at(1)
    assert overridden(other, {1: plain}).judged_at(1) == plain.at(1)
