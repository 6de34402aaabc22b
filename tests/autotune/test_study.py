"""The loop of a study over outcomes told beforehand: a dispatcher that runs nothing stands in for the machine."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.events import Event, LaunchEnded, SearchEnded, StudyEnded, TrialEnded
from autotune.folder import StudyFolder, study_folder
from autotune.study import BaselineFailed, KeepsLosing, run
from search_spaces import Reference, SearchSpace, load_recipe
from tests.autotune.studies import FRAME, LOST, MEMORY, settings
from tests.autotune.truths import KNOBS, World, budgeted
from tests.support import measured
from trials.engines.asked import UNKNOWN, Mismatch
from trials.outcome import Infeasible, Lost, Outcome
from trials.plan import Plan

STUCK = Infeasible(failure="stuck", reason="no token", seconds={})
BASE, GOOD = measured(100.0, 100.0), measured(90.0, 90.0)


class Told:
    """Gives each trial the next outcome of a list, and keeps what was asked for."""

    slots = 1

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        """Begin the list; it must be long enough."""
        self._outcomes = iter(outcomes)
        self.plans: list[Plan] = []

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Return what is next."""
        self.plans.append(plan)
        future: Future[Outcome] = Future()
        future.set_result(next(self._outcomes))
        return future

    @property
    def fingerprints(self) -> list[str]:
        """Of the configs that were asked for, in order."""
        return [plan.recipe.fingerprint for plan in self.plans]


@pytest.fixture
def begun(tmp_path: Path, small: SearchSpace) -> StudyFolder:
    """Return the folder of a study of four trials that has just begun."""
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(settings(tmp_path), small, {"host": "a host"})
    return folder


def searched(folder: StudyFolder, outcomes: Iterable[Outcome]) -> tuple[Told, list[Event]]:
    """Run a study to the end of its search."""
    told, seen = Told(outcomes), []
    for event in run(folder, told):
        seen.append(event)
        if isinstance(event, SearchEnded):
            break
    return told, seen


def until(events: Iterator[Event], error: type[Exception], match: str) -> list[Event]:
    """Return what happened until a study ended with this error."""
    seen: list[Event] = []
    with pytest.raises(error, match=match):
        seen.extend(events)
    return seen


def test_a_study_ends_when_its_budget_is_spent(begun: StudyFolder) -> None:
    told = Told([BASE, GOOD, GOOD, MEMORY, GOOD])
    events = list(run(begun, told))
    assert SearchEnded("the budget is spent") in events
    assert isinstance(events[-1], StudyEnded)
    assert len(set(told.fingerprints)) == 5


def test_a_variable_that_the_engine_does_not_know_makes_no_two_configs(
    tmp_path: Path, loaded: Callable[[str], SearchSpace]
) -> None:
    """Six configs by the space; after the first trial that moves the variable they are the two of its other knob."""
    knobs = "{kernel: {env: KERNEL, choice: [a, b, c]}, unified: {switch: --kv-unified}}"
    space = loaded(f"baseline: {{kernel: a, unified: false}}\nknobs: {knobs}\n")
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(settings(tmp_path), space, {"host": "a host"})
    ignored = replace(BASE, mismatches=(Mismatch("KERNEL", "a", UNKNOWN),))
    told, events = searched(folder, [ignored, ignored, GOOD])
    assert {plan.recipe.config["unified"] for plan in told.plans} == {False, True}
    assert len(told.plans) == 2
    assert SearchEnded("every config of the space was measured") in events


def test_a_stuck_config_is_run_a_second_time_in_a_folder_of_its_own_and_that_counts(begun: StudyFolder) -> None:
    told, events = searched(begun, [BASE, STUCK, GOOD, GOOD, GOOD, GOOD])
    assert told.fingerprints[1] == told.fingerprints[2]
    assert told.plans[1].folder != told.plans[2].folder
    outcomes = [event.outcome for event in events if isinstance(event, TrialEnded)]
    assert outcomes[1:3] == [STUCK, GOOD]


def test_a_config_that_is_stuck_twice_is_not_run_again(begun: StudyFolder) -> None:
    told, _ = searched(begun, [BASE, STUCK, STUCK, GOOD, GOOD, GOOD])
    assert told.fingerprints[1] == told.fingerprints[2]
    assert len(set(told.fingerprints)) == 5


def test_a_stuck_baseline_is_run_a_second_time_and_that_is_the_baseline(begun: StudyFolder) -> None:
    told, events = searched(begun, [STUCK, BASE, GOOD, GOOD, GOOD, GOOD])
    assert told.fingerprints[0] == told.fingerprints[1]
    last = next(event for event in reversed(events) if isinstance(event, TrialEnded))
    assert last.standings.baseline == pytest.approx(100.0)


