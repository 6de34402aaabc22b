"""The ways to search that `python -m benchmarks.search` sets side by side."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import Trial, TrialState

from autotune.search.ablation import AblationSampler
from autotune.search.additive import features
from autotune.search.axes import Axes, Axis, claimed
from autotune.search.beliefs import Beliefs, beliefs
from autotune.search.history import read
from autotune.search.tell import GATE, Fact, record
from benchmarks.search_by_hand import Ledger, OneFlag, Sweep
from benchmarks.virtual_study import Arm, Request, Result, apart
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape

optuna.logging.set_verbosity(optuna.logging.WARNING)

Recipe = Mapping[str, Any]
"""Parameters that a recipe has at other values than the baseline."""

ORDERED = frozenset({"block", "mnbt", "mns", "gmu", "qr"})
RECIPE: Recipe = {
    "kv": "fp8",
    "mnbt": 32768,
    "mns": 256,
    "cg": "FULL_AND_PIECEWISE",
    "prefix": 0,
    "qr": "INT4",
    "rms": 0,
    "skinny": 0,
    "scratch": 1,
}
"""What InferenceX #2247 adopted, in the landscape's words, on top of what the fit of L0 takes for the rest."""
OLDER: Recipe = {"block": 1, "cg": "FULL_AND_PIECEWISE", "async_": 1, "prefix": 0, "qr": "INT4", "rms": 0}
"""The oldest of `known` in search_spaces/kimik2.5-mi355x.yaml, what InferenceX ran before its #2213."""
GAINS: Mapping[str, Mapping[object, float]] = {
    "kv": {"fp8": 0.10},
    "cg": {"FULL_DECODE_ONLY": 0.06, "FULL_AND_PIECEWISE": 0.06},
    "async_": {1: 0.03},
}
"""What is published of single flags, roughly."""
CYCLES, QUESTIONS = 3, 300
SEARCHED = 0.85
"""Share of the budget after which the best are launched again."""
FINALISTS = 4
REPEATS = 50


def axes_of(landscape: Landscape, *, sign: float | None) -> Axes:
    """
    Return the landscape's axes.

    Args:
        sign: Of what is published, as a prior; None: without one.
    """
    return Axes(tuple(_axis(landscape, name, sign) for name in Config._fields))


def levels_of(landscape: Landscape, name: str) -> tuple[Any, ...]:
    """Return the values of a parameter, in their order if they have one."""
    return landscape.space[name.removesuffix("_")]


def _axis(landscape: Landscape, name: str, sign: float | None) -> Axis:
    levels = levels_of(landscape, name)
    base = levels.index(getattr(landscape.baseline, name))
    gains = {} if sign is None else {level: sign * gain for level, gain in GAINS.get(name, {}).items()}
    at_base = gains.get(levels[base], 0.0)
    return Axis(
        name=name,
        levels=tuple(range(len(levels))) if name in ORDERED else levels,
        ordered=name in ORDERED,
        baseline=base,
        priors={
            index: claimed(gains.get(level, 0.0) - at_base)
            for index, level in enumerate(levels)
            if index != base and (level in gains or at_base)
        },
    )


def distributions_of(axes: Axes) -> dict[str, BaseDistribution]:
    """Return Optuna's distribution of each axis."""
    return {
        axis.name: IntDistribution(0, len(axis.levels) - 1) if axis.ordered else CategoricalDistribution(axis.levels)
        for axis in axes.each
    }


class Sampled:
    """Optuna with a sampler, as it comes: whole trials, failures told as FAIL, what passed and was fastest wins."""

    def __init__(self, landscape: Landscape, axes: Axes, sampler: BaseSampler) -> None:
        """Begin a study with the baseline as its first trial."""
        self.landscape, self.axes = landscape, axes
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.ledger = Ledger(landscape.gate)
        self.distributions = distributions_of(axes)
        self.asked: dict[int, Trial] = {}
        self.enqueue(landscape.baseline)

    def enqueue(self, config: Config) -> None:
        """Make a config the next one."""
        values = zip(self.axes.each, config, strict=True)
        self.study.enqueue_trial(
            {axis.name: self._levels(axis).index(v) if axis.ordered else v for axis, v in values},
        )

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return what the sampler proposes."""
        trial = self.study.ask(self.distributions)
        request = self.request(self.config(trial))
        self.asked[id(request)] = trial
        return request

    def tell(self, request: Request, result: Result) -> None:
        """Tell a value or a failure."""
        self.ledger.add(request.config, result)
        trial = self.asked.pop(id(request))
        if result.value is None:
            self.study.tell(trial, state=TrialState.FAIL)
        else:
            self.study.tell(trial, result.value)

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)

    def request(self, config: Config) -> Request:
        """Return the trial of a config."""
        return Request(config=config)

    def config(self, trial: Trial) -> Config:
        """Return a trial's config."""
        values = (trial.params[axis.name] for axis in self.axes.each)
        pairs = zip(self.axes.each, values, strict=True)
        return Config(*(self._levels(axis)[value] if axis.ordered else value for axis, value in pairs))

    def _levels(self, axis: Axis) -> tuple[Any, ...]:
        return self.landscape.space[axis.name.removesuffix("_")]


