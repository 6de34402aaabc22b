"""All that follows a search: confirm, take apart, reduce, look at each concurrency. Pure functions over launches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.ablate import Ablation, ablate, reduced
from autotune.compare import Comparison
from autotune.confirm import Beside, Conclusion, Standing, conclude
from autotune.folder import LaunchRecord, Stage, TrialRecord
from autotune.reduce import Reduction, reduction
from autotune.regimes import Regime, Where, alone, overridden, regimes
from autotune.rounds import BASELINE, BESIDE, CANDIDATE, DEFAULTS, OVERRIDDEN, REDUCED, REFERENCE, measured, of
from search_spaces import Config, Recipe, SearchSpace, defaults, resolve
from trials.outcome import Judgement, Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    The next launch.

    Attributes:
        round: From 0; all arms of a round get the same prompts.
        judged: Whether the full gate is asked of it.
        reference: The baseline's answers, which it is held against; none of the baseline itself.
    """

    stage: Stage
    arm: str
    candidate: int
    recipe: Recipe
    round: int
    judged: bool
    reference: tuple[Judgement, ...]

    @property
    def beside(self) -> bool:
        """Say whether the study goes on without it, should it be lost again and again."""
        return self.arm in BESIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """
    What a study proved, or has proved so far.

    Attributes:
        config: Of the recipe, apart from what is overridden at single concurrencies.
        recipe: What the study recommends.
        next: What to launch next; None when there is nothing left to launch.
    """

    conclusion: Conclusion
    ablation: Ablation | None
    reduction: Reduction | None
    regimes: tuple[Regime, ...]
    config: Config
    recipe: Recipe
    next: Step | None

    @property
    def comparison(self) -> Comparison | None:
        """The recipe against the baseline over the ladder, as its own fresh launches have it."""
        if self.reduction and self.reduction.stands:
            return self.reduction.comparison
        last = _last(self.conclusion)
        return last.comparison if last else None

    @property
    def launches(self) -> tuple[Measured, ...]:
        """The recipe's fresh launches over the whole ladder."""
        if self.reduction and self.reduction.stands:
            return self.reduction.launches
        if (last := _last(self.conclusion)) is None:
            return ()
        return last.b if self.conclusion.result == "win" else last.a

    @property
    def beside(self) -> tuple[Beside, ...]:
        """What the same launches say of the recipe against the engine's own defaults, and against the reference."""
        if self.reduction and self.reduction.stands:
            return self.reduction.beside
        last = _last(self.conclusion)
        return last.beside if last else ()


def arms_beside(space: SearchSpace, reference: Recipe | None) -> dict[str, Recipe]:
    """Return the recipes that are launched beside each comparison; the defaults unless they are the baseline."""
    found, base = {DEFAULTS: defaults(space)}, resolve(space, space.baseline)
    if found[DEFAULTS].fingerprint == base.fingerprint:
        del found[DEFAULTS]
    return {**found, **({REFERENCE: reference} if reference else {})}


def prove(
    trials: Sequence[TrialRecord],
    launches: Sequence[LaunchRecord],
    space: SearchSpace,
    beside: Mapping[str, Recipe] | None = None,
) -> Proof:
    """
    Return what a study's trials and launches prove, and what to launch next.

    Args:
        beside: Recipes that are to be launched in the rounds of each comparison, by arm.
    """
    also = dict(beside or {})
    conclusion = conclude(trials, launches, space, tuple(also))
    last, config = _last(conclusion), resolve(space, conclusion.winner.config).config
    apart, less, found = None, None, tuple[Regime, ...]()
    if last and not last.next and not last.stopped and not last.dropped:
        if conclusion.result == "win":
            apart = ablate(last.candidate, trials, launches, space)
            less = _less(apart, last, launches, space, tuple(also))
        config = less.config if less and less.stands else config
        if not ((apart and apart.next) or (less and less.next)):
            fresh = _fresh(last, apart, less, launches, space)
            found = regimes(Where(config, last.candidate, fresh), trials, launches, space)
    proved = {each.proposal.concurrency: each.proposal.trial.config for each in found if each.proved}
    return Proof(
        conclusion=conclusion,
        ablation=apart,
        reduction=less,
        regimes=found,
        config=config,
        recipe=overridden(resolve(space, config), {at: resolve(space, own) for at, own in proved.items()}),
        next=_next(_Known(last, apart, less, found, config), launches, space, also),
    )


