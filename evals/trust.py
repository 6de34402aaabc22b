"""What a stranger's task file may say without being trusted: data and plain templates, nothing that runs code.

lm-eval imports functions that a task file names, renders its templates in an open Jinja environment and loads metrics
from the network, each of which runs whatever the file's author likes. Pure, but for looking where a path leads.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, TemplateSyntaxError, nodes

from evals.exam import TaskError

NEVER_RENDERED = ("filter_list", "metric_list", "dataset_kwargs", "generation_kwargs")
"""Top-level keys whose texts are patterns, names and paths; they may hold braces."""

TEMPLATE_FILTERS = frozenset(
    {"capitalize", "default", "first", "float", "int", "last", "length", "lower", "replace", "round"}
    | {"regex_replace", "string", "title", "tojson", "trim", "upper"}
)
"""Filters that neither look up an attribute by name nor return a generator."""

FORMATTING = frozenset({"format", "format_map"})
"""Methods that look up attributes by names written in a text."""

FORBIDDEN_KEYS = ("class", "custom_dataset", "include", "use_prompt", "unsafe_code", "process_docs", "process_results")
"""Top-level keys that name code, or another file."""


def refuse_code(text: str, config: Mapping[str, object], path: Path) -> None:
    """Refuse a task file that could run code or read a file outside its own folder.

    `text` is the file as it is written, `config` the same as it is parsed with no function resolved.

    Raises:
        TaskError: Naming the first thing refused.
    """
    for complaint in _complaints(text, config, path):
        raise TaskError(f"{path}: {complaint}; if you trust its author, allow it with --trust-space")


def _complaints(text: str, config: Mapping[str, object], path: Path) -> Iterator[str]:
    """Yield what an untrusted file may not say."""
    if "!function" in text:
        yield "names Python code with !function"
    yield from (f"the key {key!r} can run code or read other files" for key in FORBIDDEN_KEYS if key in config)
    yield from _foreign_metrics(config.get("metric_list"))
    yield from _foreign_data(config, path.resolve().parent)
    for key, value in config.items():
        for template in _texts(value) if key not in NEVER_RENDERED else ():
            yield from (f"{key}: the template {template!r} {problem}" for problem in _unsafe(template))


def _foreign_metrics(metrics: object) -> Iterator[str]:
    """Yield the metrics that would be fetched; only lm-eval's own exact_match decides a gate anyway."""
    for metric in metrics if isinstance(metrics, list) else []:
        if not isinstance(metric, dict) or metric.get("metric") != "exact_match" or metric.get("hf_evaluate"):
            yield f"metric_list: {metric!r} is not lm-eval's exact_match"


def _foreign_data(config: Mapping[str, object], folder: Path) -> Iterator[str]:
    """Yield data that lies outside the task's folder."""
    kwargs = config.get("dataset_kwargs") or {}
    files = kwargs.get("data_files") if isinstance(kwargs, dict) else None
    if not isinstance(kwargs, dict) or kwargs.keys() - {"data_files"}:
        yield "dataset_kwargs may only hold data_files"
    for file in _texts(files):
        if "://" in file or not (folder / file).resolve().is_relative_to(folder):
            yield f"dataset_kwargs: {file!r} lies outside the task's folder"
    name = str(config.get("dataset_path"))
    if name.startswith((".", "/", "~")) or "://" in name or ".." in name:
        yield f"dataset_path: {name!r} is a path; put the data beside the task and name it in data_files"


def _texts(value: object) -> Iterator[str]:
    """Yield every text inside nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _unsafe(template: str) -> Iterator[str]:
    """Yield why a template could reach beyond its document: by a hidden or a computed attribute."""
    try:
        tree = Environment(autoescape=True).parse(template)
    except TemplateSyntaxError as error:
        yield f"cannot be parsed ({error.message})"
        return
    for node in tree.find_all(nodes.Node):
        match node:
            case nodes.Getattr(attr=name) if name.startswith("_") or name in FORMATTING:
                yield f"uses the attribute {name!r}"
            case nodes.Getitem(arg=nodes.Const(value=str(name))) if name.startswith("_") or name in FORMATTING:
                yield f"uses the attribute {name!r}"
            case nodes.Getitem(arg=arg) if not isinstance(arg, nodes.Const | nodes.Neg | nodes.Slice):
                yield "looks up a computed name"
            case nodes.Filter(name=name) if name not in TEMPLATE_FILTERS:
                yield f"uses the filter {name!r}"
            case nodes.Import() | nodes.FromImport() | nodes.Include() | nodes.Extends():
                yield "includes another template"
            case _:
                pass
