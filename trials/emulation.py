"""A rehearsal: which emulated machine stands in for the real one. Nothing that it says is evidence."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from search_spaces import Target, Workload
from trials.engines.emulated.chance import Noise
from trials.engines.emulated.from_recipe import DEFAULT_MODEL
from trials.engines.emulated.images import PREFIX
from trials.engines.emulated.log import virtual_s
from trials.serving import Launch
from trials.supervisor import LOG

ENGINE = "emulated"
TAKES = "vllm"
"""The engine whose command line and environment the emulated one takes."""
MODEL = DEFAULT_MODEL
"""What its landscapes were fitted to, whatever it is told to serve."""


def can_stand_in(target: Target, args: Sequence[object]) -> bool:
    """
    Return whether the emulated engine behaves as this target's engine might: one of vLLM that serves `MODEL`.

    Args:
        args: Of the engine; the first may name the weights, a hub id or a folder, where the target has another name.
    """
    names = {PurePath(str(name)).name for name in (target.model, *args[:1])}
    return target.engine in {TAKES, ENGINE} and PurePath(MODEL).name in names


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """
    What is emulated, and how.

    Attributes:
        landscape: Name of the machine: L0, L1 or L2.
        seed: Of everything that is left to chance.
        noise: Standard deviation of a launch, relative.
        flaky: Chance that a launch dies of nothing.
        answers: File with the right answers to the gate's questions; None: they are not known.
    """

    landscape: str
    seed: int
    noise: float
    flaky: float
    answers: Path | None = None

    def instead_of(self, launch: Launch) -> Launch:
        """Return the launch that stands in for a real one: the same flags and environment, another program."""
        env = {**launch.env, **self._env(launch.folder, launch.image)}
        return replace(launch, engine=ENGINE, env=env, launcher="process", image=None)

    def window_sd(self, workload: Workload) -> dict[int, float]:
        """Return how much warm-up runs of one launch differ at each concurrency; nothing where they don't."""
        sd = Noise.scaled(self.noise).cycle / math.sqrt(workload.warmup_waves)
        return dict.fromkeys(workload.concurrency, sd) if sd else {}

    def _env(self, folder: Path, image: str | None) -> dict[str, str]:
        """Return how to emulate; launches whose folders have other names differ in luck."""
        told = {
            "LANDSCAPE": self.landscape,
            "SEED": f"{self.seed}/{'/'.join(folder.parts[-2:])}",
            "NOISE": f"{self.noise:g}",
            "FLAKY": f"{self.flaky:g}",
            **({"ANSWERS": str(self.answers)} if self.answers else {}),
            **({"IMAGE": image} if image and image.startswith(PREFIX) else {}),
        }
        return {f"AUTOTUNE_EMULATED_{name}": value for name, value in told.items()}


def spent_s(folder: Path) -> float:
    """Return the virtual seconds that the launches of a trial took."""
    logs = sorted(folder.rglob(LOG))
    return sum(virtual_s(_lines(log)) or 0.0 for log in logs)


def _lines(log: Path) -> Iterable[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()
