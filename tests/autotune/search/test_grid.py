"""Every config once, and then the end."""

import optuna

from autotune.search.flat import distributions, to_config
from autotune.search.samplers import make
from search_spaces import Config, SearchSpace


def study(space: SearchSpace) -> optuna.Study:
    """Return a study that enumerates a space."""
    return optuna.create_study(direction="maximize", sampler=make("grid", space, 0))


def test_every_config_is_proposed_once(small: SearchSpace) -> None:
    asking = study(small)
    proposed: list[Config] = [to_config(small, asking.ask(distributions(small)).params) for _ in range(24)]
    assert len({tuple(config.items()) for config in proposed}) == 24
    assert [config["threads"] for config in proposed] == sorted(config["threads"] for config in proposed)


def test_when_all_are_taken_the_baseline_is_proposed_so_that_the_study_ends(small: SearchSpace) -> None:
    asking = study(small)
    for _ in range(24):
        asking.ask(distributions(small))
    assert to_config(small, asking.ask(distributions(small)).params) == small.baseline


def test_a_failed_trial_is_not_proposed_again(small: SearchSpace) -> None:
    asking = study(small)
    first = asking.ask(distributions(small))
    asking.tell(first, state=optuna.trial.TrialState.FAIL)
    assert asking.ask(distributions(small)).params != first.params
