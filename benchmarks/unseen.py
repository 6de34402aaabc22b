"""
Makes the landscapes L3 and L4, which no search was designed on, from L0.

    python -m benchmarks.unseen FOLDER

Both draw flags' effects, crashing pairs and some constants anew, as L1 and L2 did. In L3 pairs of levels act on each
other so strongly that the best sum of single effects misses a third of the variance of the objective's logarithm; the
layout and AITER's kernels are left at the baseline there, or they would be all of the variance. L4's baseline is within
2 % of the best. The best is found by exchanging one and two levels from several starts: nobody proves it.
"""

import argparse
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from trials.engines.emulated.config import Config, config
from trials.engines.emulated.failures import accuracy, failure
from trials.engines.emulated.landscape import AITER_FLAGS, OWN_FLAGS, Landscape, objective, parse

L0 = Path(str(files("trials.engines.emulated"))) / "L0.json"
SEED = 2026
LARGE = frozenset({"tp", "ep", "aiter", "moe", "mla"})
PAIRS = 50
MISSED = 1 / 3
SAMPLES = 3000
STARTS = 5
CLOSE = 0.98, 0.99
"""Share of the best that L4's baseline comes to."""
SAFE = 0.96
"""Accuracy of L4's baseline at least: a start that fails its gate is none."""
FACTORS = {"eta_kv": (0.85, 1.4), "t_layer": (0.9, 1.3), "pf_chunk": (0.6, 1.5), "ar_fix": (0.8, 1.6)}


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    said = json.loads(L0.read_text(encoding="utf-8"))
    for name, finish in (("L3", paired), ("L4", nearly_best)):
        source = np.random.default_rng([SEED, int(name[1])])
        made = finish(shuffled(said, source), source)
        (folder / f"{name}.json").write_text(json.dumps({**made, "name": name}, indent=2) + "\n", encoding="utf-8")


def shuffled(said: dict[str, Any], source: np.random.Generator) -> dict[str, Any]:
    """Return a landscape with the same kinds of effects in other places."""
    flags = list(said["flag_effects"])
    rows = [said["flag_effects"][flags[at]] for at in source.permutation(len(flags))]
    signs = source.choice([-1, 1], len(flags))
    blocks = list(said["block_factor"].values())
    return {
        **said,
        "flag_effects": {flag: _signed(row, int(sign)) for flag, row, sign in zip(flags, rows, signs, strict=True)},
        "block_factor": dict(
            zip(said["block_factor"], [blocks[at] for at in source.permutation(len(blocks))], strict=True)
        ),
        "constants": said["constants"]
        | {name: said["constants"][name] * source.uniform(*between) for name, between in FACTORS.items()},
        "crash_pairs": [_pair(said, source)],
        "hang_pair": _pair(said, source),
        "accuracy_pairs": [["qr", "INT4", *_level(said, source), 0.035], [*_pair(said, source), 0.027]],
    }


def _signed(row: list[float], sign: int) -> list[float]:
    fixed, slope, moe, prefill = row
    return [sign * fixed, sign * slope, moe**sign, prefill**sign]


def _level(said: dict[str, Any], source: np.random.Generator) -> list[Any]:
    """Return a flag and its value that is not the baseline's."""
    flag = str(source.choice([*AITER_FLAGS, *OWN_FLAGS]))
    return [flag, 1 - said["baseline"][flag]]


def _pair(said: dict[str, Any], source: np.random.Generator) -> list[Any]:
    """Return two different flags with their values."""
    first = second = _level(said, source)
    while second[0] == first[0]:
        second = _level(said, source)
    return [*first, *second]


def paired(said: dict[str, Any], source: np.random.Generator) -> dict[str, Any]:
    """Add pairs that act on each other, as strongly as asked for."""
    landscape = parse(said)
    names = [name for name in Config._fields if name not in LARGE]
    crossed = [_crossed(landscape, names, source) for _ in range(PAIRS)]
    gains = source.standard_normal(PAIRS)
    signed = [(*pair, sign * gain) for pairs, gain in zip(crossed, gains, strict=True) for *pair, sign in pairs]
    scale = _scale(landscape, signed, source)
    effects = [[*pair, float(round(scale * gain, 5))] for *pair, gain in signed]
    return with_best({**said, "pair_effects": effects}, source)


