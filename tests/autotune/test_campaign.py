"""Which launches a comparison makes and when it ends, over outcomes told beforehand."""

from pathlib import Path

import pytest

from autotune.campaign import LaunchDone, LaunchesLost, campaign, progress
from autotune.comparisons import Launched, Rules
from autotune.folder import Arm
from search_spaces import Objective, SearchSpace
from tests.autotune.comparing import Told, begun, rates
from tests.autotune.studies import CRASHED, LOST, MEMORY, unjudged
from tests.support import measured, verdict
from trials import outcome as outcomes
from trials.outcome import Outcome

UNJUDGED = Rules(most=6, judged=False)
GOAL = Objective()


def launched(order: str, made: list[Outcome]) -> list[Launched]:
    """Return launches in order."""
    arms: list[Arm] = ["A" if arm == "A" else "B" for arm in order]
    return [
        Launched(number=n, arm=arm, folder=Path(f"{n:02d}-{arm}"), outcome=outcome)
        for n, (arm, outcome) in enumerate(zip(arms, made, strict=True))
    ]


def test_the_arms_take_turns_until_something_is_decided(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    told = Told(rates(100.0, 110.0, 110.1, 100.1))
    list(campaign(folder, told))
    assert [one.arm for one in folder.launches()] == ["A", "B", "B", "A"]
    found = progress(folder.launches(), UNJUDGED, GOAL)
    assert found.comparison is not None
    assert (found.comparison.result, found.next_arm) == ("win", None)


def test_what_is_not_decided_goes_on_to_the_last_launch(tmp_path: Path, small: SearchSpace) -> None:
    rules = Rules(most=3, judged=False)
    folder = begun(tmp_path, small, rules)
    list(campaign(folder, Told(rates(100.0, 104.0, 97.0, 96.0, 103.0, 101.0))))
    assert "".join(one.arm for one in folder.launches()) == "ABBABA"
    found = progress(folder.launches(), rules, GOAL)
    assert found.comparison is not None
    assert (found.comparison.result, found.comparison.launches) == ("undecided", (3, 3))


def test_both_launches_of_a_pair_get_the_same_prompts_and_the_next_pair_others(
    tmp_path: Path, small: SearchSpace
) -> None:
    told = Told(rates(100.0, 104.0, 97.0, 96.0, 103.0, 101.0))
    list(campaign(begun(tmp_path, small, Rules(most=3, judged=False)), told))
    seeds = [plan.seed for plan in told.plans]
    assert seeds == [7001, 7001, 7002, 7002, 7003, 7003]


def test_each_arm_runs_its_own_recipe(tmp_path: Path, small: SearchSpace) -> None:
    told = Told(rates(100.0, 110.0, 110.1, 100.1))
    list(campaign(begun(tmp_path, small, UNJUDGED), told))
    threads = [plan.recipe.config["threads"] for plan in told.plans]
    assert threads == [2, 3, 3, 2]
    assert not any(plan.gates for plan in told.plans)


def test_the_first_launch_of_each_arm_is_asked_the_full_gate_and_b_held_against_a(
    tmp_path: Path, small: SearchSpace
) -> None:
    told = Told([measured(100.0, 100.0), measured(110.0, 110.0), *rates(110.1, 100.1)])
    list(campaign(begun(tmp_path, small, Rules(most=6)), told))
    assert [len(plan.gates) for plan in told.plans] == [1, 1, 0, 0]
    first, second = told.plans[0].gates[0], told.plans[1].gates[0]
    assert (first.questions, first.reference, second.questions) == (16, None, 16)
    assert second.reference is not None


def test_a_lost_launch_is_made_again_and_does_not_count(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    told = Told([rates(100.0)[0], LOST, LOST, *rates(110.0, 110.1, 100.1)])
    list(campaign(folder, told))
    assert "".join(one.arm for one in folder.launches()) == "ABBBBA"
    assert [plan.seed for plan in told.plans] == [7001, 7001, 7001, 7001, 7002, 7002]


def test_a_launch_that_is_lost_three_times_ends_it(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    with pytest.raises(LaunchesLost, match="lost 3 times, at last because: node gone: mend that"):
        list(campaign(folder, Told([LOST, LOST, LOST])))
    assert len(folder.launches()) == 3


def test_it_goes_on_where_its_driver_left_it(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    events = campaign(folder, Told(rates(100.0, 110.0)))
    while not (isinstance(event := next(events), LaunchDone) and event.number == 1):
        pass
    events.close()  # type: ignore[attr-defined]  # the driver is gone
    folder.new_launch(2, "B")  # and was in the middle of the third launch
    list(campaign(folder, Told(rates(110.1, 100.1))))
    assert [(one.arm, one.outcome.kind if one.outcome else None) for one in folder.launches()] == [
        ("A", "measured"),
        ("B", "measured"),
        ("B", "lost"),
        ("B", "measured"),
        ("A", "measured"),
    ]
    assert list(campaign(folder, Told([]))) == []


def test_an_arm_that_crashes_ends_it(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    list(campaign(folder, Told([*rates(100.0), MEMORY])))
    found = progress(folder.launches(), UNJUDGED, GOAL)
    assert (found.failed, found.next_arm, found.comparison) == ("B failed: memory: out of memory", None, None)
    assert not found.baseless
    assert progress(launched("A", [MEMORY]), UNJUDGED, GOAL).baseless


def test_a_crash_that_may_be_chance_is_launched_once_more() -> None:
    once = progress(launched("ABB", [*rates(100.0, 110.0), CRASHED]), UNJUDGED, GOAL)
    assert (once.failed, once.next_arm) == (None, "B")
    twice = progress(launched("ABBB", [*rates(100.0, 110.0), CRASHED, CRASHED]), UNJUDGED, GOAL)
    assert (twice.out, twice.failed, twice.next_arm) == ("B", "B failed: unknown: exit code 1", None)


def test_an_arm_that_does_not_pass_its_gate_ends_it() -> None:
    failed = measured(120.0, 120.0, gate=verdict(40, result="fail"))
    found = progress(launched("AB", [measured(100.0, 100.0), failed]), Rules(most=6), GOAL)
    assert (found.failed, found.next_arm) == ("B failed: gate fail: 40 of 64 right", None)


def test_nothing_is_looked_at_between_the_looks() -> None:
    made: list[Outcome] = [*rates(*([100.0, 110.0, 110.1, 100.1, 110.2, 99.9, 100.0, 110.0] * 2))]
    found = progress(launched("ABBABAAB" * 2, made), Rules(most=24, until="most", judged=False), GOAL)
    assert found.comparison is not None
    assert found.comparison.launches == (7, 7)
    assert found.next_arm == "A"


def test_launches_of_an_a_a_campaign_are_all_made(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, Rules(most=3, until="most", judged=False))
    list(campaign(folder, Told(rates(100.0, 150.0, 150.1, 100.1, 150.2, 100.2))))
    assert len(folder.launches()) == 6


def test_a_sweep_goes_on_until_every_concurrency_is_decided() -> None:
    a = [unjudged(100.0, 100.0 + n) for n in (0, 6)]
    b = [unjudged(110.0, 101.0 + n) for n in (0, -4)]
    made: list[Outcome] = [a[0], b[0], b[1], a[1]]
    each = Rules(most=6, until="every level decided", judged=False)
    found = progress(launched("ABBA", made), each, GOAL)
    assert found.comparison is not None
    assert {verdict.result for verdict in found.comparison.verdicts.values()} == {"win", "undecided"}
    assert found.next_arm == "B"


def test_an_outcome_that_was_written_is_what_counts(tmp_path: Path, small: SearchSpace) -> None:
    folder = begun(tmp_path, small, UNJUDGED)
    list(campaign(folder, Told(rates(100.0, 110.0, 110.1, 100.1))))
    assert [outcomes.read(one.folder / "outcome.json") for one in folder.launches()] == [
        one.outcome for one in folder.launches()
    ]
