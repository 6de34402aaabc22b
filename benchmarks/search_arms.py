"""The ways to search that `python -m benchmarks.search` sets side by side."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import Trial, TrialState

from autotune.search.ablation import AblationSampler
from autotune.search.additive import features
from autotune.search.axes import Axes, Axis, Prior
from autotune.search.beliefs import Beliefs, beliefs
from autotune.search.history import read
from autotune.search.tell import GATE, Fact, record
from benchmarks.virtual_study import Arm, Request, Result, apart
from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape

optuna.logging.set_verbosity(optuna.logging.WARNING)

ORDERED = frozenset({"block", "mnbt", "mns", "gmu", "qr"})
RECIPE: Mapping[str, Any] = {"block": 1, "cg": "FULL_AND_PIECEWISE", "async_": 1, "prefix": 0, "qr": "INT4", "rms": 0}
"""
The oldest of `known` in search_spaces/kimik2.5-mi355x.yaml, what InferenceX ran before its #2213: with the newer ones a
search would begin with what it is to find.
"""
GAINS: Mapping[str, Mapping[object, float]] = {
    "kv": {"fp8": 0.10},
    "cg": {"FULL_DECODE_ONLY": 0.06, "FULL_AND_PIECEWISE": 0.06},
    "async_": {1: 0.03},
}
"""What is published of single flags, roughly."""
UNSURE = 0.03
CYCLES, QUESTIONS, ALL_QUESTIONS = 3, 300, 1319
SEARCHED = 0.85
"""Share of the budget after which the best are launched again."""
FINALISTS = 4
REPEATS = 50
EXPERT = ("kv", "cg", "async_", "mns", "mnbt", "qr", "block", "gmu", "omp", "prefix")
"""What a careful person tries first; then the rest in the landscape's order."""
ADOPTED = math.log(1.01)
SWEPT = "mns", "mnbt"


@dataclass
class Ledger:
    """What was measured of each config."""

    gate: float
    results: defaultdict[Config, list[Result]] = field(default_factory=lambda: defaultdict(list))

    def add(self, config: Config, result: Result) -> None:
        """Keep a result."""
        self.results[config].append(result)

    def logs(self, config: Config) -> tuple[float, ...]:
        """Return a config's mean logarithm at each concurrency; none if it never ran to its end."""
        whole = [result.logs for result in self.results[config] if result.value is not None]
        return tuple(math.fsum(column) / len(whole) for column in zip(*whole, strict=True))

    def passed(self, config: Config) -> bool:
        """Say whether as many questions were right, over all its launches, as the gate asks for."""
        shares = [result.accuracy for result in self.results[config] if result.accuracy is not None]
        return bool(shares) and math.fsum(shares) / len(shares) >= self.gate

    def ranked(self) -> list[Config]:
        """Return what passed, the fastest first."""
        passed = [config for config in self.results if self.passed(config)]
        return sorted(passed, key=lambda config: math.fsum(self.logs(config)), reverse=True)


def axes_of(landscape: Landscape, *, sign: float | None) -> Axes:
    """
    Return the landscape's axes.

    Args:
        sign: Of what is published, as a prior; None: without one.
    """
    return Axes(tuple(_axis(landscape, name, sign) for name in Config._fields))


