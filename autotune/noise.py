"""How much launches of one recipe differ, and windows of one launch: measured once, and kept for this machine."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance

from pydantic import TypeAdapter, ValidationError
from scipy import special

from autotune.campaign import launch_values
from autotune.compare import LaunchSd
from search_spaces import Objective, SearchSpace
from trials.emulation import Emulation
from trials.files import write_whole
from trials.outcome import Measured

FEWEST = 4
"""Launches below which a standard deviation is a guess."""
MOST = 0.01
"""Of the launch sd; above it the host is to be mended before anything is tuned on it."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Deviation:
    """A relative standard deviation with its 95 % interval, by the chi-square distribution."""

    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelNoise:
    """Of one concurrency: between launches, and between the windows of one launch."""

    launch: Deviation
    window: Deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """
    What an A/A campaign measured.

    Attributes:
        space: Its name.
        launches: Of one recipe.
        objective: Between launches.
        levels: By concurrency.
        raw: The folder of the launches.
        measured: When, ISO 8601 with offset.
        emulated: Whether it is of an emulated machine.
    """

    space: str
    launches: int
    objective: Deviation
    levels: dict[int, LevelNoise]
    raw: Path
    measured: str
    emulated: bool

    @property
    def launch_sd(self) -> LaunchSd:
        """What a comparison needs of it."""
        return LaunchSd(self.objective.sd, {c: level.launch.sd for c, level in self.levels.items()})


_JSON = TypeAdapter(Noise)


def deviation(squares: float, freedom: int) -> Deviation:
    """
    Return the standard deviation of normal values and its interval.

    Args:
        squares: Sum of squares around their mean, or means.
        freedom: Degrees of freedom that are left.
    """
    share = (1 - CONFIDENCE) / 2
    ends = (math.sqrt(squares / float(special.chdtri(freedom, tail))) for tail in (share, 1 - share))
    low, high = ends
    return Deviation(math.sqrt(squares / freedom), low, high)


def noise(
    launches: Sequence[Measured], goal: Objective, *, space: str, raw: Path, measured: str, emulated: bool
) -> Noise:
    """
    Return how much launches of one recipe differ.

    Raises:
        ValueError: If there are fewer than two.
    """
    if len(launches) < 2:  # noqa: PLR2004 one says nothing of the next
        raise ValueError(f"{len(launches)} launches say nothing of how they differ: make {FEWEST} or more")
    values = [launch_values(one, goal) for one in launches]
    return Noise(
        space=space,
        launches=len(launches),
        objective=_spread([math.log(one.objective) for one in values]),
        levels={
            c: LevelNoise(_spread([math.log(one.levels[c]) for one in values]), _windows(launches, c))
            for c in values[0].levels
        },
        raw=raw,
        measured=measured,
        emulated=emulated,
    )


def _spread(logs: Sequence[float]) -> Deviation:
    return deviation(variance(logs) * (len(logs) - 1), len(logs) - 1)


def _windows(launches: Sequence[Measured], concurrency: int) -> Deviation:
    """Return how windows differ around the mean of their own launch."""
    runs = [
        [math.log(rate) for rate in point.windows]
        for one in launches
        for point in one.points
        if point.concurrency == concurrency
    ]
    squares = sum((log - fmean(run)) ** 2 for run in runs for log in run)
    return deviation(squares, sum(len(run) - 1 for run in runs))


def noise_file(space: SearchSpace, data_root: Path, emulation: Emulation | None) -> Path:
    """
    Return where the noise of a space is kept: with this machine's engines and weights.

    It belongs to the model on the engine and the hardware under the workload; images and knobs may differ.
    """
    told: Mapping[str, object] = {
        "engine": space.target.engine,
        "model": space.target.model,
        "hardware": space.target.hardware,
        "workload": space.workload.model_dump(mode="json", exclude={"window_sd"}),
        "emulation": emulation and [emulation.landscape, emulation.noise],
    }
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return data_root / "noise" / f"{space.target.engine}-{digest[:16]}.json"


def known_noise(space: SearchSpace, data_root: Path, emulation: Emulation | None) -> Noise | None:
    """Return what was measured of a space on this machine; None where nothing was that this version can read."""
    try:
        return _JSON.validate_json(noise_file(space, data_root, emulation).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def keep(found: Noise, path: Path) -> None:
    """Write what was measured, in place of what was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _JSON.dump_json(found, indent=2).decode() + "\n")


def window_sd(found: Noise | None) -> dict[int, float]:
    """Return how much windows of one launch differ at each concurrency, relative, as far as it was measured."""
    return {c: level.window.sd for c, level in found.levels.items() if level.window.sd} if found else {}


def informed(space: SearchSpace, measured: Mapping[int, float]) -> SearchSpace:
    """Return a space that knows how much windows of one launch differ; what it says itself stays."""
    known = {**measured, **space.workload.window_sd}
    return space.model_copy(update={"workload": space.workload.model_copy(update={"window_sd": known})})
