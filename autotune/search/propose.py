"""The next config that is worth an engine start."""

from collections.abc import Collection, Mapping

from autotune.inert import identity
from autotune.search.flat import nearest
from autotune.search.search import Proposal, Search
from search_spaces import Config, Recipe, RuleBroken, SearchSpace, hardware_of, resolve, shortage
from trials.outcome import Infeasible, Outcome

REPEATS = 50  # proposals in a row that bring nothing new before the nearest unmeasured config is taken


def propose(
    search: Search,
    space: SearchSpace,
    seen: Mapping[str, Outcome],
    running: Collection[str],
    *,
    inert: Collection[str] = (),
) -> tuple[Proposal, Recipe] | None:
    """
    Return a proposal with a recipe that was not run yet, or None when the space is exhausted.

    A proposal that breaks a rule, can't fit in memory, or resolves to a recipe already seen, is told at once and costs
    nothing.

    Args:
        seen: Outcomes by identity.
        running: Identities of trials that have not ended.
        inert: Variables that make no difference: an identity is the fingerprint without them.
    """
    for _ in range(REPEATS):
        proposal = search.ask()
        recipe = _startable(space, proposal.config)
        if isinstance(recipe, Infeasible):
            search.tell(proposal, recipe)
        elif (own := identity(recipe, inert)) in seen:
            search.tell(proposal, seen[own])
        elif own in running:
            search.forget(proposal)
        else:
            return proposal, recipe
    return _unmeasured(search, space, {*seen, *running}, inert)


def _unmeasured(
    search: Search, space: SearchSpace, done: Collection[str], inert: Collection[str]
) -> tuple[Proposal, Recipe] | None:
    """Return the config nearest to the baseline that was not run yet."""
    for config in nearest(space, space.baseline):
        recipe = _startable(space, config)
        if isinstance(recipe, Recipe) and identity(recipe, inert) not in done:
            search.enqueue(config)
            return search.ask(), recipe
    return None


def _startable(space: SearchSpace, config: Config) -> Recipe | Infeasible:
    """Return a config's recipe, or why no engine need be started to know that it fails."""
    try:
        recipe = resolve(space, config)
        short = shortage(space, config, hardware_of(space.target.hardware)) if space.memory else None
    except RuleBroken as broken:
        return Infeasible(failure="rule", reason=str(broken), seconds={})
    return Infeasible(failure="memory", reason=f"not started: {short}", seconds={}) if short else recipe
