"""Engines whose truth is known: what each knob brings at each concurrency; and studies that are played against them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from autotune.design import design
from autotune.folder import LaunchRecord, TrialRecord
from autotune.proof import Proof, Step, arms_beside, prove
from autotune.rounds import rounds
from search_spaces import Recipe, Scalar, SearchSpace
from tests.autotune.studies import trial
from tests.support import measured, point
from trials.outcome import Infeasible, Measured, Outcome

Effect = Mapping[int, float] | float
"""A share of the rate, at each concurrency or at all."""

KNOBS = """
baseline: {a: false, b: false, c: false, d: false, e: false, f: false, g: false, h: false}
knobs:
  a: {switch: --a}
  b: {switch: --b}
  c: {switch: --c}
  d: {switch: --d}
  e: {switch: --e}
  f: {switch: --f}
  g: {switch: --g}
  h: {switch: --h}
"""
ALL = tuple("abcdefgh")


def budgeted(space: SearchSpace, **budget: int) -> SearchSpace:
    """Return a space with another budget."""
    return space.model_copy(update={"budget": space.budget.model_copy(update=budget)})


@dataclass
class World:
    """
    A machine on which every launch has its own luck.

    Attributes:
        effects: Of each knob that is on.
        sd: Of the logarithm of a launch.
        broken: Knobs without which the engine runs out of memory where the other one is on.
    """

    space: SearchSpace
    effects: Mapping[str, Effect]
    sd: float = 0.007
    seed: int = 0
    broken: Mapping[str, str] = field(default_factory=dict)
    launches: list[LaunchRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin the luck."""
        self._random = np.random.default_rng(self.seed)

    def rate(self, config: Mapping[str, Scalar], concurrency: int) -> float:
        """Return the true rate of a config."""
        on = [self.effects.get(knob, 0.0) for knob, value in config.items() if value is True]
        shares = [effect if isinstance(effect, float) else effect.get(concurrency, 0.0) for effect in on]
        return 100.0 * math.prod(1 + share for share in shares)

    def run(self, config: Mapping[str, Scalar], ladder: Sequence[int], *, judged: bool, sd: float) -> Outcome:
        """Launch a config."""
        if any(config[other] is True and config[knob] is False for knob, other in self.broken.items()):
            return Infeasible(failure="memory", reason="out of memory", seconds={})
        luck = math.exp(self._random.normal(0.0, sd))
        points = tuple(
            point(self.rate(config, at) * luck * math.exp(self._random.normal(0.0, sd / 3)), concurrency=at)
            for at in ladder
        )
        return replace(measured(1.0), points=points, judged=measured(1.0).judged if judged else ())

    def searched(self, count: int = 24, *, best: Sequence[str] = ()) -> list[TrialRecord]:
        """Return trials of the search: the baseline, a draw of others, and at last one with these knobs on."""
        draws = [[], *([k for k in ALL if self._random.random() < 0.5] for _ in range(count)), list(best)]
        ladder = self.space.workload.concurrency
        tried = []
        for number, on in enumerate(draws):
            asked = trial(self.space, number, None, **dict.fromkeys(on, True))
            tried.append(replace(asked, outcome=self.run(asked.config, ladder, judged=True, sd=2 * self.sd)))
        return tried

    def finish(self, trials: Sequence[TrialRecord], most: int = 200) -> Proof:
        """Launch whatever is asked for until nothing is."""
        for _ in range(most):
            proof = prove(trials, self.launches, self.space, arms_beside(self.space, None))
            if proof.next is None:
                return proof
            self.launches.append(self.launch(proof.next))
        raise AssertionError(f"still not done after {most} launches")

    def apart(self, winner: TrialRecord, trials: Sequence[TrialRecord]) -> list[LaunchRecord]:
        """Make the launches of an ablation at once."""
        plan = design(winner, trials, self.space)
        assert plan is not None
        ladder = self.space.workload.concurrency
        return [
            LaunchRecord(
                number=number,
                arm=arm,
                candidate=winner.number,
                folder=Path("confirm") / f"{number:02d}-{arm}",
                outcome=self.run(plan.arms[arm], ladder, judged=False, sd=self.sd),
                stage="ablate",
            )
            for number, (_, arm) in enumerate(rounds(tuple(plan.arms), plan.rounds))
        ]

    def launch(self, step: Step) -> LaunchRecord:
        """Make one launch."""
        number = len(self.launches)
        return LaunchRecord(
            number=number,
            arm=step.arm,
            candidate=step.candidate,
            folder=Path("confirm") / f"{number:02d}-{step.arm}",
            outcome=self._outcome(step.recipe, judged=step.judged),
            stage=step.stage,
        )

    def _outcome(self, recipe: Recipe, *, judged: bool) -> Outcome:
        return self.run(recipe.config, recipe.workload.concurrency, judged=judged, sd=self.sd)


def fastest(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Return the trials with the last one so lucky that it is confirmed first."""
    last = trials[-1]
    assert isinstance(last.outcome, Measured)
    return [*trials[:-1], replace(last, outcome=lifted(last.outcome))]


def lifted(outcome: Measured) -> Measured:
    """Return a measurement that was luckier than any."""
    points = tuple(replace(point(each.total_tok_per_s * 1.1, concurrency=each.concurrency)) for each in outcome.points)
    return replace(outcome, points=points)
