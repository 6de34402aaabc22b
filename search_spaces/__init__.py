"""What may vary: search-space files, and recipes resolved from them."""

from search_spaces.domain import Choice, Domain, FloatRange, IntRange, Ordinal
from search_spaces.errors import RuleBroken, SpaceError
from search_spaces.expression import Scalar
from search_spaces.parse import dump, load, load_recipe, names, read, recipe_text, schema, source, text
from search_spaces.recipe import Recipe, Serve, differences, parse_setting, resolve, serves
from search_spaces.space import Config, Deadlines, File, GateSettings, Objective, SearchSpace, Target, Workload

__all__ = [
    "Choice",
    "Config",
    "Deadlines",
    "Domain",
    "File",
    "FloatRange",
    "GateSettings",
    "IntRange",
    "Objective",
    "Ordinal",
    "Recipe",
    "RuleBroken",
    "Scalar",
    "SearchSpace",
    "Serve",
    "SpaceError",
    "Target",
    "Workload",
    "differences",
    "dump",
    "load",
    "load_recipe",
    "names",
    "parse_setting",
    "read",
    "recipe_text",
    "resolve",
    "schema",
    "serves",
    "source",
    "text",
]
