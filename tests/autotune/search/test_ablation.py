"""What the ablation sampler proposes."""

import math

import numpy as np
import optuna
import pytest

from autotune.search.ablation import BEARABLE, EXPLOIT, ISOLATE, SAMPLED, Climb, climbed, isolated, propose
from autotune.search.additive import features
from autotune.search.axes import Axes, Axis, Point
from autotune.search.beliefs import Beliefs, beliefs
from autotune.search.flat import distributions, to_config
from autotune.search.history import History, Told
from autotune.search.samplers import make
from autotune.search.tell import Fact, record
from search_spaces import SearchSpace, load

KNOBS = 8
SWITCHES = Axes(tuple(Axis(name=f"k{n}", levels=(False, True), ordered=False, baseline=0) for n in range(KNOBS)))
BASE = SWITCHES.baseline
EFFECTS = (0.08, 0.05, 0.03, 0.02, -0.04, -0.03, 0.0, 0.0)
CRASHING = 1, 2
SAMPLING = 0
assert SAMPLING not in {EXPLOIT - 1, ISOLATE - 1}


def on(*knobs: int) -> Point:
    """Return the point with these switches on."""
    return tuple(int(n in knobs) for n in range(KNOBS))


def known(*told: Told) -> Beliefs:
    """Return what these trials say."""
    return beliefs(SWITCHES, features(SWITCHES), told)


def ran(point: Point, value: float) -> Told:
    """Return a trial that was measured."""
    return Told(point, value)