class Aided(Sampled):
    """A sampler with all aids: constraints, short trials, races, repeats for nothing, the best launched again."""

    def __init__(self, landscape: Landscape, axes: Axes, sampler: BaseSampler, known: Recipe | None) -> None:
        """Begin with the baseline, then the recipe that is known."""
        super().__init__(landscape, axes, sampler)
        if known:
            self.enqueue(landscape.baseline._replace(**known))

    def ask(self, share: float) -> Request | None:
        """Return the next trial, in the last part of the budget another launch of one of the best."""
        if share >= SEARCHED and (finalists := self.finalists()):
            known = self.ledger.results
            return Request(config=min(finalists, key=lambda each: len(known[each])), cycles=CYCLES)
        running = {self.config(trial) for trial in self.asked.values()}
        for _ in range(REPEATS):
            trial = self.study.ask(self.distributions)
            config = self.config(trial)
            if config not in running and not self.ledger.results.get(config):
                break
            self._again(trial, config)
        else:
            return None
        request = self.request(config)
        self.asked[id(request)] = trial
        return request

    def tell(self, request: Request, result: Result) -> None:
        """Tell what the sampler may learn."""
        self.ledger.add(request.config, result)
        trial = self.asked.pop(id(request), None)
        if trial is None:
            self.enqueue(request.config)
            trial = self.study.ask(self.distributions)
        record(self.study, trial, self.fact(request, result))

    def request(self, config: Config) -> Request:
        """Return a short trial, which is stopped when it is behind the best."""
        return Request(config=config, cycles=CYCLES, questions=QUESTIONS, rival=self.ledger.logs(self.recommend()))

    def finalists(self) -> list[Config]:
        """Return the best few."""
        return self.ledger.ranked()[:FINALISTS]

    def fact(self, request: Request, result: Result) -> Fact:
        """Return what is told of a result."""
        if not result.logs:
            return Fact(value=None)
        if result.accuracy is None:
            level = math.fsum(request.rival) / len(request.rival)
            return Fact(value=math.exp(level + apart(result.logs, request.rival)), estimated=True)
        gate = {
            "correct": round(result.accuracy * request.questions),
            "answered": request.questions,
            "threshold": self.landscape.gate,
        }
        violation = self.landscape.gate - result.accuracy
        return Fact(value=result.value, accuracy=violation, attributes={GATE: gate})

    def _again(self, trial: Trial, config: Config) -> None:
        """Tell what is known of a config that was proposed again; nothing while it runs."""
        if results := self.ledger.results.get(config):
            request = Request(config=config, rival=self.ledger.logs(self.recommend()), questions=QUESTIONS)
            record(self.study, trial, self.fact(request, results[0]))
        else:
            self.study.tell(trial, state=TrialState.FAIL)


class Ablating(Aided):
    """The ablation sampler, whose beliefs also say which config is best."""

    def beliefs(self) -> Beliefs:
        """Return what the study says now."""
        told = read(self.study, self.axes, asking=-1).told
        return beliefs(self.axes, features(self.axes), told)

    def recommend(self) -> Config:
        """Return the best by belief that surely passed."""
        known = self.beliefs()
        return self._config(known.recommended)

    def finalists(self) -> list[Config]:
        """Return the best few by belief."""
        known = self.beliefs()
        ranked = sorted(known.scores, key=lambda each: known.scores[each], reverse=True)
        return [self._config(each) for each in ranked[:FINALISTS]]

    def _config(self, point: tuple[int, ...]) -> Config:
        return Config(*(self._levels(axis)[level] for axis, level in zip(self.axes.each, point, strict=True)))


Make = Callable[[Landscape, int], Arm]


def _sampled(sampler: Callable[[int], BaseSampler], landscape: Landscape, seed: int) -> Arm:
    return Sampled(landscape, axes_of(landscape, sign=None), sampler(seed))


def _ablating(landscape: Landscape, seed: int, *, sign: float | None, known: Recipe | None) -> Arm:
    axes = axes_of(landscape, sign=sign)
    return Ablating(landscape, axes, AblationSampler(axes, distributions_of(axes), seed=seed), known)


def _aided_tpe(landscape: Landscape, seed: int, *, known: Recipe) -> Arm:
    sampler = TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
    return Aided(landscape, axes_of(landscape, sign=None), sampler, known)


ARMS: Mapping[str, Make] = {
    "ablation": partial(_ablating, sign=1.0, known=RECIPE),
    "ablation, older recipe": partial(_ablating, sign=1.0, known=OLDER),
    "ablation, no prior": partial(_ablating, sign=None, known=None),
    "ablation, wrong prior": partial(_ablating, sign=-1.0, known=None),
    "tpe": partial(_sampled, lambda seed: TPESampler(seed=seed)),
    "tpe, all aids": partial(_aided_tpe, known=RECIPE),
    "tpe, older recipe": partial(_aided_tpe, known=OLDER),
    "random": partial(_sampled, lambda seed: RandomSampler(seed=seed)),
    "one flag": lambda landscape, _: OneFlag(landscape),
    "grid of two": lambda landscape, _: Sweep(landscape),
}
