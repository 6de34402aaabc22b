"""A launch at each concurrency as a search space: what every launch has is fixed, what differs is a knob."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from autotune.importing.launch import Doubt, Launch
from autotune.importing.options import options, served_as
from autotune.importing.settings import Setting, dimensions, flags, variables
from autotune.importing.shell import Known
from search_spaces import Scalar, SpaceError, text
from search_spaces.check import unsafe_variables

HOW = (
    "The workload, the gate, the budget and the deadlines are proposals: they are not in what was imported.",
    "To let an argument vary, take it out of serve and write a knob, and its value into the baseline:",
    "    knobs: {max_num_seqs: {flag: --max-num-seqs, ordinal: [128, 256, 512]}}",
    "    baseline: {max_num_seqs: 256}",
)
TITLES: Mapping[str, str] = {
    "unknown": "Left out, as it is not known whole:",
    "undecided": "Not decided:",
    "assumed": "Assumed:",
    "not run": "Not run, as nothing is; what it changes of the server is not here:",
}


@dataclass(frozen=True)
class Source:
    """
    What is imported, and what it doesn't say itself.

    Attributes:
        name: Of the script, or the command line.
        given: The values that it was read with; the lengths of the workload are those of ISL and OSL.
        trusted: Whether variables are kept that can run other code in the engine.
    """

    name: str
    given: Mapping[str, str]
    image: str | None = None
    hardware: str = "mi355x"
    trusted: bool = False


@dataclass(frozen=True)
class Imported:
    """
    A space file.

    Attributes:
        text: Of the space, as YAML.
        files: The text of each file that must lie beside it, by its name.
        doubts: What was not understood, in the order of the lines.
    """

    text: str
    files: Mapping[str, str]
    doubts: tuple[Doubt, ...]


def imported(launches: Mapping[int, Launch], source: Source) -> Imported:
    """
    Return the space of what starts at each concurrency of a ladder.

    Raises:
        SpaceError: Another engine or model at another concurrency, or a difference that no knob can hold.
    """
    first = next(iter(launches.values()))
    weights = options(first.engine, first.args).weights
    if any(
        (other.engine, options(other.engine, other.args).weights) != (first.engine, weights)
        for other in launches.values()
    ):
        raise SpaceError(f"{source.name}: another engine or model at another concurrency; import one at a time")
    files, lost = _files(launches)
    named = {path: f"${{{name}}}" for path, name in files.items()}
    allowed, refused = _trusted(variables(launches, named), first.line, trusted=source.trusted)
    settings = [*dimensions(launches), *flags(launches, named), *allowed]
    doubts = sorted({*refused, *lost, *(doubt for launch in launches.values() for doubt in launch.doubts)})
    model = served_as(first.engine, first.args) or weights or "unknown"
    space = {
        "summary": f"Imported from {source.name}",
        "target": {
            "engine": first.engine,
            "model": model,
            "image": source.image,
            "hardware": source.hardware,
            **({"files": {name: {"space": PurePosixPath(path).name} for path, name in files.items()}} if files else {}),
        },
        "workload": _workload(list(launches), source.given),
        "serve": _serve(settings, () if weights in {None, model} else (str(weights),)),
        **_knobs(settings, list(launches)),
        "gate": {"task": "gsm8k"},
        "budget": {"trials": 40, "hours": 8, "confirm_launches": 4},
        "deadlines": {"ready_s": 3600, "stop_s": 60, "request_s": 600},
    }
    beside = {PurePosixPath(path).name: first.files[path].text for path in files}
    return Imported(f"{_head(source, first, doubts)}{text(space)}", beside, tuple(doubts))


def _files(launches: Mapping[int, Launch]) -> tuple[dict[str, str], list[Doubt]]:
    """Return the name of each file that goes beside the space, by its path, and a doubt for each that differs."""
    first = next(iter(launches.values()))
    kept: dict[str, str] = {}
    lost: list[Doubt] = []
    for path, content in first.files.items():
        alike = all(launch.files.get(path) == content for launch in launches.values())
        if alike and isinstance(content, Known) and not content.absent:
            kept[path] = re.sub(r"\W", "_", PurePosixPath(path).stem).lower().strip("_") or "file"
        elif not alike:
            lost.append(Doubt(first.line, "unknown", f"{path}: what is written to it differs by concurrency"))
    return kept, lost


def _trusted(settings: Sequence[Setting], line: int, *, trusted: bool) -> tuple[list[Setting], list[Doubt]]:
    """Part the variables that a space file may set from those that it may set only if it is trusted."""
    unsafe = [] if trusted else [fault.path for fault in unsafe_variables((each.name, each.name) for each in settings)]
    refused = [
        Doubt(line, "unknown", f"{name}: such a variable can run other code in the engine; --trust-space keeps it")
        for name in unsafe
    ]
    return [each for each in settings if each.name not in unsafe], refused


def _workload(ladder: Sequence[int], given: Mapping[str, str]) -> dict[str, object]:
    return {
        "input_tokens": int(given.get("ISL", "1024")),
        "output_tokens": int(given.get("OSL", "1024")),
        "range_ratio": float(given.get("RANDOM_RANGE_RATIO", "0.8")),
        "concurrency": list(ladder),
    }


def _serve(settings: Sequence[Setting], weights: tuple[str, ...]) -> dict[str, object]:
    fixed = [each for each in settings if each.fixed]
    args = [*weights, *(word for each in fixed for word in each.words)]
    return {"args": args, "env": {each.name: each.first for each in fixed if not each.words}}


def _knobs(settings: Sequence[Setting], ladder: Sequence[int]) -> dict[str, object]:
    """Return what differs as knobs: their values at the first concurrency as the baseline, the others as overrides."""
    moved = {each.knob: each for each in settings if not each.fixed}
    groups: dict[tuple[tuple[str, Scalar], ...], list[int]] = {}
    for concurrency in ladder:
        apart = {name: each.values[concurrency] for name, each in moved.items()}
        apart = {name: value for name, value in apart.items() if value != moved[name].first}
        if apart:
            groups.setdefault(tuple(apart.items()), []).append(concurrency)
    overrides = [{"concurrency": points, "set": dict(apart)} for apart, points in groups.items()]
    knobs = {name: {**each.place, "choice": list(dict.fromkeys(each.values.values()))} for name, each in moved.items()}
    baseline = {name: each.first for name, each in moved.items()}
    return {"baseline": baseline, **({"overrides": overrides} if overrides else {}), "knobs": knobs}


def _head(source: Source, launch: Launch, doubts: Sequence[Doubt]) -> str:
    """Return the comment above the space: where it is from, how to go on, and what was not understood."""
    values = ", ".join(f"{name}={value}" for name, value in source.given.items())
    lines = [
        f"Imported from {source.name}" + (f", read with {values}" if values else ""),
        f"up to line {launch.line}, where the server starts; what comes after it was not read.",
        *HOW,
    ]
    for kind, title in TITLES.items():
        said = [f"    {doubt}" for doubt in doubts if doubt.kind == kind]
        lines += [title, *said] if said else []
    return "".join(f"# {' '.join(line.splitlines())}\n" for line in lines)
