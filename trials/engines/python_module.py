"""Engines that are a module of some Python: which interpreter has it, which version it is, and what weights it gets."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.engines.adapter import EngineNotFound

VERSION_S = 60.0  # it reads metadata and imports nothing
ASK = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


@dataclass(frozen=True)
class PythonModule:
    """
    A server that starts with `python3 -m module`.

    Attributes:
        distribution: The package that has it, for its version.
        variable: Names the interpreter where it is not `python3` on PATH.
    """

    module: str
    distribution: str
    variable: str

    def command(self, data_root: Path | None) -> list[str]:
        """
        Return what starts it; an image has it in its own `python3`.

        Raises:
            EngineNotFound: No interpreter is here.
        """
        interpreter = "python3" if data_root is None else self.interpreter()
        return [interpreter, "-m", self.module]

    def interpreter(self) -> str:
        """
        Return the path of the interpreter: what the variable names, or `python3` on PATH.

        Raises:
            EngineNotFound: Neither is here, or the variable names no program.
        """
        if named := os.environ.get(self.variable):
            if not os.access(named, os.X_OK):
                raise EngineNotFound(f"{self.variable}={named} is no program: name the python of {self.distribution}")
            return str(Path(named).absolute())
        if found := shutil.which("python3"):
            return found
        raise EngineNotFound(
            f"{self.distribution} is not here (no python3 on PATH): activate its environment, or name its python in "
            f"{self.variable}"
        )

    def version(self) -> str:
        """
        Return the distribution's version and the interpreter that has it.

        Raises:
            EngineNotFound: There is no interpreter, or it does not have the distribution.
        """
        interpreter = self.interpreter()
        command = [interpreter, "-I", "-c", ASK, self.distribution]
        try:
            said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=VERSION_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineNotFound(f"{interpreter}: {error}: name another python in {self.variable}") from error
        if said.returncode:
            raise EngineNotFound(
                f"{self.distribution} is not in {interpreter}: activate its environment, or name its python in "
                f"{self.variable}"
            )
        return f"{self.distribution} {said.stdout.strip()} in {interpreter}"


def with_weights(args: Sequence[str], flags: Sequence[str], model: str) -> list[str]:
    """
    Return `args` with the weights named.

    A first argument that is no flag is their folder or hub id; where none of `flags` is there either, `model` is.
    """
    if args and not args[0].startswith("-"):
        return [flags[0], *args]
    if any(arg.partition("=")[0] in flags for arg in args):
        return [*args]
    return [flags[0], model, *args]
