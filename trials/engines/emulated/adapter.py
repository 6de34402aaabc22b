"""The emulated engine's adapter: vLLM's in all but the program, and in that nothing it says is evidence."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trials.engines.adapter import Failure, Pattern
from trials.engines.emulated.api import VERSION
from trials.engines.vllm import PATTERNS, Vllm

PROGRAM = Path(__file__).with_name("__main__.py")
STUCK = Pattern(r"EMULATED: this start is stuck", "stuck", "trials/engines/emulated/log.py")


class Emulated(Vllm):
    """The adapter; it has no state. What it emulates and how, the environment says: see `server.options`."""

    patterns = (STUCK, *PATTERNS)

    def argv(
        self,
        args: Sequence[str],
        *,
        model: str,
        host: str,
        port: int,
        data_root: Path | None,  # noqa: ARG002  # it is where autotune is
    ) -> list[str]:
        """Return the command line of our program, with that of `vllm serve` after it."""
        weights = [] if args and not args[0].startswith("-") else [model]
        ours = ["--served-model-name", model, "--host", host, "--port", str(port)]
        return [sys.executable, "-P", str(PROGRAM), "serve", *weights, *args, *ours]

    def version(self, data_root: Path) -> str:  # noqa: ARG002  # it is where autotune is
        """Return what is emulated."""
        return f"EMULATED: nothing behind it; it behaves like vllm {VERSION}"

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why it ended, as vLLM's adapter does, and that it was emulated."""
        if STUCK.regex in log:
            return Failure("stuck", "EMULATED: not ready in time")
        failure = super().explain(log, returncode)
        return replace(failure, reason=f"EMULATED: {failure.reason}")
