"""Where another recipe is better at one concurrency: what is tried, and what is proved. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.compare import BAND, FEWEST, Comparison
from autotune.confirm import NOISE, compared, decided, passed
from autotune.expected import Beliefs, at
from autotune.folder import LaunchRecord, TrialRecord
from autotune.rounds import OVERRIDDEN, PLAIN, due, failure, measured, of
from search_spaces import Config, Recipe, SearchSpace, differences, resolve
from trials.outcome import Measured


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    Another config for one concurrency, that was measured in the search and passed its gate.

    Attributes:
        promise: Of it over the recipe there, as the search has it: a logarithm, and no evidence.
    """

    concurrency: int
    trial: TrialRecord
    promise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """
    A proposal, and what its own launches at that concurrency say.

    Attributes:
        comparison: Of the other config against the recipe, there; None before the first look.
        out: Why it can't be an override whatever its speed: it failed, or did not pass its gate.
        next: The round and the arm to launch next; None when there is nothing left to launch.
    """

    proposal: Proposal
    comparison: Comparison | None
    out: str | None
    next: tuple[int, str] | None

    @property
    def arms(self) -> tuple[str, str]:
        """Those of its launches: the recipe as it is, and the other config in its place."""
        return _arms(self.proposal.concurrency)

    @property
    def proved(self) -> bool:
        """Say whether it becomes an override."""
        return not self.next and not self.out and self.comparison is not None and self.comparison.result == "win"


@dataclass(frozen=True, slots=True)
class Where:
    """
    What single concurrencies are held against.

    Attributes:
        config: Of the recipe that may be overridden.
        candidate: The last that was confirmed, won or not: the launches are counted as its own.
        fresh: Launches over the ladder after the search, each with its config: what is learned from beside the search.
    """

    config: Config
    candidate: TrialRecord
    fresh: tuple[tuple[Config, Measured], ...]


def proposals(where: Where, trials: Sequence[TrialRecord], space: SearchSpace) -> list[Proposal]:
    """
    Return the configs that are expected to beat a recipe at one concurrency by more than a tie: the best there, of
    equals the one that differs from it least; the most promising first.
    """
    here = resolve(space, where.config)
    found = []
    for concurrency in space.workload.concurrency:
        beliefs = at(concurrency, trials, space, where.fresh)
        others = [t for t in trials if passed(t) and resolve(space, t.config).at(concurrency) != here.at(concurrency)]
        best = min(others, key=lambda t: _rank(t, where.config, beliefs, space), default=None)
        if best and (promise := beliefs.gain(best.config, where.config)) > BAND:
            found.append(Proposal(concurrency, best, promise))
    return sorted(found, key=lambda proposal: -proposal.promise)


def _rank(trial: TrialRecord, config: Config, beliefs: Beliefs, space: SearchSpace) -> tuple[float, int, int]:
    gain = beliefs.gain(trial.config, config)
    own, other = (differences(space, resolve(space, each).config) for each in (trial.config, config))
    return (-round(gain / NOISE), len(own.items() ^ other.items()), trial.number)


def regimes(
    where: Where, trials: Sequence[TrialRecord], launches: Sequence[LaunchRecord], space: SearchSpace
) -> tuple[Regime, ...]:
    """Return the proposals that the budget has room for, one after the other: each waits for the one before it."""
    own = of(launches, "regimes", where.candidate.number)
    left, found = space.budget.regime_launches, list[Regime]()
    if left < 2 * FEWEST:
        return ()
    for proposal in proposals(where, trials, space):
        rounds = min(space.budget.confirm_launches, left // 2)
        if rounds < FEWEST or (found and found[-1].next):
            break
        found.append(_regime(proposal, own, rounds, space))
        left -= sum(len(measured(own, arm)) for arm in _arms(proposal.concurrency))
    return tuple(found)


def _arms(concurrency: int) -> tuple[str, str]:
    return f"{PLAIN}{concurrency}", f"{OVERRIDDEN}{concurrency}"


def _regime(proposal: Proposal, launches: Sequence[LaunchRecord], rounds: int, space: SearchSpace) -> Regime:
    arms = _arms(proposal.concurrency)
    comparison = compared(launches, *arms, space.objective)
    out = failure(launches, arms[1]) or failure(launches, arms[0])
    over = out or decided(launches, arms, comparison)
    return Regime(
        proposal=proposal,
        comparison=comparison,
        out=out,
        next=None if over else due(arms, launches, rounds),
    )


def alone(recipe: Recipe, concurrency: int) -> Recipe:
    """Return a recipe as it is served at one concurrency, under the load of that one."""
    judged = {concurrency: recipe.judged[concurrency]} if concurrency in recipe.judged else {}
    return recipe.model_copy(
        update={
            "workload": recipe.workload.model_copy(update={"concurrency": (concurrency,)}),
            "serve": recipe.at(concurrency),
            "overrides": {},
            "judged": judged,
        }
    )


def overridden(recipe: Recipe, others: Mapping[int, Recipe]) -> Recipe:
    """Return a recipe that is served at some concurrencies as others are there."""
    serves = {**recipe.overrides, **{at: other.at(at) for at, other in others.items()}}
    judged = {at: serve for at, serve in recipe.judged.items() if at not in others}
    judged |= {at: other.judged[at] for at, other in others.items() if at in other.judged}
    return recipe.model_copy(update={"overrides": dict(sorted(serves.items())), "judged": judged})
