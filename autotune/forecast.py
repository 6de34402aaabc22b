"""How long a study still takes: a pure estimate from the phases measured so far."""

from collections.abc import Sequence
from statistics import fmean

from search_spaces import SearchSpace
from trials.outcome import Measured, Outcome


def left_s(
    space: SearchSpace, outcomes: Sequence[Outcome], *, trials_left: int, search_left_s: float | None, slots: int
) -> float | None:
    """
    Return the seconds to the end of the study, confirmation included; None before anything was measured.

    Args:
        trials_left: Trials that may still be submitted.
        search_left_s: Of the search's budget of hours; None: no limit.
    """
    measured = [outcome for outcome in outcomes if isinstance(outcome, Measured)]
    if not measured:
        return None
    search_s = fmean(sum(outcome.seconds.values()) for outcome in outcomes) * trials_left / slots
    if search_left_s is not None:
        search_s = min(search_s, search_left_s)
    return search_s + confirm_s(space, measured)


def confirm_s(space: SearchSpace, measured: Sequence[Measured]) -> float:
    """Return the seconds that confirming one candidate takes at most: its launches, and one long gate an arm."""
    launch_s = fmean(sum(s for phase, s in one.seconds.items() if phase not in {"judge", "smell"}) for one in measured)
    return 2 * (space.budget.confirm_launches * launch_s + _judge_s(space, measured))


def _judge_s(space: SearchSpace, measured: Sequence[Measured]) -> float:
    """Return the seconds of all questions that one arm is asked in confirmation, at the pace of those asked so far."""
    spent_s = sum(one.seconds.get("judge", 0.0) + one.seconds.get("smell", 0.0) for one in measured)
    judged = [each.verdict for one in measured for each in one.judged]
    whole = max((verdict.protocol.identity.questions for verdict in judged), default=0)
    ladder = space.workload.concurrency
    asked = sum((gate.questions.confirm or whole) * len(gate.confirmed_at(ladder)) for gate in space.gates)
    return spent_s * asked / max(1, sum(verdict.asked for verdict in judged))
