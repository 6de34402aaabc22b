"""What a user may name to be compared: a space, a recipe, a script or a command line, read and resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune.diff import Point, Served
from autotune.importing.launch import Doubt, Launch
from autotune.importing.options import options, vocabulary
from autotune.importing.script import read_script
from autotune.importing.shell import Known
from search_spaces import Recipe, SpaceError, load, load_recipe, names, parse_setting, read, resolve
from search_spaces.errors import did_you_mean
from trials.engines import ENGINES

CONCURRENCY = "CONC"
"""The variable in which a script gets its concurrency, as InferenceX calls it."""
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class Side:
    """
    One side of a comparison.

    Attributes:
        served: At each concurrency that was asked for.
        doubts: What was not understood of a script, in the order of its lines.
    """

    name: str
    served: Mapping[Point, Served]
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class Subject:
    """Something named by a user: a recipe, or the text of a script or a command line with its values."""

    name: str
    recipe: Recipe | None
    script: str
    given: Mapping[str, str]

    @property
    def ladder(self) -> tuple[int, ...]:
        """The concurrencies that it is about; none where it does not say."""
        if self.recipe is not None:
            return self.recipe.workload.concurrency
        return (int(self.given[CONCURRENCY]),) if self.given.get(CONCURRENCY, "").isdigit() else ()

    def at(self, points: Sequence[Point]) -> Side:
        """
        Return it at each of these concurrencies.

        Raises:
            SpaceError: A concurrency is not on its ladder, or no server starts there.
        """
        if self.recipe is not None:
            return Side(self.name, {point: served(self.recipe, point) for point in points})
        launches = {point: launch(self.script, self.given, point, name=self.name) for point in points}
        doubts = {doubt for each in launches.values() for doubt in each.doubts}
        return Side(self.name, {point: _of_launch(each) for point, each in launches.items()}, tuple(sorted(doubts)))


def subject(what: str, settings: Sequence[str]) -> Subject:
    """
    Return what a user named.

    Args:
        what: A shipped space, a space or recipe file, a script, or a whole command line.
        settings: `knob=value` for a space, `NAME=value` for a script.

    Raises:
        SpaceError: There is no such thing, or a setting does not fit it.
    """
    path = Path(what)
    if what in names() or path.suffix in YAML:
        return Subject(what, _recipe(path, what, settings), "", {})
    name, text = script(what)
    return Subject(name, None, text, values(settings))


def script(what: str) -> tuple[str, str]:
    """
    Return the name and the text of a script or of a command line.

    Raises:
        SpaceError: It is neither.
    """
    path = Path(what)
    if " " not in what.strip() and not path.is_file():
        hint = did_you_mean(what, names())
        raise SpaceError(f"{what}: no space, no file, and no command line either{hint}")
    if " " in what.strip() and not path.is_file():
        return "the command line", what
    try:
        return path.name, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpaceError(f"{what}: cannot be read: {error}") from error


def values(settings: Sequence[str]) -> dict[str, str]:
    """
    Return the variables of `NAME=value`.

    Raises:
        SpaceError: There is no `=`.
    """
    if wrong := next((setting for setting in settings if "=" not in setting), None):
        raise SpaceError(f"{wrong!r} is no setting; write NAME=value")
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


def launch(script: str, given: Mapping[str, str], concurrency: Point, *, name: str) -> Launch:
    """
    Return what a script starts at a concurrency.

    Raises:
        SpaceError: It starts no server there.
    """
    at = {} if concurrency is None else {CONCURRENCY: str(concurrency)}
    try:
        return read_script(script, {**given, **at})
    except SpaceError as error:
        raise SpaceError(f"{name}: {error}") from error


def _recipe(path: Path, what: str, settings: Sequence[str]) -> Recipe:
    data = read(path) if path.is_file() else None
    if not (isinstance(data, dict) and "config" in data):
        space = load(what)
        return resolve(space, dict(parse_setting(space, setting) for setting in settings))
    if settings:
        raise SpaceError(f"{what}: settings move knobs of a space; a recipe has none")
    return load_recipe(path)


def served(recipe: Recipe, point: Point) -> Served:
    """
    Return how a recipe serves a concurrency; None: where it does not serve it otherwise.

    Raises:
        SpaceError: The concurrency is not on its ladder.
    """
    serve = recipe.serve if point is None else recipe.at(point)
    engine = recipe.target.engine
    layout = ENGINES[engine].layout(serve.layout) if engine in ENGINES else []
    told = options(engine, [Known(word) for word in (*serve.args, *layout)])
    named = told.weights is not None and not told.weights.startswith("${")
    return Served(
        engine=engine,
        image=recipe.target.image,
        model=told.weights if named else recipe.target.model,
        env=serve.env,
        options=told.settings,
        defaults=vocabulary(engine).defaults,
    )


def _of_launch(launch: Launch) -> Served:
    told = options(launch.engine, launch.args)
    return Served(
        engine=launch.engine,
        image=None,
        model=told.weights,
        env={name: None if value is None else value.text for name, value in launch.env.items()},
        options=told.settings,
        defaults=vocabulary(launch.engine).defaults,
        files={path: text.text for path, text in launch.files.items()},
    )
