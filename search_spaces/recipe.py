"""A config resolved against its space: the complete command and environment of the engine at every concurrency."""

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import Field

from search_spaces.effective import JUDGING, baseline_at, values_at
from search_spaces.errors import SpaceError, nearest
from search_spaces.expression import Scalar, same
from search_spaces.fields import UNSET, Count, EnvName, Frozen, Value, as_text
from search_spaces.knob import Dimension, Flag, JsonKey, LayoutName, Placed, Switch, Variable
from search_spaces.space import Config, SearchSpace, Target
from search_spaces.workload import Workload

NOT_RUN: Mapping[str, Any] = {
    "target": {"launcher": True, "files": {"__all__": {"get"}}},
    "workload": {"listed_shape": {"file": {"get"}}},
}
"""What of a recipe changes nothing of what is run and measured."""


class Serve(Frozen):
    """How the engine is started; a variable that is None is taken out of its environment."""

    env: dict[EnvName, str | None] = Field(default_factory=dict)
    args: tuple[str, ...] = ()
    layout: dict[LayoutName, Count] = Field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """GPUs that the layout occupies: tp x pp x dp; expert parallelism shares them."""
        return self.layout.get("tp", 1) * self.layout.get("pp", 1) * self.layout.get("dp", 1)

    def without(self, variables: Collection[str]) -> "Serve":
        """Return it with nothing said of these variables."""
        return self.model_copy(update={"env": {name: own for name, own in self.env.items() if name not in variables}})


class Recipe(Frozen):
    """
    Everything that is needed to serve, and to measure, one config.

    Attributes:
        overrides: The points at which the engine is started otherwise.
        judged: Those at which the gate needs a launch of its own, and how that one is started.
    """

    space: str
    target: Target
    workload: Workload
    config: dict[str, Value]
    serve: Serve
    overrides: dict[Annotated[int, Field(ge=1)], Serve] = Field(default_factory=dict)
    judged: dict[Annotated[int, Field(ge=1)], Serve] = Field(default_factory=dict)

    def at(self, concurrency: int) -> Serve:
        """
        Return how the engine is started for this concurrency.

        Raises:
            SpaceError: The concurrency is not on the ladder.

        """
        ladder = self.workload.concurrency
        if concurrency not in ladder:
            raise SpaceError(f"concurrency {concurrency} is not on the ladder; choose of {', '.join(map(str, ladder))}")
        return self.overrides.get(concurrency, self.serve)

    def judged_at(self, concurrency: int) -> Serve:
        """
        Return how the engine is started for the gate's questions at this concurrency.

        Raises:
            SpaceError: The concurrency is not on the ladder.
        """
        measured = self.at(concurrency)
        return self.judged.get(concurrency, measured)

    def as_judged(self) -> "Recipe":
        """Return the recipe that the gate's questions are asked of."""
        own = {concurrency: self.judged_at(concurrency) for concurrency in self.workload.concurrency}
        return self.model_copy(update={"overrides": own, "judged": {}})

    def without(self, variables: Collection[str]) -> "Recipe":
        """Return the recipe with nothing said of these variables; what then starts alike is one start."""
        serve = self.serve.without(variables)
        overrides = {at: own.without(variables) for at, own in self.overrides.items()}
        judged = {at: own.without(variables) for at, own in self.judged.items()}
        return self.model_copy(
            update={
                "serve": serve,
                "overrides": {at: own for at, own in overrides.items() if own != serve},
                "judged": {at: own for at, own in judged.items() if own != overrides.get(at, serve)},
            }
        )

    @property
    def fingerprint(self) -> str:
        """The sha256 of what is run and measured, whoever launches it; equal for configs that come to the same."""
        parts = {"target", "serve", "overrides", "workload"} | ({"judged"} if self.judged else set())
        told = self.model_dump(mode="json", include=parts, exclude=NOT_RUN)
        canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def resolve(space: SearchSpace, config: Mapping[str, Scalar]) -> Recipe:
    """
    Return the recipe of a config; a knob it leaves out is at its baseline.

    Raises:
        RuleBroken: The space forbids the config at a concurrency of the ladder.
        SpaceError: An unknown knob, or a value outside its domain.

    """
    chosen = _complete(space, config)
    points = {concurrency: values_at(space, chosen, concurrency) for concurrency in space.workload.concurrency}
    serves = {concurrency: _serve(space, values) for concurrency, values in points.items()}
    first = serves[space.workload.concurrency[0]]
    return Recipe(
        space=space.name,
        target=space.target,
        workload=space.workload,
        config=_effective(space, chosen, points),
        serve=first,
        overrides={concurrency: serve for concurrency, serve in serves.items() if serve != first},
        judged=_judged(space, chosen, serves),
    )


def defaults(space: SearchSpace) -> Recipe:
    """Return the recipe that leaves all that may vary to the engine: what the space fixes, keeps, and the layout."""
    placed: dict[str, Placed] = {**space.knobs, **space.derived}
    kept = {name for name, where in placed.items() if isinstance(where.placement, Dimension)} | {*space.defaults.keep}
    chosen = {name: _own(space, name) for name in space.knobs}

    def bare(concurrency: int, *, judging: bool) -> Serve:
        values = values_at(space, chosen, concurrency, judging=judging)
        return _serve(space, {name: value if name in kept else UNSET for name, value in values.items()})

    ladder = space.workload.concurrency
    serves, judged = ({c: bare(c, judging=judging) for c in ladder} for judging in (False, True))
    first = serves[ladder[0]]
    return Recipe(
        space=space.name,
        target=space.target,
        workload=space.workload,
        config={name: value if name in kept else UNSET for name, value in chosen.items()},
        serve=first,
        overrides={c: serve for c, serve in serves.items() if serve != first},
        judged={c: serve for c, serve in judged.items() if serve != serves[c]},
    )


