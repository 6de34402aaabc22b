"""
Prints the table of vLLM's options, `autotune/importing/vllm.yaml`, from a captured `vllm serve --help=all`.

    python tests/captures/vllm_options.py tests/captures/vllm-0.25.1/help-all.txt > autotune/importing/vllm.yaml
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HEAD = """\
# Printed by tests/captures/vllm_options.py.
version: vLLM 0.25.1
source: tests/captures/vllm-0.25.1/help-all.txt
weights: [--model]
ours: [--host, --port, --served-model-name]
layout: {--tensor-parallel-size: tp, --pipeline-parallel-size: pp, --data-parallel-size: dp}
levels: {-O: --optimization-level}  # -O0 to -O3, as the text on --optimization-level has them
options:
"""


def entries(text: str) -> Iterator[str]:
    """Yield the text of each option, on one line: a line that begins with two blanks and a dash, and what follows."""
    for block in re.split(r"\n(?=  -)", text)[1:]:
        own = re.split(r"\n(?=\S)|\n\n", block)[0]
        yield re.sub(r"\n\s+", "\n", own.strip())


def option(entry: str) -> tuple[str, dict[str, object]]:
    """Return an option's longest name and what is told of it; a key is there only where it says something."""
    usage, *described = re.split(r"\s{2,}|\n", entry)
    words = " ".join(described)
    forms = [form.split() for form in re.sub(r"\{.*?\}", "CHOICE", usage).split(", ") if form.startswith("-")]
    names = [form[0] for form in forms]
    name = max((each for each in names if not each.startswith("--no-")), key=len)
    told: dict[str, object] = {}
    if short := [each for each in names if each != name and each != f"--no-{name[2:]}"]:
        told["short"] = short[0]
    if all(len(form) == 1 for form in forms):
        told["switch"] = True
    if "..." in usage:
        told["several"] = True
    if "accept multiple" in words:
        told["again"] = True
    if "Parse human-readable integers" in words or "human-readable format" in words:
        told["size"] = True
    if (default := _default(words)) is not None:
        told["default"] = default
    return name, told


def _default(words: str) -> object:
    """Return the default as data; None for none, for one that is an object of vLLM's, and for one that is not told."""
    found = re.search(r"\(default: (.*)\)$", words)
    if found is None:
        return None
    try:
        value = ast.literal_eval(found[1])
    except (SyntaxError, ValueError):
        return found[1] if re.fullmatch(r"[\w./:-]+", found[1]) else None
    return sorted(value) if isinstance(value, set) else value


def main() -> None:
    """Print the table."""
    sys.stdout.write(HEAD)
    for entry in entries(Path(sys.argv[1]).read_text(encoding="utf-8")):
        name, told = option(entry)
        if name != "--help":
            inside = ", ".join(f"{key}: {json.dumps(value)}" for key, value in told.items())
            sys.stdout.write(f"  {name}: {{{inside}}}\n")


if __name__ == "__main__":
    main()
