"""What a study's trials say of its knobs."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from autotune.explain import Effect, Explanation, KnobSummary, Level, explain
from autotune.folder import TrialRecord
from search_spaces import Scalar, SearchSpace
from tests.autotune.conftest import Loaded
from tests.autotune.studies import CRASHED, LOST, MEMORY, trial
from tests.autotune.truths import ALL, KNOBS, World
from tests.support import measured, verdict
from trials.outcome import Infeasible, Outcome

MANY_LEVELS = """
baseline: {users: 64, share: 0.9, graph: true, size: 2}
knobs:
  users: {flag: --users, ordinal: [16, 64, 256]}
  share: {flag: --share, float: {low: 0.8, high: 0.95, step: 0.05}}
  graph: {switch: --graph}
  size: {flag: --size, int: {low: 1, high: 4}, when: {graph: true}}
"""


@pytest.fixture
def knobs(loaded: Loaded) -> SearchSpace:
    """Return a space of eight switches."""
    return loaded(KNOBS)


@pytest.fixture
def many(loaded: Loaded) -> SearchSpace:
    """Return a space with knobs of several levels, one of which works with another only."""
    return loaded(MANY_LEVELS)


def knob(found: Explanation, name: str) -> KnobSummary:
    """Return one knob of an explanation."""
    return next(each for each in found.knobs if each.name == name)


def level(found: Explanation, name: str, own: Scalar) -> Level:
    """Return one value of a knob."""
    return next(each for each in knob(found, name).levels if each.value == own)


def effect(found: Explanation, name: str, own: Scalar = True) -> Effect:  # noqa: FBT002 a knob's value
    """Return what is known of a value."""
    known = level(found, name, own).effect
    assert known is not None
    return known


def drawn(space: SearchSpace, count: int, outcomes: Mapping[frozenset[str], Outcome]) -> list[TrialRecord]:
    """Return the baseline and a draw of configs; those with all knobs of a set on have its outcome."""
    random = np.random.default_rng(3)
    draws = [[], *([name for name in ALL if random.random() < 0.5] for _ in range(count))]
    ended = [next((own for on, own in outcomes.items() if on <= set(draw)), measured(100.0, 100.0)) for draw in draws]
    return [
        trial(space, number, outcome, **dict.fromkeys(draw, True))
        for number, (draw, outcome) in enumerate(zip(draws, ended, strict=True))
    ]


def names(found: Explanation) -> list[str]:
    """Return the ranked knobs in their order."""
    return [each.name for each in found.knobs if each.rank is not None]


def test_planted_effects_are_found_in_the_order_of_their_size_with_intervals_that_hold_them(knobs: SearchSpace) -> None:
    found = explain(World(knobs, {"c": 0.12, "f": -0.07}).searched(60), knobs)
    assert names(found)[:2] == ["c", "f"]
    assert [each.rank for each in found.knobs] == list(range(1, 9))
    for name, truth in (("c", 0.12), ("f", -0.07)):
        assert effect(found, name).low < truth < effect(found, name).high
        assert effect(found, name).share == pytest.approx(truth, abs=0.02)
        assert knob(found, name).matters
    assert not knob(found, "b").matters


@pytest.mark.parametrize("seed", range(5))
def test_of_many_intervals_about_one_in_twenty_misses_at_most(knobs: SearchSpace, seed: int) -> None:
    truth = {"a": 0.05, "d": -0.04, "g": 0.02}
    found = explain(World(knobs, truth, seed=seed, sd=0.0125).searched(40), knobs)
    missed = [name for name in ALL if not effect(found, name).low <= truth.get(name, 0.0) <= effect(found, name).high]
    assert len(missed) <= 1


def test_a_planted_crashing_pair_is_found_and_neither_of_it_alone(knobs: SearchSpace) -> None:
    found = explain(drawn(knobs, 40, {frozenset("be"): MEMORY}), knobs)
    (suspect,) = found.suspects
    assert (suspect.what, suspect.settings) == ("crash", (("b", True), ("e", True)))
    assert suspect.probability > 0.9
    assert suspect.seen == suspect.wrong == found.crashed > 5


def test_a_value_that_always_crashes_is_suspected_alone_and_has_no_effect(knobs: SearchSpace) -> None:
    found = explain(drawn(knobs, 30, {frozenset("h"): CRASHED}), knobs)
    assert [suspect.settings for suspect in found.suspects] == [(("h", True),)]
    last = level(found, "h", own=True)
    assert last.tried == found.crashed > last.measured == 0
    assert last.effect is None
    assert knob(found, "h").rank is None
    assert found.knobs[-1].name == "h"


def test_what_misses_the_gate_is_suspected_of_that_and_counted_among_what_was_judged(knobs: SearchSpace) -> None:
    missed = measured(100.0, 100.0, gate=verdict(40, result="fail"))
    found = explain(drawn(knobs, 30, {frozenset("ab"): CRASHED, frozenset("g"): missed}), knobs)
    gate = next(suspect for suspect in found.suspects if suspect.what == "gate")
    assert gate.settings == (("g", True),)
    assert gate.seen == gate.wrong == found.missed > 0
    assert {suspect.settings for suspect in found.suspects if suspect.what == "crash"} == {(("a", True), ("b", True))}


def test_values_are_as_the_space_writes_them_and_an_inactive_knob_is_at_its_baseline(many: SearchSpace) -> None:
    found = explain(
        [
            trial(many, 0, measured(100.0)),
            trial(many, 1, measured(110.0), users=256, share=0.95),
            trial(many, 2, measured(90.0), graph=False, size=4),
        ],
        many,
    )
    assert [each.value for each in knob(found, "users").levels] == [16, 64, 256]
    assert knob(found, "users").untried == (16,)
    assert knob(found, "share").untried == (0.8, 0.85)
    assert (level(found, "size", 2).tried, level(found, "size", 4).tried) == (3, 0)
    assert knob(found, "size").never_moved
    assert not knob(found, "graph").never_moved
    assert knob(found, "graph").untried == ()


@pytest.mark.parametrize(
    "tried",
    [
        [],
        [None],
        [MEMORY],
        [measured(100.0)],
        [measured(100.0), MEMORY, LOST, None],
    ],
    ids=["none", "one that runs", "a crash", "the baseline", "the baseline and a crash"],
)
def test_too_few_trials_have_no_effects(small: SearchSpace, tried: Sequence[Outcome | None]) -> None:
    records = [trial(small, n, each, threads=(2, 1, 3, 4)[n]) for n, each in enumerate(tried)]
    found = explain(records, small)
    assert not found.compared
    assert [each.name for each in found.knobs] == ["threads", "cache", "unified"]
    assert not names(found)


def test_a_baseline_that_was_not_measured_is_no_measure_of_others(small: SearchSpace) -> None:
    found = explain([trial(small, 0, MEMORY), trial(small, 1, measured(100.0), threads=1)], small)
    assert (found.measured, found.crashed) == (1, 1)
    assert not found.compared


def test_what_runs_was_lost_or_is_to_be_run_again_says_nothing(knobs: SearchSpace) -> None:
    tried = World(knobs, {"a": 0.10}).searched(20)
    stuck = Infeasible(failure="stuck", reason="silent", seconds={})
    without = [one for one in tried if one.config["h"] is False]
    more = [
        trial(knobs, 90, LOST, h=True),
        trial(knobs, 91, None, h=True, g=True),
        trial(knobs, 92, stuck, h=True, f=True),
    ]
    assert explain([*without, *more], knobs) == explain(without, knobs)
