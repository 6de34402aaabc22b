"""The next config that is worth an engine start: what is known, forbidden or running costs nothing."""

import pytest
from optuna.trial import FrozenTrial, TrialState

from autotune.inert import identity
from autotune.search.propose import REPEATS, propose
from autotune.search.search import Search
from autotune.search.tell import imputed
from search_spaces import Config, SearchSpace, resolve
from tests.autotune.conftest import Loaded
from tests.autotune.studies import MEMORY, complete
from tests.support import measured
from trials.outcome import Outcome

TINY = """
baseline: {cache: f16, unified: false}
knobs:
  cache: {flag: --cache-type, choice: [f16, q8_0]}
  unified: {switch: --kv-unified}
"""
ONE_LESS = """
rules:
  - {forbid: {cache: q8_0}, when: {unified: true}, because: the engine refuses it}
"""
ALIASED = """
baseline: {spec: false, drafts: 1}
knobs:
  spec: {switch: --spec}
  drafts: {flag: --drafts, int: {low: 1, high: 3}, when: {spec: true}}
"""
KERNELS = """
baseline: {kernel: a, spec: false}
knobs:
  kernel: {env: K, choice: [a, b]}
  spec: {switch: --spec}
"""


def searching(space: SearchSpace, sampler: str = "random") -> Search:
    """Return a new search in memory."""
    return Search(space, sampler=sampler, seed=5, database=None)


def told(search: Search) -> list[FrozenTrial]:
    """Return what Optuna knows."""
    return search._study.get_trials()


def fingerprint(space: SearchSpace, config: Config) -> str:
    """Return the fingerprint of a config's recipe."""
    return resolve(space, config).fingerprint


def exhaust(space: SearchSpace, sampler: str) -> list[Config]:
    """Return the configs that are proposed until none is left."""
    search, seen, configs = searching(space, sampler), dict[str, Outcome](), list[Config]()
    while found := propose(search, space, seen, running=()):
        proposal, recipe = found
        outcome = measured(100.0 + len(configs), 100.0)
        search.tell(proposal, outcome)
        seen[recipe.fingerprint] = outcome
        configs.append(proposal.config)
    return configs


@pytest.mark.parametrize("sampler", ["random", "tpe", "nsga2"])
def test_a_space_of_four_configs_is_exhausted_after_four(loaded: Loaded, sampler: str) -> None:
    configs = exhaust(loaded(TINY), sampler)
    assert sorted((str(config["cache"]), bool(config["unified"])) for config in configs) == [
        ("f16", False),
        ("f16", True),
        ("q8_0", False),
        ("q8_0", True),
    ]


def test_a_forbidden_config_is_never_proposed(loaded: Loaded) -> None:
    configs = exhaust(loaded(TINY + ONE_LESS), "random")
    assert len(configs) == 3
    assert {"cache": "q8_0", "unified": True} not in configs


def test_configs_that_come_to_one_recipe_are_one_config(loaded: Loaded) -> None:
    assert len(exhaust(loaded(ALIASED), "random")) == 1 + 3


def test_a_rule_breaker_is_told_at_once_as_infeasible(loaded: Loaded) -> None:
    space = loaded(TINY + ONE_LESS)
    search = searching(space)
    search.replay(space.baseline, measured(100.0, 100.0))
    search.enqueue({"cache": "q8_0", "unified": True})
    search.enqueue({"cache": "q8_0", "unified": False})
    found = propose(search, space, {fingerprint(space, space.baseline): measured(100.0, 100.0)}, running=())
    assert found is not None
    assert found[0].config == {"cache": "q8_0", "unified": False}
    _, broken, asked = told(search)
    assert (broken.state, imputed(broken.user_attrs)) == (TrialState.COMPLETE, True)
    assert broken.value == pytest.approx(100.0)
    assert (broken.constraints["feasible"], asked.state) == (1.0, TrialState.RUNNING)


