"""What each knob of a winner brings, by launches of the winner without it. Pure functions over launches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from autotune.compare import LaunchValues
from autotune.confirm import changes, launch_values
from autotune.design import Design, Row, design
from autotune.folder import LaunchRecord, TrialRecord
from autotune.pooled import Change, Pool, pool
from autotune.rounds import BASELINE, CANDIDATE, due, failure, measured, of
from search_spaces import Config, RuleBroken, Scalar, SearchSpace, resolve

Verdict = Literal[
    "brings",
    "brings together",
    "needed",
    "needed together",
    "tied",
    "not tested",
    "nothing measurable",
    "costs",
    "costs together",
]
KEPT: tuple[Verdict, ...] = ("brings", "brings together", "needed", "needed together", "tied", "not tested")
TOGETHER: Mapping[Verdict, Verdict] = {
    "brings": "brings together",
    "needed": "needed together",
    "costs": "costs together",
}
"""What may be said of a knob that was only undone with others at once."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What the launches say of one row.

    Attributes:
        overall: Of the objective; None while one of the two has no launch.
        failed: Why it has no number: it does not run.
    """

    row: Row
    overall: Change | None
    levels: Mapping[int, Change]
    launches: tuple[int, int]
    failed: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """
    One knob of the winner.

    Attributes:
        gain: Of the winner over the winner without it; of a group, without all of them.
        because: The reason in words, where there is no number.
        group: The knobs that were undone at once, itself among them: verdict and gain are theirs together. Empty where
            it was undone alone.
    """

    knob: str
    base: Scalar
    own: Scalar
    verdict: Verdict
    gain: Change | None
    because: str
    group: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ablation:
    """
    A winner taken apart.

    Attributes:
        launch_sd: Relative, of all its recipes together; None where too few were launched.
        next: The round and the arm to launch next; None when there is nothing left to launch.
    """

    design: Design
    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]
    launch_sd: float | None
    next: tuple[int, str] | None

    @property
    def dropped(self) -> tuple[str, ...]:
        """The knobs that bring nothing measurable: a tie goes to the default."""
        return tuple(part.knob for part in self.parts if part.verdict not in KEPT)

    @property
    def groups(self) -> tuple[Part, ...]:
        """The first knob of each group that was only undone at once."""
        return tuple({part.group: part for part in reversed(self.parts) if part.group}.values())


def ablate(
    winner: TrialRecord, trials: Sequence[TrialRecord], launches: Sequence[LaunchRecord], space: SearchSpace
) -> Ablation | None:
    """Return how far the ablation of a winner is; None where there is nothing to take apart, or no budget for it."""
    plan = design(winner, trials, space)
    if plan is None:
        return None
    read = _read(plan, winner, launches, space)
    luck = read.luck[None]
    return Ablation(
        design=plan,
        findings=tuple(_finding(row, read) for row in plan.rows),
        parts=tuple(_part(knob, values, plan, read) for knob, values in changes(winner, space).items()),
        launch_sd=luck.sd if luck.freedom else None,
        next=None if failure(read.launches, CANDIDATE) else due(tuple(plan.arms), read.launches, plan.rounds),
    )


def reduced(ablation: Ablation, winner: TrialRecord, space: SearchSpace) -> Config | None:
    """Return the winner without what brings nothing measurable; None where that changes nothing, or breaks a rule."""
    bare = {**resolve(space, winner.config).config, **{knob: space.baseline[knob] for knob in ablation.dropped}}
    try:
        found = resolve(space, bare)
    except RuleBroken:
        return None
    if found.fingerprint in {winner.fingerprint, resolve(space, space.baseline).fingerprint}:
        return None
    return found.config


# --- what they say --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Readings:
    """
    What the launches of an ablation measured.

    Attributes:
        luck: Of a launch, at each concurrency and, under None, in the objective.
    """

    launches: Sequence[LaunchRecord]
    arms: Mapping[str, Sequence[LaunchValues]]
    luck: Mapping[int | None, Pool]

    def change(self, than: str, this: str) -> dict[int | None, Change]:
        """Return one arm over another in each column; nothing while one of them has no launch."""
        if not (self.arms[than] and self.arms[this]):
            return {}
        return {
            at: luck.change(_column(self.arms[than], at), _column(self.arms[this], at))
            for at, luck in self.luck.items()
        }


def _read(plan: Design, winner: TrialRecord, launches: Sequence[LaunchRecord], space: SearchSpace) -> _Readings:
    """Read the launches of an ablation; those of the confirmation before it tell of the luck of launches too."""
    own, confirmed = of(launches, "ablate", winner.number), of(launches, "confirm", winner.number)
    arms = {arm: launch_values(measured(own, arm), space.objective) for arm in plan.arms}
    before = [launch_values(measured(confirmed, arm), space.objective) for arm in (BASELINE, CANDIDATE)]
    every = [*arms.values(), *before]
    columns = (None, *space.workload.concurrency)
    return _Readings(own, arms, {at: pool([_column(values, at) for values in every]) for at in columns})


def _column(values: Sequence[LaunchValues], concurrency: int | None) -> list[float]:
    return [each.objective if concurrency is None else each.levels[concurrency] for each in values]


def _finding(row: Row, read: _Readings) -> Finding:
    found = read.change(row.against, row.arm)
    return Finding(
        row=row,
        overall=found.get(None),
        levels={at: change for at, change in found.items() if at is not None},
        launches=(len(read.arms[row.against]), len(read.arms[row.arm])),
        failed=failure(read.launches, row.arm),
    )


def _part(knob: str, values: tuple[Scalar, Scalar], plan: Design, read: _Readings) -> Part:
    row = plan.without(knob)
    verdict, gain, because = _judge(row, read) if row else _unlaunched(knob, plan)
    group = row.knobs if row and len(row.knobs) > 1 else ()
    told = TOGETHER.get(verdict, verdict) if group else verdict
    return Part(knob=knob, base=values[0], own=values[1], verdict=told, gain=gain, because=because, group=group)


def _unlaunched(knob: str, plan: Design) -> tuple[Verdict, None, str]:
    """Return why a knob needed no launch without it."""
    if knob in plan.tied:
        return "tied", None, f"can't be undone: {plan.tied[knob]}"
    return "nothing measurable", None, "it comes to the same without it"


def _judge(row: Row, read: _Readings) -> tuple[Verdict, Change | None, str]:
    """Return what is proved of what a row undoes, by how much the winner is better with it, or why by no number."""
    if failed := failure(read.launches, row.arm):
        return "needed", None, f"without {'it' if len(row.knobs) == 1 else 'all of them'}: {failed}"
    gain = read.change(row.arm, row.against).get(None)
    if gain is None:
        return "not tested", None, "its launches were not made"
    said: Mapping[str, Verdict] = {"more": "brings", "less": "costs"}
    return said.get(gain.said, "nothing measurable"), gain, ""
