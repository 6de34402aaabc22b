"""The next config that is worth an engine start."""

from collections.abc import Collection, Mapping

from autotune.search.flat import nearest
from autotune.search.search import Proposal, Search
from search_spaces import Recipe, RuleBroken, SearchSpace, resolve
from trials.outcome import Infeasible, Outcome

REPEATS = 50  # proposals in a row that bring nothing new before the nearest unmeasured config is taken


def propose(
    search: Search, space: SearchSpace, seen: Mapping[str, Outcome], running: Collection[str]
) -> tuple[Proposal, Recipe] | None:
    """
    Return a proposal with a recipe that was not run yet, or None when the space is exhausted.

    A proposal that breaks a rule, or resolves to a recipe already seen, is told at once and costs nothing.

    Args:
        seen: Outcomes by fingerprint.
        running: Fingerprints of trials that have not ended.
    """
    for _ in range(REPEATS):
        proposal = search.ask()
        if recipe := _fresh(search, space, proposal, seen, running):
            return proposal, recipe
    return _unmeasured(search, space, {*seen, *running})


def _fresh(
    search: Search, space: SearchSpace, proposal: Proposal, seen: Mapping[str, Outcome], running: Collection[str]
) -> Recipe | None:
    """Return the recipe of a proposal if it is worth running; else tell the proposal what is known of it."""
    try:
        recipe = resolve(space, proposal.config)
    except RuleBroken as broken:
        search.tell(proposal, Infeasible(failure="rule", reason=str(broken), seconds={}))
        return None
    if recipe.fingerprint in seen:
        search.tell(proposal, seen[recipe.fingerprint])
    elif recipe.fingerprint in running:
        search.forget(proposal)
    else:
        return recipe
    return None


def _unmeasured(search: Search, space: SearchSpace, done: Collection[str]) -> tuple[Proposal, Recipe] | None:
    """Return the config nearest to the baseline that was not run yet."""
    for config in nearest(space, space.baseline):
        try:
            recipe = resolve(space, config)
        except RuleBroken:
            continue
        if recipe.fingerprint not in done:
            search.enqueue(config)
            return search.ask(), recipe
    return None