@pytest.mark.parametrize(("outcome", "value"), [(measured(90.0, 90.0), 90.0), (MEMORY, 0.0)])
def test_a_repeat_is_told_the_outcome_that_is_stored(loaded: Loaded, outcome: Outcome, value: float) -> None:
    space = loaded(TINY)
    search = searching(space)
    search.enqueue(space.baseline)
    search.enqueue(complete(space, {"unified": True}))
    found = propose(search, space, {fingerprint(space, space.baseline): outcome}, running=())
    assert found is not None
    assert found[0].config == complete(space, {"unified": True})
    assert told(search)[0].state == TrialState.COMPLETE
    assert told(search)[0].value == pytest.approx(value)


def test_a_config_that_differs_in_nothing_that_matters_is_a_repeat(loaded: Loaded) -> None:
    space = loaded(KERNELS)
    search = searching(space)
    search.enqueue(complete(space, {"kernel": "b"}))
    search.enqueue(complete(space, {"kernel": "b", "spec": True}))
    seen: dict[str, Outcome] = {identity(resolve(space, space.baseline), {"K"}): measured(90.0, 90.0)}
    found = propose(search, space, seen, running=(), inert={"K"})
    assert found is not None
    assert found[0].config == complete(space, {"kernel": "b", "spec": True})
    assert told(search)[0].value == pytest.approx(90.0)
    seen[identity(found[1], {"K"})] = MEMORY
    assert propose(search, space, seen, running=(), inert={"K"}) is None


def test_what_is_running_is_given_back(loaded: Loaded) -> None:
    space = loaded(TINY)
    search = searching(space)
    search.enqueue(space.baseline)
    search.enqueue(complete(space, {"unified": True}))
    found = propose(search, space, {}, running={fingerprint(space, space.baseline)})
    assert found is not None
    assert found[0].config == complete(space, {"unified": True})
    assert told(search)[0].state == TrialState.FAIL


def test_while_the_last_config_runs_there_is_nothing_to_propose(loaded: Loaded) -> None:
    space = loaded(TINY)
    configs = exhaust(space, "random")
    seen: dict[str, Outcome] = {fingerprint(space, config): measured(100.0, 100.0) for config in configs[1:]}
    assert propose(searching(space), space, seen, running={fingerprint(space, configs[0])}) is None


def test_after_repeats_in_a_row_the_nearest_config_that_was_not_measured_is_taken(small: SearchSpace) -> None:
    search = searching(small)
    seen: dict[str, Outcome] = {fingerprint(small, small.baseline): measured(100.0, 100.0)}
    for threads in (1, 3, 4):
        seen[fingerprint(small, complete(small, {"threads": threads}))] = MEMORY
    for _ in range(REPEATS):
        search.enqueue(small.baseline)
    found = propose(search, small, seen, running=())
    assert found is not None
    proposal, recipe = found
    assert proposal.config == complete(small, {"cache": "q8_0"})
    assert recipe == resolve(small, proposal.config)
    assert len(told(search)) == REPEATS + 1


def test_one_repeat_less_leaves_the_choice_to_the_sampler(small: SearchSpace) -> None:
    search = searching(small)
    for _ in range(REPEATS - 1):
        search.enqueue(small.baseline)
    fresh = complete(small, {"threads": 4, "cache": "q4_0", "unified": True})
    search.enqueue(fresh)
    found = propose(search, small, {fingerprint(small, small.baseline): measured(100.0, 100.0)}, running=())
    assert found is not None
    assert found[0].config == fresh


def test_stepped_numbers_are_exhausted_too(loaded: Loaded) -> None:
    space = loaded("baseline: {x: 0.85}\nknobs:\n  x: {flag: --x, float: {low: 0.8, high: 0.95, step: 0.01}}\n")
    assert sorted(float(config["x"]) for config in exhaust(space, "random")) == [n / 100 for n in range(80, 96)]