def _axis(landscape: Landscape, name: str, sign: float | None) -> Axis:
    levels = landscape.space[name.removesuffix("_")]
    base = levels.index(getattr(landscape.baseline, name))
    gains = GAINS.get(name, {}) if sign is not None else {}
    at_base = gains.get(levels[base], 0.0)
    return Axis(
        name=name,
        levels=tuple(range(len(levels))) if name in ORDERED else levels,
        ordered=name in ORDERED,
        baseline=base,
        priors={
            index: Prior((sign or 0.0) * (gains.get(level, 0.0) - at_base), UNSURE)
            for index, level in enumerate(levels)
            if index != base and (gains.get(level, 0.0) or at_base)
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

    def __init__(self, landscape: Landscape, axes: Axes, sampler: BaseSampler, *, known: bool = True) -> None:
        """Begin with the baseline, then the recipe that is known."""
        super().__init__(landscape, axes, sampler)
        if known:
            self.enqueue(landscape.baseline._replace(**RECIPE))

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


class OneFlag:
    """A careful person: one level at a time against the recipe of then, gains merged, the merged recipe run again."""

    def __init__(self, landscape: Landscape) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        self.recipe = landscape.baseline
        self.parents: dict[int, tuple[Config, str]] = {}
        self.queue = self._levels()
        self.due = [landscape.baseline]

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return the merged recipe if it is due, else the next level to try on the best recipe."""
        if self.due:
            return Request(config=self.due.pop(0))
        parent = self.recommend()
        for name, level in self.queue:
            config = parent._replace(**{name: level})
            if not self.ledger.results.get(config):
                request = Request(config=config)
                self.parents[id(request)] = parent, name
                return request
        return None

    def tell(self, request: Request, result: Result) -> None:
        """Merge what brought more than one percent."""
        config = request.config
        self.ledger.add(config, result)
        parent, name = self.parents.pop(id(request), (config, ""))
        before, after = self.ledger.logs(parent), self.ledger.logs(config)
        if name and before and after and self.ledger.passed(config) and apart(after, before) > ADOPTED:
            merged = self.recommend()._replace(**{name: getattr(config, name)})
            if not self.ledger.results.get(merged):
                self.due.append(merged)

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)

    def _levels(self) -> Iterator[tuple[str, Any]]:
        """Yield all levels in an expert's order, over and over while there is time."""
        names = [*EXPERT, *(name for name in Config._fields if name not in EXPERT)]
        for _ in range(REPEATS):
            for name in names:
                for level in self.landscape.space[name.removesuffix("_")]:
                    yield name, level


class Sweep:
    """A grid over two knobs."""

    def __init__(self, landscape: Landscape) -> None:
        """Begin with the baseline."""
        self.landscape = landscape
        self.ledger = Ledger(landscape.gate)
        every = product(*(landscape.space[name] for name in SWEPT))
        cells = [landscape.baseline._replace(**dict(zip(SWEPT, cell, strict=True))) for cell in every]
        self.left = [landscape.baseline, *(cell for cell in cells if cell != landscape.baseline)]

    def ask(self, share: float) -> Request | None:  # noqa: ARG002 an arm's signature
        """Return the next cell."""
        return Request(config=self.left.pop(0)) if self.left else None

    def tell(self, request: Request, result: Result) -> None:
        """Keep a result."""
        self.ledger.add(request.config, result)

    def recommend(self) -> Config:
        """Return the fastest that passed."""
        return next(iter(self.ledger.ranked()), self.landscape.baseline)


Make = Callable[[Landscape, int], Arm]


def _sampled(sampler: Callable[[int], BaseSampler], landscape: Landscape, seed: int) -> Arm:
    return Sampled(landscape, axes_of(landscape, sign=None), sampler(seed))


def _ablating(landscape: Landscape, seed: int, *, sign: float | None, known: bool) -> Arm:
    axes = axes_of(landscape, sign=sign)
    return Ablating(landscape, axes, AblationSampler(axes, distributions_of(axes), seed=seed), known=known)


def _aided_tpe(landscape: Landscape, seed: int) -> Arm:
    sampler = TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
    return Aided(landscape, axes_of(landscape, sign=None), sampler)


ARMS: Mapping[str, Make] = {
    "ablation": partial(_ablating, sign=1.0, known=True),
    "ablation, no prior": partial(_ablating, sign=None, known=False),
    "ablation, wrong prior": partial(_ablating, sign=-1.0, known=False),
    "tpe": partial(_sampled, lambda seed: TPESampler(seed=seed)),
    "tpe, all aids": _aided_tpe,
    "random": partial(_sampled, lambda seed: RandomSampler(seed=seed)),
    "one flag": lambda landscape, _: OneFlag(landscape),
    "grid of two": lambda landscape, _: Sweep(landscape),
}
GP: Make = partial(_sampled, lambda seed: GPSampler(seed=seed))
