"""From what a user names to what is launched: a space, a recipe, a script or a command, under one workload."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from autotune.folder import StudyFolder
from autotune.importing.baseline import Source, imported
from autotune.sides import CONCURRENCY, YAML, launch, script, values
from search_spaces import Recipe, SearchSpace, SpaceError, load, load_recipe, names, parse_setting, read, resolve
from trials.engines.emulated.images import BadImage, image

LADDER = (4, 16, 64)
"""Of a script that does not say at which concurrency it is to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """
    One side of a comparison, ready to launch.

    Attributes:
        name: What the user called it, with what was set.
        beside: The text of files that must lie beside an imported space, by name.
        imported: Whether the space was read out of a script or a command line.
    """

    name: str
    space: SearchSpace
    recipe: Recipe
    beside: Mapping[str, str] = field(default_factory=dict)
    imported: bool = False

    def serving(self, recipe: Recipe) -> Self:
        """Return it with another recipe."""
        return replace(self, recipe=recipe)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """
    What a user said of a side.

    Attributes:
        what: A shipped space, a space or recipe file, a script, or a whole command line.
        settings: `knob=value` for a space, `NAME=value` for a script.
        image: In place of the one that it has.
    """

    what: str
    settings: tuple[str, ...] = ()
    image: str | None = None

    @property
    def words(self) -> str:
        """All of it in a line."""
        return ", ".join([" ".join(self.what.split()), *self.settings, *([self.image] if self.image else [])])


def contender(named: Named, *, like: SearchSpace | None, emulate: bool, scratch: Path) -> Contender:
    """
    Return what a user named.

    Args:
        like: The other side's space, whose workload holds for both; None: its own does.
        emulate: Whether it is to run on the emulated engine.
        scratch: A folder for what is imported.

    Raises:
        SpaceError: There is no such thing, it does not fit, or it can't run in that image.
    """
    path = Path(named.what)
    if named.what not in names() and path.suffix not in YAML:
        found = _imported(named, like, scratch)
    elif path.is_file() and _holds_a_recipe(path):
        found = _of_recipe(named, path, like)
    else:
        found = _of_space(named, named.what, like)
    return _in_image(found, named.image, emulate=emulate) if named.image else found


def _of_space(named: Named, what: str | Path, like: SearchSpace | None) -> Contender:
    space = load(what)
    if like is not None:
        space = space.model_copy(update={"workload": like.workload})
    config = dict(parse_setting(space, setting) for setting in named.settings)
    return Contender(name=named.words, space=space, recipe=resolve(space, config))


def _of_recipe(named: Named, path: Path, like: SearchSpace | None) -> Contender:
    if named.settings:
        raise SpaceError(f"{named.what}: settings move knobs of a space; a recipe has none")
    recipe = load_recipe(path)
    space = _space_of(recipe, path)
    workload = like.workload if like else recipe.workload
    apart = [str(point) for point in workload.concurrency if point not in recipe.workload.concurrency]
    if apart and recipe.overrides:
        raise SpaceError(f"{named.what}: the recipe does not say how to serve concurrency {', '.join(apart)}")
    return Contender(
        name=named.words,
        space=space.model_copy(update={"workload": workload}),
        recipe=recipe.model_copy(update={"workload": workload}),
    )


def _space_of(recipe: Recipe, path: Path) -> SearchSpace:
    """Return the space of a recipe, for its gate and deadlines: its study has it, or it is a shipped one."""
    study = StudyFolder(path.parent)
    if study.settings_file.is_file():
        return load(study.space).model_copy(update={"folder": study.settings().space_folder})
    if recipe.space in names():
        return load(recipe.space)
    raise SpaceError(
        f"{path}: its space {recipe.space!r} is not shipped: name the recipe.yaml inside its study's folder"
    )


def _imported(named: Named, like: SearchSpace | None, scratch: Path) -> Contender:
    name, text = script(named.what)
    given = values(named.settings)
    own = (int(given[CONCURRENCY]),) if given.get(CONCURRENCY, "").isdigit() else LADDER
    ladder = like.workload.concurrency if like else own
    found = imported({point: launch(text, given, point, name=name) for point in ladder}, Source(name, given))
    path = scratch / f"{_stem(name)}.yaml"
    path.write_text(found.text, encoding="utf-8")
    read_back = _of_space(Named(what=named.what), path, like)
    return replace(read_back, name=named.words, beside=found.files, imported=True)


def _in_image(found: Contender, name: str, *, emulate: bool) -> Contender:
    if emulate:
        try:
            image(name)
        except BadImage as error:
            raise SpaceError(str(error)) from error
    elif found.recipe.target.launcher == "process":
        raise SpaceError(f"{found.name}: its engine is started without an image: write target.launcher: docker")
    update = {"target": found.recipe.target.model_copy(update={"image": name})}
    return replace(found, space=found.space.model_copy(update=update), recipe=found.recipe.model_copy(update=update))


def _holds_a_recipe(path: Path) -> bool:
    data = read(path)
    return isinstance(data, dict) and "config" in data


def _stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "imported"
