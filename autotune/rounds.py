"""In which order recipes are launched side by side, and what became of each: pure functions over launches."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Protocol

from autotune.folder import LaunchRecord, Stage
from autotune.retries import RETRIES
from trials.outcome import Infeasible, Lost, Measured, Outcome

BASELINE, CANDIDATE, DEFAULTS, REFERENCE, REDUCED = "A", "B", "D", "R", "C"
"""Arms: the study's baseline, a trial, the engine's own defaults, another engine, and a candidate with less in it."""
BESIDE = (DEFAULTS, REFERENCE)
WITHOUT, ALONE, REST = "B-", "A+", "B-REST"
"""Arms of an ablation: the winner without a knob, the baseline with it, the winner without all that matter little."""
PLAIN, OVERRIDDEN = "F@", "O@"
"""Arms at one concurrency: the recipe as it is, and another one in its place."""

NAMES: Mapping[str, str] = {
    BASELINE: "baseline",
    CANDIDATE: "trial {candidate}",
    DEFAULTS: "the engine's own defaults",
    REFERENCE: "the reference",
    REDUCED: "trial {candidate}, reduced",
    REST: "trial {candidate} without the knobs that matter least",
    WITHOUT: "trial {candidate} without {rest}",
    ALONE: "baseline with {rest}",
    PLAIN: "the recipe at {rest}",
    OVERRIDDEN: "its override at {rest}",
}


CHANCE = ("unknown", "stuck")
"""Failures of an engine that may not happen again: what no pattern knows, and what took too long."""


class Ended(Protocol):
    """A launch as its folder tells it."""

    @property
    def arm(self) -> str:
        """Which recipe was launched."""

    @property
    def outcome(self) -> Outcome | None:
        """What became of it; None while it runs."""


def name(arm: str, candidate: int) -> str:
    """Return an arm in words."""
    key = arm if arm in NAMES else arm[:2]
    return NAMES[key].format(candidate=candidate, rest=arm[2:])


def rounds(arms: Sequence[str], most: int) -> Iterator[tuple[int, str]]:
    """
    Yield round after round of all arms, forwards, backwards, backwards, forwards again: for two arms A B B A B A A B.

    Any drift that is linear over four rounds falls on all arms alike.
    """
    for number, backwards in zip(range(most), cycle((False, True, True, False)), strict=False):
        yield from ((number, arm) for arm in (reversed(arms) if backwards else arms))


def due(arms: Sequence[str], launches: Sequence[LaunchRecord], most: int) -> tuple[int, str] | None:
    """Return the next launch as its round and arm; what failed is not launched again. None: all are made."""
    made = {arm: len(measured(launches, arm)) for arm in arms}
    out = {arm for arm in arms if failure(launches, arm) or given_up(launches, arm)}
    return next(((number, arm) for number, arm in rounds(arms, most) if arm not in out and made[arm] <= number), None)


def of(launches: Sequence[LaunchRecord], stage: Stage, candidate: int) -> list[LaunchRecord]:
    """Return the launches of a stage that were made for a candidate and ended."""
    return [one for one in launches if one.stage == stage and one.candidate == candidate and one.outcome is not None]


def measured(launches: Sequence[Ended], arm: str) -> tuple[Measured, ...]:
    """Return what an arm's launches measured, in their order."""
    return tuple(one.outcome for one in launches if one.arm == arm and isinstance(one.outcome, Measured))


def failure(launches: Sequence[Ended], arm: str) -> str | None:
    """
    Return why an arm is out by its own fault: it failed, or did not pass its gate.

    What may have been chance is launched once more: of twenty launches, each of which crashes by chance one time in
    thirty, one does every other time, and would end the comparison or say of a knob that the engine needs it.
    """
    chances = 1
    for outcome in (one.outcome for one in launches if one.arm == arm):
        match outcome:
            case Infeasible(failure=kind) if kind in CHANCE and chances:
                chances -= 1
            case Infeasible(failure=kind, reason=reason):
                return f"{kind}: {reason}"
            case Measured(verdict=verdict) if verdict and verdict.result != "pass":
                return f"gate {verdict.result}: {'; '.join(verdict.reasons)}"
            case _:
                pass
    return None


def given_up(launches: Sequence[LaunchRecord], arm: str) -> str | None:
    """Return why an arm that only stands beside is out by the world's fault: the study goes on without it."""
    if arm not in BESIDE:
        return None
    lost = [one.outcome for one in launches if one.arm == arm and isinstance(one.outcome, Lost)]
    return f"lost {len(lost)} times: {lost[-1].reason}" if len(lost) > RETRIES["lost"] else None