def differences(space: SearchSpace, config: Mapping[str, Scalar]) -> dict[str, tuple[Scalar, Scalar]]:
    """Return the knobs that a config moves, each with its baseline and its own value."""
    return {
        name: (space.baseline[name], value)
        for name, value in _complete(space, config).items()
        if not same(value, space.baseline[name])
    }


def serves(recipe: Recipe) -> list[tuple[Serve, tuple[int, ...]]]:
    """Return the distinct launches in the order of the ladder, each with the concurrencies it serves."""
    found: list[tuple[Serve, tuple[int, ...]]] = []
    for concurrency in recipe.workload.concurrency:
        serve = recipe.at(concurrency)
        position = next((i for i, (other, _) in enumerate(found) if other == serve), None)
        if position is None:
            found.append((serve, (concurrency,)))
        else:
            found[position] = (serve, (*found[position][1], concurrency))
    return found


def parse_setting(space: SearchSpace, text: str) -> tuple[str, Scalar]:
    """
    Return the knob and the typed value of `knob=value`.

    Raises:
        SpaceError: No `=`, an unknown knob, or a value outside its domain.

    """
    name, equals, value = text.partition("=")
    if not equals:
        raise SpaceError(f"{text!r} is no setting; write knob=value")
    if name not in space.knobs:
        raise SpaceError(f"{name}: unknown knob{nearest(name, space.knobs)}")
    try:
        return name, space.knobs[name].domain.read(value)
    except ValueError as error:
        raise SpaceError(f"{name}: {error}") from None


def _judged(space: SearchSpace, chosen: Config, serves: Mapping[int, Serve]) -> dict[int, Serve]:
    """Return the launches of the gate that are not those that were measured."""
    if not any(JUDGING in derived.when for derived in space.derived.values()):
        return {}
    judged = {point: _serve(space, values_at(space, chosen, point, judging=True)) for point in serves}
    return {point: serve for point, serve in judged.items() if serve != serves[point]}


def _complete(space: SearchSpace, config: Mapping[str, Scalar]) -> Config:
    chosen: Config = {}
    for name, value in config.items():
        if name not in space.knobs:
            raise SpaceError(f"{name}: unknown knob{nearest(name, space.knobs)}")
        try:
            chosen[name] = space.knobs[name].domain.admit(value)
        except ValueError as error:
            raise SpaceError(f"{name}: {error}") from None
    return {name: chosen.get(name, _own(space, name)) for name in space.knobs}


def _own(space: SearchSpace, name: str) -> Scalar:
    return space.knobs[name].domain.admit(space.baseline[name])


def _effective(space: SearchSpace, chosen: Config, points: Mapping[int, Mapping[str, Scalar]]) -> Config:
    """Return the chosen values that reach the engine somewhere; the rest, inactive or overruled, is at its baseline."""
    bases = {concurrency: baseline_at(space, concurrency) for concurrency in points}
    return {
        name: value
        if any(same(at[name], value) and not same(value, bases[point][name]) for point, at in points.items())
        else _own(space, name)
        for name, value in chosen.items()
    }


def _serve(space: SearchSpace, values: Mapping[str, Scalar]) -> Serve:
    env = {name: _unless_unset(value) for name, value in space.serve.env.items()}
    args: dict[str, list[str]] = {}
    documents: dict[str, dict[str, object]] = {}
    layout: dict[LayoutName, int] = {}
    placed: dict[str, Placed] = {**space.knobs, **space.derived}
    for name, where in placed.items():
        value = values[name]
        match where.placement:
            case Variable(variable):
                env[variable] = _unless_unset(value)
            case JsonKey(flag, path):
                args.setdefault(flag, [])
                if value != UNSET:
                    _put(documents.setdefault(flag, {}), path, value)
            case Dimension(dimension) if value != UNSET:
                layout[dimension] = int(value)
            case Flag() | Switch() as option:
                args[name] = _option(option, value)
            case _:
                pass
    for flag, document in documents.items():
        args[flag] = [flag, json.dumps(document, sort_keys=True, separators=(",", ":"))]
    fixed = [as_text(arg) for arg in space.serve.args]
    return Serve(env=env, args=(*fixed, *(word for words in args.values() for word in words)), layout=layout)


def _option(option: Flag | Switch, value: Scalar) -> list[str]:
    if value == UNSET:
        return []
    if isinstance(option, Flag):
        return [word for name in option.names for word in (name, as_text(value))]
    if value:
        return [option.name]
    return [] if option.omit_off else [option.negative]


def _put(document: dict[str, object], path: tuple[str, ...], value: Scalar) -> None:
    key, *rest = path
    if not rest:
        document[key] = value
        return
    inner = document.setdefault(key, {})
    assert isinstance(inner, dict)  # noqa: S101 paths that overlap are refused when the space is read
    _put(inner, tuple(rest), value)


def _unless_unset(value: Scalar) -> str | None:
    return None if value == UNSET else as_text(value)
