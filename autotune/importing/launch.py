"""What a script starts: the server's arguments and environment, and what could not be made out of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from autotune.importing.shell import Value
from search_spaces import SpaceError


class NoServer(SpaceError):
    """A script or a command line in which no server's start was found; the message says why."""


@dataclass(frozen=True, order=True)
class Doubt:
    """
    Something that was not understood, was assumed, or was left out.

    Attributes:
        line: Of the script, from 1.
        kind: `unknown`: the server gets it, and what it is is not known; `undecided`: a condition;
            `assumed`: a variable that was taken for empty; `not run`: a command that might matter.
        said: What, why, and what to do.
    """

    line: int
    kind: Literal["unknown", "undecided", "assumed", "not run"]
    said: str

    def __str__(self) -> str:
        """Return it as a line of a list."""
        return f"line {self.line}: {' '.join(self.said.splitlines())}"


@dataclass(frozen=True)
class Launch:
    """
    One start of a server.

    Attributes:
        engine: A name in `trials.engines`.
        args: After the program's name.
        env: What the script exports; None: it takes the variable away.
        files: The text of each file that the script writes and the server is told of, by its path.
        line: Of the start.
    """

    engine: str
    args: tuple[Value, ...]
    env: Mapping[str, Value | None]
    files: Mapping[str, Value]
    line: int
    doubts: tuple[Doubt, ...]


def mention(path: str) -> re.Pattern[str]:
    """Return what finds a path in an argument, whole."""
    return re.compile(rf"(?<![\w./-]){re.escape(path)}(?![\w./-])")


PROGRAMS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("vllm", ("vllm", "serve")),
    ("vllm", ("-m", "vllm.entrypoints.cli.main", "serve")),
    ("vllm", ("-m", "vllm.entrypoints.openai.api_server")),
    ("atom", ("-m", "atom.entrypoints.openai_server")),
    ("atom", ("-m", "atom.entrypoints.openai.api_server")),
    ("sglang", ("sglang", "serve")),
    ("sglang", ("-m", "sglang.launch_server")),
    ("llamacpp", ("llama-server",)),
    ("llamacpp", ("llama_server.py",)),
)
"""How each engine's server is started; a program may have a folder in front."""

TRANSPARENT = ("command", "env", "exec", "nohup", "setsid", "time")
"""What may stand in front and changes nothing of what the server gets."""
WRAPPERS = (
    "apptainer",
    "docker",
    "nice",
    "numactl",
    "podman",
    "singularity",
    "srun",
    "stdbuf",
    "sudo",
    "taskset",
    "timeout",
)
"""What may stand in front and does change something; it is left out, and said to be."""


def start(words: Sequence[Value]) -> tuple[str, int, int] | None:
    """Return the engine that a command starts, and the places of the program's first word and of its arguments."""
    names = [PurePosixPath(word.text).name for word in words]
    first = names[0] if names else ""
    if first not in {*TRANSPARENT, *WRAPPERS, "vllm", "sglang", "llama-server"} and not first.startswith("python"):
        return None
    for engine, program in PROGRAMS:
        for place in range(len(names) - len(program) + 1):
            if tuple(names[place : place + len(program)]) == program:
                return engine, place, place + len(program)
    return None


def in_front(words: Sequence[Value]) -> list[str]:
    """Return what stands in front of a program and is left out, as it does more than start it."""
    names = [PurePosixPath(word.text).name for word in words]
    place = next((place for place, name in enumerate(names) if name in WRAPPERS), len(names))
    end = next((at for at in range(place, len(names)) if names[at].startswith("python")), len(names))
    return [word.text for word in words[place:end]]
