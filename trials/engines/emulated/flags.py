"""The flags of `vllm serve`, as its help lists them; what they refuse is refused in its words. Pure."""

import argparse
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self

PROGRAM = "vllm serve"
USAGE = "usage: vllm serve [model_tag] [options]\n"
UNKNOWN = "usage: vllm [-h] [-v]\n            {chat,complete,serve,launch,bench,collect-env,run-batch} ...\n"
NUMBERS: Mapping[str, type] = {
    "--tensor-parallel-size": int,
    "--max-num-seqs": int,
    "--max-num-batched-tokens": int,
    "--max-model-len": int,
    "--block-size": int,
    "--port": int,
    "--gpu-memory-utilization": float,
}
"""Of the flags that matter here; the others' values are not looked at."""
FURTHER = "    For further information visit https://errors.pydantic.dev/2.13/v/"


class Refused(Exception):
    """
    The engine refuses to start; the message is all that it says.

    Attributes:
        code: Its exit code.
    """

    def __init__(self, message: str, *, code: int) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code

    @classmethod
    def argument(cls, flag: str, problem: str) -> Self:
        """Return what argparse says of a flag."""
        return cls(f"{USAGE}{PROGRAM}: error: argument {flag}: {problem}\n", code=2)

    @classmethod
    def config(cls, part: str, problem: str) -> Self:
        """Return what pydantic says of a part of the configuration."""
        text = (
            "Traceback (most recent call last):\n"
            '  File "vllm/engine/arg_utils.py", in create_engine_config\n'
            f"pydantic_core._pydantic_core.ValidationError: 1 validation error for {part}\n"
            f"  Value error, {problem} [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n"
            f"{FURTHER}value_error\n"
        )
        return cls(text, code=1)


def parse(argv: Sequence[str]) -> dict[str, Any]:
    """
    Return the values of the flags that were given, by their long names without dashes in front.

    Raises:
        Refused: A flag is unknown, or its value is.
    """
    given, unknown = _parser().parse_known_args(_spelled(argv))
    values = {name: value for name, value in vars(given).items() if value is not None}
    extra = values.pop("rest", [])
    if unknown or extra:
        raise Refused(f"{UNKNOWN}vllm: error: unrecognized arguments: {' '.join([*extra, *unknown])}\n", code=2)
    return values


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        """Refuse in argparse's words."""
        raise Refused(f"{USAGE}{PROGRAM}: error: {message}\n", code=2)


@cache
def _parser() -> _Parser:
    listed = json.loads(Path(__file__).with_name("flags.json").read_text(encoding="utf-8"))["flags"]
    parser = _Parser(prog=PROGRAM, add_help=False, allow_abbrev=False, argument_default=None)
    parser.add_argument("model_tag", nargs="?")
    for flag in listed:
        names, takes = flag["names"], flag["takes"]
        if takes == "switch":
            parser.add_argument(*names, action=argparse.BooleanOptionalAction, dest=_name(names[0]))
        elif takes == "nothing":
            parser.add_argument(*names, action="store_const", const=True, dest=_name(names[0]))
        else:
            count = {"one": None, "many": "+", "maybe": "?"}[takes]
            kind = NUMBERS.get(names[0], str)
            parser.add_argument(
                *names, nargs=count, type=kind, choices=flag.get("choices"), metavar="X", dest=_name(names[0])
            )
    return parser


def _name(flag: str) -> str:
    return flag.lstrip("-")


def _spelled(argv: Sequence[str]) -> list[str]:
    """Return the arguments as argparse knows them: dashes in names, and `-cc.key=value` as JSON."""
    words: list[str] = []
    dotted: dict[str, str] = {}
    left = iter(argv)
    for word in left:
        name, assigned, value = word.partition("=")
        flag, _, key = name.partition(".")
        if key and flag in {"-cc", "--compilation-config", "--compilation_config"}:
            dotted[key] = value if assigned else next(left, "")
        elif word.startswith("--"):
            words.append(name.replace("_", "-") + assigned + value)
        else:
            words.append(word)
    return [*words, "--compilation-config", json.dumps(dotted)] if dotted else words
