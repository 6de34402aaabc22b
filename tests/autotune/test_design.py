"""Which launches take a winner apart."""

import pytest

from autotune.design import design, ranking
from autotune.folder import TrialRecord
from search_spaces import SearchSpace, resolve
from tests.autotune.conftest import Loaded
from tests.autotune.studies import trial
from tests.autotune.truths import KNOBS, World, budgeted
from tests.support import measured


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches."""
    return loaded(KNOBS)


def winner(space: SearchSpace, on: str) -> TrialRecord:
    """Return a winner with these switches on."""
    return trial(space, 41, measured(120.0, 120.0), **dict.fromkeys(on, True))


def test_what_the_search_measured_says_which_knobs_matter(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10, "b": 0.05}).searched()
    ranked = ranking(winner(knobs, "abcd"), tried, knobs)
    assert ranked.matter[:2] == ("a", "b")
    assert sorted(ranked.matter + ranked.rest) == list("abcd")


def test_at_most_six_knobs_are_looked_at_one_by_one(knobs: SearchSpace) -> None:
    tried = World(knobs, dict.fromkeys("abcdefgh", 0.06)).searched()
    ranked = ranking(winner(knobs, "abcdefgh"), tried, knobs)
    assert (len(ranked.matter), len(ranked.rest)) == (6, 2)


def test_the_winner_is_launched_without_each_knob_and_the_baseline_with_each(knobs: SearchSpace) -> None:
    tried = World(knobs, dict.fromkeys("abc", 0.06)).searched()
    plan = design(winner(knobs, "abc"), tried, knobs)
    assert plan is not None
    assert sorted(plan.arms) == ["A", "A+a", "A+b", "A+c", "B", "B-a", "B-b", "B-c"]
    assert next(iter(plan.arms)) == "B"
    assert plan.rounds == 2
    assert {(row.arm, row.against) for row in plan.rows} == {
        *((f"B-{knob}", "B") for knob in "abc"),
        *((f"A+{knob}", "A") for knob in "abc"),
    }
    assert plan.arms["B-a"] == {**knobs.baseline, "b": True, "c": True}
    assert plan.arms["A+a"] == {**knobs.baseline, "a": True}


def test_what_matters_little_is_undone_in_one_launch(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10, "b": 0.08}, sd=0.002).searched(80)
    plan = design(winner(knobs, "abgh"), tried, budgeted(knobs, ablation_launches=100))
    assert plan is not None
    rest = next(row for row in plan.rows if len(row.knobs) > 1)
    assert (set(rest.knobs), rest.arm) == ({"g", "h"}, "B-REST")
    assert rest.words == "trial 41 without " + ", ".join(rest.knobs)


def test_two_settings_of_one_recipe_are_launched_once(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10, "b": 0.08}).searched()
    plan = design(winner(knobs, "ab"), tried, knobs)
    assert plan is not None
    assert sorted(plan.arms) == ["A", "B", "B-a", "B-b"]
    alone = {row.knobs: row.arm for row in plan.rows if row.kind == "alone"}
    assert alone == {("a",): "B-b", ("b",): "B-a"}


@pytest.mark.parametrize("budget", range(0, 60, 5))
def test_the_budget_is_kept(knobs: SearchSpace, budget: int) -> None:
    tried = World(knobs, dict.fromkeys("abcdefgh", 0.06)).searched()
    plan = design(winner(knobs, "abcdefgh"), tried, budgeted(knobs, ablation_launches=budget))
    if plan is None:
        assert budget < 6  # the winner, and without one knob, and without the others, twice
    else:
        assert 2 <= plan.rounds <= 6
        assert plan.rounds * len(plan.arms) <= budget


def test_a_small_budget_looks_at_fewer_knobs_and_undoes_the_others_together(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.2, "b": 0.1, "c": 0.08, "d": 0.06}).searched()
    plan = design(winner(knobs, "abcd"), tried, budgeted(knobs, ablation_launches=8))
    assert plan is not None
    assert sorted(plan.arms) == ["B", "B-REST", "B-a", "B-b"]
    assert not plan.additive


@pytest.mark.parametrize(("short", "additive"), [(0, True), (1, False)])
def test_what_it_takes_to_launch_the_baseline_with_each_knob_too_is_told(
    knobs: SearchSpace,
    short: int,
    additive: bool,  # noqa: FBT001 both are tested
) -> None:
    tried = World(knobs, {"a": 0.2, "b": 0.1}).searched()
    ample = design(winner(knobs, "abgh"), tried, budgeted(knobs, ablation_launches=100))
    assert ample is not None
    plan = design(winner(knobs, "abgh"), tried, budgeted(knobs, ablation_launches=ample.wanted - short))
    assert plan is not None
    assert (plan.wanted, plan.additive) == (ample.wanted, additive)


def test_one_knob_needs_no_telling_apart(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10}).searched()
    assert design(winner(knobs, "a"), tried, knobs) is None


def test_a_knob_that_a_rule_holds_is_tied_to_the_others(loaded: Loaded) -> None:
    space = loaded(KNOBS + "rules: [{require: {b: true}, when: {a: true}, because: a needs b}]\n")
    plan = design(winner(space, "abc"), [trial(space, 0, measured(100.0, 100.0)), winner(space, "abc")], space)
    assert plan is not None
    assert list(plan.tied) == ["b"]
    assert "a needs b" in plan.tied["b"]
    assert "A+a" not in plan.arms


def test_a_knob_that_another_switches_off_needs_no_launch_of_its_own(loaded: Loaded) -> None:
    space = loaded(
        """
baseline: {spec: false, drafts: 1, other: false}
knobs:
  spec: {switch: --spec}
  drafts: {flag: --drafts, int: {low: 1, high: 4}, when: {spec: true}}
  other: {switch: --other}
"""
    )
    best = trial(space, 1, measured(120.0, 120.0), spec=True, drafts=3, other=True)
    plan = design(best, [trial(space, 0, measured(100.0, 100.0)), best], budgeted(space, ablation_launches=40))
    assert plan is not None
    assert resolve(space, plan.arms["B-spec"]).config == {"spec": False, "drafts": 1, "other": True}
    assert "A+drafts" not in plan.arms
