"""How long a study still takes: a pure estimate from the phases measured so far."""

from collections.abc import Sequence
from statistics import fmean

from search_spaces import SearchSpace
from trials.outcome import Measured, Outcome

RESERVE = 0.15
"""Of a study's hours, that the search leaves to the launches after it."""
FEWEST_LAUNCHES = 6
"""For which there must be time after the search, whatever the hours."""
ARMS, ARMS_REDUCED = 3, 4
"""Of a round: baseline, candidate and the engine's own defaults; and the candidate with less in it."""


def reserve_s(hours: float, measured: Sequence[Measured]) -> float:
    """Return the seconds of a study's hours that its search must leave to the confirmation."""
    launches_s = FEWEST_LAUNCHES * _launch_s(measured) if measured else 0.0
    return max(RESERVE * hours * 3600, launches_s)


def left_s(
    space: SearchSpace, outcomes: Sequence[Outcome], *, trials_left: int, search_left_s: float | None, slots: int
) -> float | None:
    """
    Return the seconds to the end of the study, confirmation included; None before anything was measured.

    Args:
        trials_left: Trials that may still be submitted.
        search_left_s: Of the search's share of the hours; None: no limit.
    """
    measured = [outcome for outcome in outcomes if isinstance(outcome, Measured)]
    if not measured:
        return None
    search_s = fmean(sum(outcome.seconds.values()) for outcome in outcomes) * trials_left / slots
    if search_left_s is not None:
        search_s = min(search_s, search_left_s)
    return search_s + confirm_s(space, measured)


def confirm_s(space: SearchSpace, measured: Sequence[Measured]) -> float:
    """Return the seconds that confirming one candidate and taking it apart takes at most: launches, and full gates."""
    launch_s, judge_s, budget = _launch_s(measured), _judge_s(space, measured), space.budget
    seconds = ARMS * budget.confirm_launches * launch_s + 2 * judge_s
    if budget.ablation_launches:
        seconds += (budget.ablation_launches + ARMS_REDUCED * budget.confirm_launches) * launch_s + judge_s
    return seconds + budget.regime_launches * launch_s / len(space.workload.concurrency)


def _launch_s(measured: Sequence[Measured]) -> float:
    """Return the seconds of a launch without a gate."""
    return fmean(sum(s for phase, s in one.seconds.items() if phase not in {"judge", "smell"}) for one in measured)


def _judge_s(space: SearchSpace, measured: Sequence[Measured]) -> float:
    """Return the seconds of all questions that one arm is asked in confirmation, at the pace of those asked so far."""
    spent_s = sum(one.seconds.get("judge", 0.0) + one.seconds.get("smell", 0.0) for one in measured)
    judged = [each.verdict for one in measured for each in one.judged]
    whole = max((verdict.protocol.identity.questions for verdict in judged), default=0)
    ladder = space.workload.concurrency
    asked = sum((gate.questions.confirm or whole) * len(gate.confirmed_at(ladder)) for gate in space.gates)
    return spent_s * asked / max(1, sum(verdict.asked for verdict in judged))
