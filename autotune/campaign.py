"""Interleaved launches of two recipes on fresh engines, until the numbers decide; all facts are in the folder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autotune.compare import FEWEST, Comparison, LaunchValues, compare, looks, order
from autotune.comparisons import ComparisonFolder, Rules, Settings, Sides
from autotune.confirm import level, value
from autotune.dispatch import Dispatcher
from autotune.folder import Arm
from autotune.gates import GateOfStudy, confirming, gates
from autotune.rehearsal import give_answers
from autotune.rounds import Ended, failure, measured
from evals import Gate
from search_spaces import Objective
from trials import outcome as outcomes
from trials.outcome import Lost, Measured, Outcome
from trials.plan import Plan

RETRIES = 2  # of a launch that was lost


class LaunchesLost(Exception):
    """A launch was lost again and again: this machine, or its cluster, is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """
    How far a campaign is.

    Attributes:
        a: A's launches so far.
        b: B's.
        comparison: At the last look; None before the first.
        out: The first arm that failed or did not pass its gate; None while both are well.
        failed: What is wrong with it: nothing can be compared.
        next_arm: What to launch next; None when there is nothing left to launch.
    """

    a: tuple[Measured, ...]
    b: tuple[Measured, ...]
    comparison: Comparison | None
    out: Arm | None
    failed: str | None
    next_arm: Arm | None

    @property
    def baseless(self) -> bool:
        """Whether it is A that failed: then nothing is said of B either."""
        return self.out == "A"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchBegan:
    """A launch began."""

    number: int
    arm: Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchDone:
    """A launch ended; `value` is its objective, if it was measured, `comparison` what is known by now."""

    number: int
    arm: Arm
    outcome: Outcome
    value: float | None
    comparison: Comparison | None


Event = LaunchBegan | LaunchDone


def progress(launches: Sequence[Ended], rules: Rules, goal: Objective) -> Progress:
    """Return how far a campaign is by its launches so far."""
    a, b = measured(launches, "A"), measured(launches, "B")
    each = max((look for look in looks(rules.most) if look <= min(len(a), len(b))), default=0)
    comparison = _compared(a[:each], b[:each], rules, goal) if each >= FEWEST else None
    out, failed = _failed(launches)
    decided = comparison is not None and len(a) == len(b) == each and _decided(comparison, rules)
    plan, made = order(rules.most), len(a) + len(b)
    return Progress(
        a=a,
        b=b,
        comparison=comparison,
        out=out,
        failed=failed,
        next_arm=None if failed or decided or made >= len(plan) else ("A" if plan[made] == "A" else "B"),
    )


def _compared(a: Sequence[Measured], b: Sequence[Measured], rules: Rules, goal: Objective) -> Comparison:
    values = [[launch_values(one, goal) for one in arm] for arm in (a, b)]
    return compare(values[0], values[1], known_sd=rules.known_sd, family=rules.family)


def launch_values(measured: Measured, goal: Objective) -> LaunchValues:
    """Return what of a launch is compared."""
    return LaunchValues(value(measured, goal), {point.concurrency: level(point, goal) for point in measured.points})


def _decided(comparison: Comparison, rules: Rules) -> bool:
    match rules.until:
        case "decided":
            return comparison.result != "undecided"
        case "every level decided":
            return all(verdict.result != "undecided" for verdict in comparison.verdicts.values())
        case "most":
            return False


def _failed(launches: Sequence[Ended]) -> tuple[Arm | None, str | None]:
    """Return which arm ends a campaign before it decides anything, and why."""
    arms: tuple[Arm, ...] = ("A", "B")
    return next(((arm, f"{arm} failed: {why}") for arm in arms if (why := failure(launches, arm))), (None, None))


@dataclass(frozen=True, slots=True)
class _Campaign:
    """What a campaign's launches have in common."""

    folder: ComparisonFolder
    settings: Settings
    sides: Sides
    gates: tuple[GateOfStudy, ...]

    def progress(self) -> Progress:
        """Return how far it is."""
        return progress(self.folder.launches(), self.settings.rules, self.sides.space.objective)


def campaign(folder: ComparisonFolder, dispatcher: Dispatcher) -> Iterator[Event]:
    """
    Launch from wherever a comparison stands to its end, yielding what happens.

    Raises:
        LaunchesLost: If a launch is lost more often than it may be tried again.
    """
    running = _open(folder)
    lost: list[Lost] = []
    while (arm := (stands := running.progress()).next_arm) is not None:
        plan = _plan(running, stands, arm, number=len(folder.launches()))
        yield LaunchBegan(number=len(folder.launches()) - 1, arm=arm)
        outcome = dispatcher.submit(plan).result()
        outcomes.write(plan.folder / "outcome.json", outcome)
        yield _done(running, arm, outcome)
        lost = [*lost, outcome] if isinstance(outcome, Lost) else []
        if len(lost) > RETRIES:
            raise LaunchesLost(
                f"a launch of {arm} was lost {len(lost)} times, at last because: {lost[-1].reason}: mend that, then go "
                "on with the same command and --resume"
            )


def _open(folder: ComparisonFolder) -> _Campaign:
    """Read the folder; launches that an earlier driver left are lost."""
    for one in folder.launches():
        if one.outcome is None:
            outcomes.write(one.folder / "outcome.json", Lost(reason="the driver ended before the launch", seconds={}))
    settings, sides = folder.settings(), folder.sides()
    asked = (
        gates(sides.space, space_folder=settings.space_folders[0], data_root=settings.data_root)
        if settings.rules.judged
        else ()
    )
    if settings.emulation and asked:
        give_answers(folder.answers, asked)
    return _Campaign(folder, settings, sides, asked)


def _plan(running: _Campaign, stands: Progress, arm: Arm, *, number: int) -> Plan:
    """Make a launch's folder and return what to run in it; both launches of a pair get the same prompts."""
    settings = running.settings
    return Plan(
        recipe=running.sides.recipe(arm),
        folder=running.folder.new_launch(number, arm).resolve(),
        space_folder=settings.space_folders[0 if arm == "A" else 1],
        data_root=settings.data_root,
        emulation=settings.emulation,
        deadlines=running.sides.space.deadlines,
        gates=_gates(running, stands, arm),
        seed=settings.seed * 1000 + (len(stands.a) + len(stands.b)) // 2 + 1,
    )


def _gates(running: _Campaign, stands: Progress, arm: Arm) -> tuple[Gate, ...]:
    """Return the full gates for the first launch of each arm; B is held against A's answers."""
    if stands.a if arm == "A" else stands.b:
        return ()
    return tuple(confirming(running.gates, stands.a[0].judged if arm == "B" and stands.a else None))


def _done(running: _Campaign, arm: Arm, outcome: Outcome) -> LaunchDone:
    goal = running.sides.space.objective
    return LaunchDone(
        number=len(running.folder.launches()) - 1,
        arm=arm,
        outcome=outcome,
        value=value(outcome, goal) if isinstance(outcome, Measured) else None,
        comparison=running.progress().comparison,
    )
