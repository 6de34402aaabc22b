"""What each knob of a winner brings, where the truth is known."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from autotune.ablate import Ablation, ablate, reduced
from autotune.folder import LaunchRecord, TrialRecord
from search_spaces import SearchSpace
from tests.autotune.conftest import Loaded
from tests.autotune.studies import MEMORY, launch, trial
from tests.autotune.truths import KNOBS, World, budgeted

TRUTH = {"a": 0.10, "b": 0.03, "g": 0.0, "h": 0.0}


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches with room for an ablation of both directions."""
    return budgeted(loaded(KNOBS), ablation_launches=60, regime_launches=0, confirm_launches=6)


def taken_apart(world: World, on: Sequence[str]) -> tuple[TrialRecord, Ablation]:
    """Return a winner with these knobs on, taken apart."""
    tried = world.searched(best=on)
    found = ablate(tried[-1], tried, world.apart(tried[-1], tried), world.space)
    assert found is not None
    assert found.next is None
    return tried[-1], found


def verdicts(found: Ablation) -> dict[str, str]:
    """Return the verdict on each knob."""
    return {part.knob: part.verdict for part in found.parts}


def test_a_knob_of_three_percent_stays_and_one_without_effect_goes(knobs: SearchSpace) -> None:
    world = World(knobs, TRUTH, sd=0.005)
    winner, found = taken_apart(world, "abgh")
    assert verdicts(found) == {"a": "brings", "b": "brings", "g": "nothing measurable", "h": "nothing measurable"}
    assert set(found.dropped) == {"g", "h"}
    assert reduced(found, winner, knobs) == {**knobs.baseline, "a": True, "b": True}


def test_over_many_studies_little_is_lost_and_almost_nothing_claimed_within_noise(knobs: SearchSpace) -> None:
    claimed = kept = 0
    for seed in range(60):
        world = World(knobs, TRUTH, sd=0.005, seed=seed)
        _, found = taken_apart(world, "abgh")
        said = verdicts(found)
        claimed += sum(said[knob] != "nothing measurable" for knob in "gh")
        kept += said["b"] == "brings"
    assert claimed <= 5
    assert kept >= 55


def test_within_noise_nothing_is_claimed(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": 0.25, "b": 0.004, "g": 0.0, "h": -0.004}, sd=0.01)
    _, found = taken_apart(world, "abgh")
    said = {finding.row.arm: finding.overall for finding in found.findings}
    for arm in ("B-b", "A+b"):
        change = said.get(arm)
        assert change is None or change.said in {"tie", "undecided"}


def test_a_knob_that_costs_goes(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": 0.25, "b": -0.05}, sd=0.005)
    _, found = taken_apart(world, "ab")
    assert verdicts(found) == {"a": "brings", "b": "costs"}
    assert found.dropped == ("b",)


def test_a_knob_without_which_the_engine_does_not_run_is_needed(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": 0.10, "b": 0.04}, broken={"b": "a"}, sd=0.005)
    _, found = taken_apart(world, "abc")
    part = next(part for part in found.parts if part.knob == "b")
    assert (part.verdict, part.because) == ("needed", "without it: memory: out of memory")
    assert "b" not in found.dropped


def test_an_ablation_launches_every_setting_as_often_and_within_its_budget(knobs: SearchSpace) -> None:
    world = World(knobs, TRUTH, sd=0.005)
    tried = world.searched(best="abgh")
    made, asked = list[LaunchRecord](), list[str]()
    whole = world.apart(tried[-1], tried)
    for one in whole:
        found = ablate(tried[-1], tried, made, knobs)
        assert found is not None
        assert found.next is not None
        asked.append(found.next[1])
        made.append(one)
    assert asked == [one.arm for one in whole]
    assert len({asked.count(arm) for arm in asked}) == 1
    assert len(asked) <= knobs.budget.ablation_launches


def test_a_change_at_one_concurrency_is_seen_there(knobs: SearchSpace) -> None:
    world = World(knobs, {"a": {1: 0.0, 2: 0.15}, "b": 0.08}, sd=0.004)
    _, found = taken_apart(world, "ab")
    without = next(each for each in found.findings if each.row.arm == "B-a")
    assert without.levels[1].said in {"tie", "undecided"}
    assert without.levels[2].said == "less"


def test_an_ablation_stops_where_the_winner_itself_fails(knobs: SearchSpace) -> None:
    tried = World(knobs, TRUTH).searched(best="abgh")
    failing = replace(launch(0, "B", MEMORY, candidate=tried[-1].number), stage="ablate")
    found = ablate(tried[-1], tried, [failing], knobs)
    assert found is not None
    assert found.next is None
    assert set(verdicts(found).values()) == {"not tested"}
    assert found.dropped == ()
    assert reduced(found, tried[-1], knobs) is None


def test_without_a_budget_nothing_is_taken_apart(knobs: SearchSpace) -> None:
    none = budgeted(knobs, ablation_launches=0)
    winner = trial(none, 1, None, a=True, b=True)
    assert ablate(winner, World(none, TRUTH).searched(), [], none) is None


def test_the_luck_of_launches_is_told(knobs: SearchSpace) -> None:
    _, found = taken_apart(World(knobs, TRUTH, sd=0.005), "abgh")
    assert found.launch_sd == pytest.approx(0.005, rel=0.6)
