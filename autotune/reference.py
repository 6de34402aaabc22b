"""Another engine that a study is shown beside: its space, and its recipe under the study's own load."""

from pathlib import Path

from search_spaces import Recipe, SearchSpace, load, names, resolve


def reference_space(space: SearchSpace, space_folder: Path) -> SearchSpace | None:
    """
    Return the space that a reference names; None where there is none to launch.

    Args:
        space_folder: Where files that stand beside the space file are.

    Raises:
        SpaceError: If there is no such space, or it is wrong.
    """
    if space.reference is None or space.reference.space is None:
        return None
    named = space.reference.space
    return load(named if named in names() else space_folder / named)


def reference_recipe(reference: SearchSpace, space: SearchSpace) -> Recipe:
    """
    Return the reference's baseline, under the load of the study.

    Raises:
        SpaceError: If its rules forbid that.
    """
    return resolve(reference.model_copy(update={"workload": space.workload}), reference.baseline)
