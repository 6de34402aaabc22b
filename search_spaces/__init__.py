"""What may vary: search-space files, and recipes resolved from them."""

from search_spaces.domain import Choice, Domain, FloatRange, IntRange, Ordinal
from search_spaces.errors import RuleBroken, SpaceError
from search_spaces.expression import Scalar
from search_spaces.fields import File
from search_spaces.gate import GateSettings
from search_spaces.hardware import Hardware
from search_spaces.listed import Conversation, ListedPrompt, Turn, read_conversations, read_prompts
from search_spaces.memory import Estimate, estimate, shortage
from search_spaces.parse import dump, hardware_of, load, load_recipe, names, read, recipe_text, schema, source, text
from search_spaces.recipe import Recipe, Serve, defaults, differences, parse_setting, resolve, serves
from search_spaces.space import Config, Deadlines, Metric, Objective, Reference, SearchSpace, Target
from search_spaces.workload import Lengths, Prompts, SharedPrefix, Slo, Trace, Workload

__all__ = [
    "Choice",
    "Config",
    "Conversation",
    "Deadlines",
    "Domain",
    "Estimate",
    "File",
    "FloatRange",
    "GateSettings",
    "Hardware",
    "IntRange",
    "Lengths",
    "ListedPrompt",
    "Metric",
    "Objective",
    "Ordinal",
    "Prompts",
    "Recipe",
    "Reference",
    "RuleBroken",
    "Scalar",
    "SearchSpace",
    "Serve",
    "SharedPrefix",
    "Slo",
    "SpaceError",
    "Target",
    "Trace",
    "Turn",
    "Workload",
    "defaults",
    "differences",
    "dump",
    "estimate",
    "hardware_of",
    "load",
    "load_recipe",
    "names",
    "parse_setting",
    "read",
    "read_conversations",
    "read_prompts",
    "recipe_text",
    "resolve",
    "schema",
    "serves",
    "shortage",
    "source",
    "text",
]