def test_a_baseline_that_is_stuck_twice_has_failed(begun: StudyFolder) -> None:
    seen = until(run(begun, Told([STUCK, STUCK])), BaselineFailed, r"the baseline failed \(stuck\): no token")
    assert sum(isinstance(event, TrialEnded) for event in seen) == 2


def test_a_baseline_that_was_lost_too_often_gets_new_tries_when_the_study_goes_on(begun: StudyFolder) -> None:
    until(run(begun, Told([LOST] * 3)), BaselineFailed, "the baseline was lost 3 times: node gone")
    _, events = searched(begun, [BASE, GOOD, GOOD, GOOD, GOOD])
    assert isinstance(events[-1], SearchEnded)


def test_a_study_that_keeps_losing_its_trials_stops_and_says_how_to_go_on(begun: StudyFolder) -> None:
    generous(begun)
    told = Told([BASE, LOST, LOST, LOST, LOST, Lost(reason="disk full", seconds={})])
    message = "5 trials in a row were lost, the last one because: disk full: mend that, then .*`autotune resume one`"
    until(run(begun, told), KeepsLosing, message)
    assert not begun.evidence_json.exists()


def test_what_was_lost_in_a_long_row_is_run_when_the_study_goes_on(begun: StudyFolder) -> None:
    generous(begun)
    lost = Told([BASE, LOST, LOST, LOST, LOST, LOST])
    until(run(begun, lost), KeepsLosing, "5 trials in a row")
    told, events = searched(begun, itertools.repeat(GOOD, 20))
    assert isinstance(events[-1], SearchEnded)
    assert set(lost.fingerprints[1:]) <= set(told.fingerprints)
    assert lost.fingerprints[0] not in told.fingerprints


def test_a_loss_now_and_then_does_not_stop_a_study(begun: StudyFolder) -> None:
    generous(begun)
    _, events = searched(begun, itertools.chain([BASE], [LOST, LOST, GOOD] * 20))
    assert isinstance(events[-1], SearchEnded)


def test_trials_are_of_configs_tried_however_often_one_is_lost_or_stuck(begun: StudyFolder) -> None:
    told, _ = searched(begun, [BASE, LOST, LOST, LOST, STUCK, GOOD, GOOD, LOST, GOOD])
    assert len(set(told.fingerprints)) == 5


def test_a_trial_whose_driver_died_is_not_spent(begun: StudyFolder) -> None:
    for outcomes in ([BASE], []):
        with pytest.raises(RuntimeError, match="StopIteration"):  # the outcomes ran out, in the middle of a trial
            list(run(begun, Told(outcomes)))
    told, _ = searched(begun, [GOOD] * 4)
    assert len(set(told.fingerprints)) == 4


def test_a_config_that_got_stuck_before_the_study_was_left_is_run_again_afterwards(begun: StudyFolder) -> None:
    first = Told([BASE, STUCK])
    events = run(begun, first)
    next(event for event in events if isinstance(event, TrialEnded) and event.outcome == STUCK)
    events.close()  # type: ignore[attr-defined]  # the driver is gone
    told, _ = searched(begun, [GOOD] * 4)
    assert told.fingerprints[0] == first.fingerprints[1]


def test_a_space_of_which_nothing_starts_ends_the_search(tmp_path: Path, loaded: Callable[[str], SearchSpace]) -> None:
    folder = study_folder(tmp_path / "studies", "one")
    space = loaded("baseline: {threads: 1}\nknobs: {threads: {flag: --threads, int: {low: 1, high: 100}}}\n")
    folder.begin(settings(tmp_path), space, {"host": "a host"})
    generous(folder)
    _, events = searched(folder, itertools.chain([BASE], itertools.repeat(MEMORY, 10)))
    assert SearchEnded("the first 10 configs all failed: is the space right?") in events


def generous(folder: StudyFolder) -> None:
    """Give a study that has begun 20 trials."""
    text = folder.settings_file.read_text(encoding="utf-8")
    folder.settings_file.write_text(text.replace('"trials": 4', '"trials": 20'), encoding="utf-8")