def _crossed(landscape: Landscape, names: list[str], source: np.random.Generator) -> list[tuple[Any, ...]]:
    """Return two levels of one parameter with two of another, and signs: no level is better or worse by itself."""
    one, other = (names[at] for at in source.choice(len(names), 2, replace=False))
    first, second = (
        [values_of(landscape, name)[at] for at in source.choice(len(values_of(landscape, name)), 2, replace=False)]
        for name in (one, other)
    )
    return [
        (one, v, other, w, 1 if at == place else -1) for at, v in enumerate(first) for place, w in enumerate(second)
    ]


def _scale(landscape: Landscape, pairs: list[tuple[Any, ...]], source: np.random.Generator) -> float:
    """Return how strong pairs must be for single effects to miss a third."""
    sample = [found for found in (_small(landscape, source) for _ in range(SAMPLES)) if serves(landscape, found)]
    rows = np.array([[1.0, *_indicators(landscape, each)] for each in sample])
    held = np.array(
        [[getattr(c, a) == v and getattr(c, b) == w for a, v, b, w, _ in pairs] for c in sample], dtype=float
    )
    plain, added = np.log([objective(landscape, each) for each in sample]), held @ [gain for *_, gain in pairs]
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        total = plain + middle * added
        missed = total - rows @ np.linalg.lstsq(rows, total, rcond=None)[0]
        low, high = (middle, high) if missed.var() < MISSED * total.var() else (low, middle)
    return low


def _small(landscape: Landscape, source: np.random.Generator) -> Config:
    """Return a random config with the layout of the baseline."""
    values = {
        name: values_of(landscape, name)[source.integers(len(values_of(landscape, name)))]
        for name in Config._fields
        if name not in LARGE
    }
    return landscape.baseline._replace(**values)


def _indicators(landscape: Landscape, chosen: Config) -> list[float]:
    return [
        float(getattr(chosen, name) == value)
        for name in Config._fields
        if name not in LARGE
        for value in values_of(landscape, name)[1:]
    ]


def nearly_best(said: dict[str, Any], source: np.random.Generator) -> dict[str, Any]:
    """Move the baseline near the best, by one exchange after another that costs little."""
    made = with_best(said, source)
    landscape = parse(made)
    best = config(made["best"]["config"])
    limit = CLOSE[0] * made["best"]["objective"]
    base = best
    while objective(landscape, base) > CLOSE[1] * made["best"]["objective"]:
        near = [
            each
            for each in exchanged(landscape, base)
            if serves(landscape, each)
            and accuracy(landscape, each) >= SAFE
            and limit < objective(landscape, each) < objective(landscape, base)
        ]
        base = near[source.integers(len(near))]
    return {**made, "baseline": named(base)}


def with_best(said: dict[str, Any], source: np.random.Generator) -> dict[str, Any]:
    """Add the best config that is found."""
    landscape = parse(said)
    starts = [landscape.baseline]
    while len(starts) < STARTS:
        start = _small(landscape, source)
        starts += [start] if serves(landscape, start) else []
    best = max((climbed(landscape, start) for start in starts), key=lambda each: objective(landscape, each))
    return {**said, "best": {"config": named(best), "objective": objective(landscape, best)}}


def climbed(landscape: Landscape, start: Config) -> Config:
    """Exchange one level, or two where one no longer helps, until nothing is better."""
    at, value = start, objective(landscape, start)
    while True:
        better = _better(landscape, exchanged(landscape, at), value) or _better(
            landscape, (each for one in exchanged(landscape, at) for each in exchanged(landscape, one)), value
        )
        if better is None:
            return at
        at, value = better, objective(landscape, better)


def _better(landscape: Landscape, among: Iterator[Config], value: float) -> Config | None:
    return next((each for each in among if objective(landscape, each) > value and serves(landscape, each)), None)


def exchanged(landscape: Landscape, chosen: Config) -> Iterator[Config]:
    """Yield every config that differs in one parameter."""
    for name in Config._fields:
        for value in values_of(landscape, name):
            if value != getattr(chosen, name):
                yield chosen._replace(**{name: value})


def serves(landscape: Landscape, chosen: Config) -> bool:
    """Say whether a config neither fails nor misses the gate."""
    return failure(landscape, chosen) is None and accuracy(landscape, chosen) >= landscape.gate


def values_of(landscape: Landscape, name: str) -> tuple[Any, ...]:
    """Return the values of a parameter."""
    return landscape.space[name.removesuffix("_")]


def named(chosen: Config) -> dict[str, Any]:
    """Return a config as the landscapes' files write it."""
    return {name.removesuffix("_"): value for name, value in chosen._asdict().items()}


if __name__ == "__main__":
    main()