def differ(one: Point, other: Point) -> int:
    """Return in how many knobs two points differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def effects(**gains: float) -> list[np.ndarray]:
    """Return the effects of switches, by name `k0`, `k1`."""
    return [np.array([0.0, gains.get(f"k{n}", 0.0)]) for n in range(KNOBS)]


def test_the_baseline_comes_first() -> None:
    assert propose(known(), History((), frozenset()), np.random.default_rng(0), turn=0) == BASE


def test_a_climb_takes_what_brings_most_and_no_more_than_it_may() -> None:
    start = known(*[ran(point, 100.0) for point in (BASE, on(*range(KNOBS)))])
    gains = effects(k0=0.05, k1=0.03, k2=0.04, k3=-0.02)
    assert climbed(start, BASE, gains, Climb(flips=2, least=0.0)) == on(0, 2)
    assert climbed(start, BASE, gains, Climb(flips=9, least=0.035)) == on(0, 2)
    assert climbed(start, BASE, gains, Climb(flips=9, least=0.0)) == on(0, 1, 2)


def test_a_climb_goes_back_where_a_level_costs() -> None:
    start = known(*[ran(point, 100.0) for point in (BASE, on(0))])
    assert climbed(start, on(0), effects(k0=-0.05), SAMPLED) == BASE


def test_a_climb_leaves_out_what_crashes_more_than_it_brings() -> None:
    crashed = known(ran(BASE, 100.0), *[Told(on(0, n), None) for n in range(1, 5)])
    assert crashed.risk(on(0)) > BEARABLE
    assert climbed(crashed, BASE, effects(k0=0.5), SAMPLED) == BASE


def test_a_suspect_is_tried_alone_on_the_incumbent() -> None:
    told = [ran(BASE, 100.0), ran(on(0), 110.0), Told(on(0, 1, 2), None)]
    found = isolated(known(*told), frozenset(each.point for each in told))
    assert found in {on(0, 1), on(0, 2)}


def test_what_ran_well_once_needs_no_clearing() -> None:
    told = [ran(BASE, 100.0), Told(on(1, 2), None), ran(on(1), 100.0), ran(on(2), 100.0)]
    assert isolated(known(*told), frozenset(each.point for each in told)) is None


def test_what_crashed_twice_is_tried_alone_on_the_baseline_and_then_given_up() -> None:
    told = [
        ran(BASE, 100.0),
        ran(on(0), 110.0),
        Told(on(0, 1, 2), None),
        Told(on(0, 1, 3), None),
        ran(on(0, 2, 3), 110.0),
    ]
    assert isolated(known(*told), frozenset(each.point for each in told)) == on(1)
    told.append(Told(on(1), None))
    assert isolated(known(*told), frozenset(each.point for each in told)) is None


def test_a_climb_swaps_one_of_a_pair_that_crashes_for_the_other() -> None:
    crashed = [Told(on(1, 2, n), None) for n in (0, 3, 4, 5, 6, 7)]
    pair = known(ran(BASE, 100.0), ran(on(1), 105.0), ran(on(2), 103.0), *crashed)
    assert pair.risk(on(1, 2)) > BEARABLE
    assert climbed(pair, on(2), effects(k1=0.05, k2=0.03), SAMPLED) == on(1)


def test_what_runs_is_not_proposed_again() -> None:
    told, running = (ran(BASE, 100.0),), set[Point]()
    for turn in range(40):
        point = propose(known(*told), History(told, frozenset(running)), np.random.default_rng(turn), turn=turn)
        assert point not in running | {BASE}
        running.add(point)


def test_what_never_went_well_is_in_one_launch_at_a_time() -> None:
    told = (ran(BASE, 100.0), ran(on(0), 101.0), Told(on(1, 2), None))
    aware = known(*told).awaiting({on(0, 1), on(3)})
    assert aware.pending == {(1, 1), (3, 1)}
    assert climbed(aware, BASE, effects(k0=0.01, k1=0.05, k2=0.03, k3=0.05), SAMPLED) == on(0, 2)
    assert isolated(aware, frozenset()) == on(0, 2)


def test_a_sample_changes_few_knobs_of_where_it_starts() -> None:
    told = (ran(BASE, 100.0),)
    for seed in range(20):
        point = propose(known(*told), History(told, frozenset()), np.random.default_rng(seed), turn=SAMPLING)
        assert 0 < differ(point, BASE) <= SAMPLED.flips


def test_when_every_point_is_taken_one_is_proposed_all_the_same() -> None:
    two = Axes(SWITCHES.each[:1])
    told = (Told((0,), 100.0), Told((1,), 101.0))
    found = propose(beliefs(two, features(two), told), History(told, frozenset()), np.random.default_rng(0), turn=0)
    assert found in {(0,), (1,)}


def test_the_best_is_found_beside_a_pair_that_crashes() -> None:
    source, told = np.random.default_rng(7), list[Told]()
    for turn in range(60):
        history = History(tuple(told), frozenset())
        point = propose(known(*told), history, np.random.default_rng([1, turn]), turn=turn)
        gain = sum(effect for effect, level in zip(EFFECTS, point, strict=True) if level)
        crashed = all(point[knob] for knob in CRASHING)
        told.append(Told(point, None if crashed else 100 * math.exp(gain + 0.01 * source.standard_normal())))
    best = known(*told).incumbent
    assert (best[0], best[1], best[2], best[3], best[4], best[5]) == (1, 1, 0, 1, 0, 0)
    assert sum(each.value is None for each in told[30:]) <= 6


@pytest.fixture
def kimi() -> SearchSpace:
    """Return a space of 26 knobs."""
    return load("kimik2.5-mi355x")


def studied(space: SearchSpace, trials: int, *, seed: int) -> optuna.Study:
    """Return a study of random outcomes."""
    study = optuna.create_study(direction="maximize", sampler=make("random", space, seed))
    source = np.random.default_rng(seed)
    for _ in range(trials):
        value = None if source.random() < 0.2 else 100 * math.exp(0.1 * source.standard_normal())
        record(study, study.ask(distributions(space)), Fact(value=value))
    return study


def test_a_sampler_made_anew_from_told_trials_proposes_the_same(kimi: SearchSpace) -> None:
    proposed = []
    for _ in range(2):
        study = studied(kimi, 20, seed=1)
        study.sampler = make("ablation", kimi, 5)
        proposed.append(to_config(kimi, study.ask(distributions(kimi)).params))
    assert proposed[0] == proposed[1]


def test_another_seed_proposes_something_else(kimi: SearchSpace) -> None:
    proposed = []
    for seed in (5, 6):
        study = studied(kimi, 18, seed=1)
        study.sampler = make("ablation", kimi, seed)
        proposed.append(to_config(kimi, study.ask(distributions(kimi)).params))
    assert proposed[0] != proposed[1]
