"""Is this environment fit for a study?"""

from importlib.metadata import packages_distributions

OURS = "autotune-serve"
PACKAGES = ("evals", "search_spaces", "trials")


class Unfit(Exception):
    """This environment can't run a study; the message says how to mend it."""


def refuse_foreign_packages() -> None:
    """
    Refuse an environment in which another distribution owns one of our packages' names.

    Raises:
        Unfit: If one does: pip lets it overwrite our files without a word.
    """
    owners = packages_distributions()
    for package in PACKAGES:
        if foreign := sorted(set(owners.get(package, ())) - {OURS}):
            raise Unfit(
                f"package {package!r} belongs to {', '.join(foreign)} too: install autotune-serve into a virtual "
                f"environment of its own, or pip uninstall {foreign[0]} and install autotune-serve again"
            )
