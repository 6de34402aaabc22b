"""The whole way from a candidate to a recipe: what is launched after what, and what is reported."""

from dataclasses import replace

import pytest

from autotune.proof import arms_beside, prove
from autotune.reduce import SLACK
from search_spaces import SearchSpace, defaults, resolve
from tests.autotune.conftest import Loaded
from tests.autotune.studies import LOST, MEMORY, launches, trial
from tests.autotune.truths import KNOBS, World, budgeted, fastest
from tests.support import measured, verdict
from trials.outcome import Measured

TRUTH = {"a": 0.10, "b": 0.05}


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches."""
    return budgeted(loaded(KNOBS), ablation_launches=30, regime_launches=12, confirm_launches=6)


@pytest.fixture
def world(knobs: SearchSpace) -> World:
    """Return a machine on which two of the knobs bring something."""
    return World(knobs, TRUTH, sd=0.005)


def stages(world: World) -> list[str]:
    """Return the stages in the order in which they began."""
    return list(dict.fromkeys(one.stage for one in world.launches))


def test_a_win_is_taken_apart_and_confirmed_again_without_what_brings_nothing(world: World) -> None:
    proof = world.finish(fastest(world.searched(best="abgh")))
    assert stages(world)[:3] == ["confirm", "ablate", "reduce"]
    assert proof.reduction is not None
    assert proof.reduction.stands
    assert proof.config == {**world.space.baseline, "a": True, "b": True}
    assert proof.recipe == resolve(world.space, proof.config)


def test_the_number_that_is_reported_is_that_of_fresh_launches_of_the_recipe(world: World) -> None:
    tried = fastest(world.searched(best="abgh"))
    proof = world.finish(tried)
    assert proof.comparison is not None
    assert proof.comparison.overall.change == pytest.approx(1.1 * 1.05 - 1, abs=0.02)
    searched = tried[-1].outcome
    assert isinstance(searched, Measured)
    assert all(searched.points[0] != one.points[0] for one in proof.launches)
    assert len(proof.launches) == proof.comparison.launches[1]


def test_a_winner_that_needs_all_its_knobs_is_not_launched_again(world: World) -> None:
    proof = world.finish(fastest(world.searched(best="ab")))
    assert proof.reduction is None
    assert "reduce" not in stages(world)
    assert proof.config == {**world.space.baseline, "a": True, "b": True}


def test_knobs_that_only_pay_together_stay_together(knobs: SearchSpace) -> None:
    """Neither brings anything alone, so both would go; the reduced recipe is slower, so the winner stays."""

    class Redundant(World):
        """A machine on which one of two knobs is as good as both."""

        def rate(self, config: dict[str, object], concurrency: int) -> float:  # type: ignore[override]  # a config
            either = 1.08 if config["g"] is True or config["h"] is True else 1.0
            return super().rate(config, concurrency) * either  # type: ignore[arg-type]  # a config

    world = Redundant(knobs, {"a": 0.10}, sd=0.004)
    proof = world.finish(fastest(world.searched(best="agh")))
    assert proof.ablation is not None
    assert set(proof.ablation.dropped) == {"g", "h"}
    assert proof.reduction is not None
    assert proof.reduction.full is not None
    assert proof.reduction.full.overall.change < SLACK
    assert not proof.reduction.stands
    assert proof.config == {**knobs.baseline, "a": True, "g": True, "h": True}


def test_a_reduced_recipe_that_fails_its_gate_leaves_the_winner(world: World) -> None:
    tried = fastest(world.searched(best="abgh"))
    world.finish(tried)
    failed = measured(150.0, 150.0, gate=verdict(40, result="fail"))
    at = next(n for n, one in enumerate(world.launches) if one.arm == "C")
    world.launches[at:] = [replace(world.launches[at], outcome=failed)]
    proof = prove(tried, world.launches, world.space)
    assert proof.reduction is not None
    assert proof.reduction.out == "gate fail: 40 of 64 right"
    assert proof.config["g"] is True
    assert proof.comparison == proof.conclusion.standings[-1].comparison


def test_a_baseline_that_fails_beside_a_reduced_recipe_leaves_the_winner_and_is_named(world: World) -> None:
    tried = fastest(world.searched(best="abgh"))
    world.finish(tried)
    at = next(n for n, one in enumerate(world.launches) if one.stage == "reduce" and one.arm == "A")
    world.launches[at:] = [replace(world.launches[at], outcome=MEMORY)]
    proof = prove(tried, world.launches, world.space)
    assert proof.reduction is not None
    assert proof.reduction.out == "the baseline beside it failed: memory: out of memory"
    assert proof.config["g"] is True


def test_the_full_gate_is_asked_once_of_each_that_may_be_recommended_and_of_the_baseline(world: World) -> None:
    world.finish(fastest(world.searched(best="abgh")))
    asked = [one.arm for one in world.launches if isinstance(one.outcome, Measured) and one.outcome.judged]
    assert asked[:3] == ["A", "B", "C"]
    assert all(arm.startswith("O@") for arm in asked[3:])


def test_what_is_judged_is_held_against_the_baselines_answers(world: World) -> None:
    tried = fastest(world.searched(best="ab"))
    beside = arms_beside(world.space, None)
    first = prove(tried, [], world.space, beside).next
    assert first is not None
    assert (first.arm, first.judged, first.reference) == ("A", True, ())
    world.launches.append(world.launch(first))
    second = prove(tried, world.launches, world.space, beside).next
    base = world.launches[0].outcome
    assert second is not None
    assert isinstance(base, Measured)
    assert (second.arm, second.judged, second.reference) == ("B", True, base.judged)


def test_the_engines_own_defaults_are_launched_in_the_same_rounds(world: World) -> None:
    proof = world.finish(fastest(world.searched(best="ab")))
    assert [one.arm for one in world.launches[:6]] == ["A", "B", "D", "D", "B", "A"]
    (beside,) = proof.beside
    assert beside.arm == "D"
    assert beside.comparison is not None
    assert beside.comparison.result == "win"


def test_defaults_that_are_the_baseline_are_not_launched_again(loaded: Loaded) -> None:
    space = loaded(
        """
