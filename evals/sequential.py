"""When to stop asking. Pure.

A fail may end early: it is curtailed once more answers are wrong than the threshold allows in all of the gate's
questions, so the rest could not turn it. A pass needs every question. Curtailing changes no verdict; the interval of
an accuracy is still computed on what was asked.

Both functions look at a prefix in the order of asking: the order in which answers arrive favours short, right ones.
"""

from collections.abc import Sequence

from evals.gate import Gate, Scored, beyond_repair

ERRORS_AT_START = 3
"""So many errors before the first answer mean that nothing will answer."""


def decided(scored: Sequence[Scored], gate: Gate) -> bool:
    """Say whether the gate already fails, whatever the remaining questions would bring."""
    return bool(beyond_repair(scored, gate))


def broken(scored: Sequence[Scored]) -> bool:
    """Say whether asking on is no use: the first answers were all errors, or a request was refused for good."""
    start = scored[:ERRORS_AT_START]
    silent = len(start) == ERRORS_AT_START and all(each.error is not None for each in start)
    return silent or any(each.refused for each in scored)