def _last(conclusion: Conclusion) -> Standing | None:
    return conclusion.standings[-1] if conclusion.standings else None


def _less(
    apart: Ablation | None,
    last: Standing,
    launches: Sequence[LaunchRecord],
    space: SearchSpace,
    beside: Sequence[str],
) -> Reduction | None:
    if apart is None or apart.next:
        return None
    config = reduced(apart, last.candidate, space)
    return reduction(last.candidate, config, launches, space, beside=beside) if config else None


def _fresh(
    last: Standing, apart: Ablation | None, less: Reduction | None, launches: Sequence[LaunchRecord], space: SearchSpace
) -> tuple[tuple[Config, Measured], ...]:
    """Return the launches over the ladder until now, each with its config."""
    ends: dict[str, Config] = {BASELINE: space.baseline, CANDIDATE: last.candidate.config}
    by_stage: dict[Stage, Mapping[str, Config]] = {
        "confirm": ends,
        "ablate": apart.design.arms if apart else {},
        "reduce": {**ends, REDUCED: less.config} if less else {},
    }
    return tuple(
        (config, each)
        for stage, configs in by_stage.items()
        for arm, config in configs.items()
        for each in measured(of(launches, stage, last.candidate.number), arm)
    )


# --- the next launch ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    last: Standing | None
    apart: Ablation | None
    less: Reduction | None
    regimes: tuple[Regime, ...]
    config: Config


def _next(
    known: _Known, launches: Sequence[LaunchRecord], space: SearchSpace, beside: Mapping[str, Recipe]
) -> Step | None:
    last, apart, less = known.last, known.apart, known.less
    if last is None:
        return None
    ends: Mapping[str, Config] = {BASELINE: space.baseline, CANDIDATE: last.candidate.config}
    if last.next:
        return _step("confirm", last.next, last, launches, _recipe(last.next, ends, space, beside))
    if apart and apart.next:
        return _step("ablate", apart.next, last, launches, _recipe(apart.next, apart.design.arms, space, {}))
    if less and less.next:
        configs = {**ends, REDUCED: less.config}
        return _step("reduce", less.next, last, launches, _recipe(less.next, configs, space, beside))
    for regime in known.regimes:
        if regime.next:
            override = regime.next[1].startswith(OVERRIDDEN)
            config = regime.proposal.trial.config if override else known.config
            recipe = alone(resolve(space, config), regime.proposal.concurrency)
            return _step("regimes", regime.next, last, launches, recipe)
    return None


def _recipe(
    due: tuple[int, str], configs: Mapping[str, Config], space: SearchSpace, beside: Mapping[str, Recipe]
) -> Recipe:
    return beside[due[1]] if due[1] in beside else resolve(space, configs[due[1]])


def _step(stage: Stage, due: tuple[int, str], last: Standing, launches: Sequence[LaunchRecord], recipe: Recipe) -> Step:
    number, arm = due
    judged = _judged(stage, arm) and not measured(of(launches, stage, last.candidate.number), arm)
    baseline = stage == "confirm" and arm == BASELINE
    return Step(
        stage=stage,
        arm=arm,
        candidate=last.candidate.number,
        recipe=recipe,
        round=number,
        judged=judged,
        reference=last.a[0].judged if judged and not baseline else (),
    )


def _judged(stage: Stage, arm: str) -> bool:
    """Say whether an arm is asked the full gate at its first launch: what may be recommended, and the baseline once."""
    return (stage == "confirm" and arm in {BASELINE, CANDIDATE}) or arm == REDUCED or arm.startswith(OVERRIDDEN)