baseline: {a: unset, b: unset}
knobs:
  a: {flag: --a, choice: [unset, 1]}
  b: {env: B, choice: [unset, 1]}
"""
    )
    assert defaults(space).fingerprint == resolve(space, space.baseline).fingerprint
    assert arms_beside(space, None) == {}


@pytest.mark.parametrize("outcome", [MEMORY, LOST])
def test_defaults_that_do_not_run_stop_nothing_and_are_said_to(world: World, outcome: Measured) -> None:
    tried, beside = fastest(world.searched(best="ab")), arms_beside(world.space, None)
    while (step := prove(tried, world.launches, world.space, beside).next) and step.stage == "confirm":
        made = world.launch(step)
        world.launches.append(replace(made, outcome=outcome) if step.arm == "D" else made)
    proof = prove(tried, world.launches, world.space, beside)
    assert proof.conclusion.result == "win"
    assert proof.beside[0].comparison is None
    assert proof.beside[0].out in {"memory: out of memory", "lost 3 times: node gone"}


def test_a_study_goes_on_from_its_launches_wherever_it_stopped(world: World) -> None:
    tried, beside = fastest(world.searched(best="abgh")), arms_beside(world.space, None)
    world.finish(tried)
    for done in range(len(world.launches)):
        step = prove(tried, world.launches[:done], world.space, beside).next
        assert step is not None
        assert (step.stage, step.arm) == (world.launches[done].stage, world.launches[done].arm)


def test_what_is_not_a_win_is_not_taken_apart(world: World) -> None:
    tried = [
        trial(world.space, 0, measured(100.0, 100.0)),
        trial(world.space, 1, measured(101.5, 101.5), g=True, h=True),
    ]
    proof = prove(tried, launches("ABBA", 100.0, 100.1, 100.0, 100.1), world.space)
    assert (proof.conclusion.result, proof.ablation, proof.reduction, proof.next) == ("tie", None, None, None)
    assert proof.config == world.space.baseline


def test_a_study_without_a_candidate_recommends_the_baseline(world: World) -> None:
    proof = prove([trial(world.space, 0, measured(100.0, 100.0))], [], world.space, arms_beside(world.space, None))
    assert (proof.next, proof.comparison, proof.beside, proof.launches) == (None, None, (), ())
    assert proof.recipe == resolve(world.space, world.space.baseline)


@pytest.mark.parametrize("seed", range(6))
def test_a_study_of_equal_configs_ends_with_the_baseline(knobs: SearchSpace, seed: int) -> None:
    world = World(knobs, {}, sd=0.007, seed=seed)
    proof = world.finish(world.searched(best="abgh"))
    assert proof.config == knobs.baseline
    assert proof.recipe.overrides == {}