class Machine:
    """Runs every plan on a machine whose truth is known, and keeps what was asked for."""

    slots = 1

    def __init__(self, world: World) -> None:
        """Begin."""
        self._world = world
        self.plans: list[Plan] = []

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Launch it."""
        self.plans.append(plan)
        ladder = plan.recipe.workload.concurrency
        outcome = self._world.run(plan.recipe.config, ladder, judged=bool(plan.gates), sd=self._world.sd)
        future: Future[Outcome] = Future()
        future.set_result(outcome)
        return future


@pytest.fixture
def world(loaded: Callable[[str], SearchSpace]) -> World:
    """Return a machine on which two knobs of eight pay, and the search's first look is at them."""
    known = "known: [{name: good, set: {a: true, b: true, g: true, h: true}}]\n"
    space = budgeted(loaded(KNOBS + known), ablation_launches=40, regime_launches=8, confirm_launches=4)
    return World(space, {"a": 0.30, "b": 0.20}, sd=0.003, seed=3)


@pytest.fixture
def winning(tmp_path: Path, world: World) -> StudyFolder:
    """Return the folder of a study on that machine, of one trial."""
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(replace(settings(tmp_path), trials=1), world.space, {"host": "a host"})
    return folder


def stages(folder: StudyFolder) -> list[str]:
    """Return the stages of a study's launches, in the order in which they began."""
    return list(dict.fromkeys(one.stage for one in folder.launches()))


def test_a_win_is_taken_apart_and_the_recipe_has_what_pays(winning: StudyFolder, world: World) -> None:
    events = list(run(winning, Machine(world)))
    assert isinstance(events[-1], StudyEnded)
    assert events[-1].conclusion.result == "win"
    assert stages(winning) == ["confirm", "ablate", "reduce"]
    recipe = load_recipe(winning.recipe)
    assert [arg for arg in recipe.serve.args if not arg.startswith("--no-")] == ["--a", "--b"]


def test_every_launch_is_an_event_with_its_stage(winning: StudyFolder, world: World) -> None:
    events = list(run(winning, Machine(world)))
    ended = [(event.stage, event.arm) for event in events if isinstance(event, LaunchEnded)]
    assert ended == [(one.stage, one.arm) for one in winning.launches()]
    assert ended[:3] == [("confirm", "A"), ("confirm", "B"), ("confirm", "D")]


def test_launches_of_a_round_get_the_same_prompts_and_no_other_round_does(winning: StudyFolder, world: World) -> None:
    machine = Machine(world)
    list(run(winning, machine))
    fresh = [plan for plan in machine.plans if plan.folder.parent.name == "confirm"]
    seeds = [plan.seed for plan in fresh]
    assert len(set(seeds[:3])) == 1
    assert sorted(seeds) == seeds
    assert set(seeds).isdisjoint({plan.seed for plan in machine.plans if plan not in fresh})


@pytest.mark.parametrize("stop", [2, 15])
def test_a_study_that_was_left_after_any_launch_makes_only_the_others(
    winning: StudyFolder, world: World, stop: int
) -> None:
    events = run(winning, Machine(world))
    ended = (event for event in events if isinstance(event, LaunchEnded))
    for _ in range(stop):
        next(ended)
    events.close()  # type: ignore[attr-defined]  # the driver is gone
    begun = [(one.number, one.stage, one.arm) for one in winning.launches()]
    list(run(winning, Machine(world)))
    after = [(one.number, one.stage, one.arm) for one in winning.launches()]
    assert after[: len(begun)] == begun
    assert len({number for number, _, _ in after}) == len(after)
    again = Machine(world)
    list(run(winning, again))
    assert again.plans == []


def test_the_search_leaves_hours_to_the_confirmation(tmp_path: Path, world: World) -> None:
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(replace(settings(tmp_path), trials=50, hours=0.01), world.space, {"host": "a host"})
    machine = Machine(world)  # every trial says that it took 9 s without its gate: six are 54 s, of 36
    assert SearchEnded("the budget is spent") in list(run(folder, machine))
    assert [plan.folder.parent.name for plan in machine.plans].count("trials") == 1


def test_a_reference_is_launched_beside_under_the_same_load(tmp_path: Path, world: World) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(FRAME.replace("concurrency: [1, 2]", "concurrency: [7]") + KNOBS, encoding="utf-8")
    told = Reference(label="ATOM", space="other.yaml")
    space = budgeted(world.space.model_copy(update={"reference": told}), ablation_launches=0, regime_launches=0)
    folder = study_folder(tmp_path / "studies", "one")
    folder.begin(replace(settings(tmp_path), trials=1), space, {"host": "a host"})
    machine = Machine(world)
    list(run(folder, machine))
    plans = [plan for plan in machine.plans if plan.folder.name.endswith("-R")]
    assert plans
    assert all(plan.recipe.space == "other" and plan.recipe.workload.concurrency == (1, 2) for plan in plans)
    assert all(plan.space_folder == tmp_path and not plan.gates for plan in plans)
