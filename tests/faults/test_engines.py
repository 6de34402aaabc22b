"""A study over configs whose engines misbehave: each becomes its outcome, and the study ends as any other."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fakes.bench import Bench, leaving_nothing

DONE, BASELINE = 0, 5
FAULTS = [
    "none",
    "out-of-memory",
    "forks-and-exits",
    "answers-nothing",
    "answers-garbage",
    "drops-streams",
    "stalls",
    "floods-its-log",
    "leaves-children",
    "ignores-sigterm",
]


@dataclass(frozen=True, slots=True)
class Ran:
    """A study that came to its end, and what it said."""

    bench: Bench
    said: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Run one study over every fault; the short deadlines are what `stalls` and `ignores-sigterm` wait for."""
    with leaving_nothing(Bench(tmp_path_factory.mktemp("engines")), within_s=10) as bench:
        bench.write_space(
            {"fault": {"flag": "--fault", "choice": FAULTS}},
            {"fault": "none"},
            deadlines={"stop_s": 1, "request_s": 2},
        )
        yield Ran(bench, bench.run("study", "fake.yaml", "--dispatcher", "local"))


def test_the_study_ends_when_every_config_was_tried(ran: Ran) -> None:
    assert ran.said.returncode == DONE, ran.said.stderr
    assert "every config of the space was measured" in ran.said.stdout
    assert {trial["config"]["fault"] for trial in ran.bench.trials()} == set(FAULTS)


@pytest.mark.parametrize(
    ("fault", "failure", "reason"),
    [
        ("out-of-memory", "memory", "failed to initialize the context: std::bad_alloc"),
        ("forks-and-exits", "unknown", "it left 1 process behind, now ended: an engine must stay in the foreground"),
        ("answers-nothing", "wrong", "0 of the first 8 answers right"),
        ("answers-garbage", "wrong", "0 of the first 8 answers right"),
        ("drops-streams", "wrong", "under load at concurrency 1: "),
        ("stalls", "stuck", "under load at concurrency 1: "),
    ],
)
def test_a_fault_of_the_engine_is_learned_from_with_its_reason(ran: Ran, fault: str, failure: str, reason: str) -> None:
    outcome = ran.bench.outcome_of(fault=fault)
    assert (outcome["kind"], outcome["failure"]) == ("infeasible", failure)
    assert reason in outcome["reason"]
    assert reason in ran.said.stdout


def test_what_is_a_configs_own_fault_is_run_once(ran: Ran) -> None:
    deterministic = set(FAULTS) - {"stalls"}
    run = [trial["config"]["fault"] for trial in ran.bench.trials()]
    assert {fault for fault in deterministic if run.count(fault) > 1} == set()


@pytest.mark.parametrize("fault", ["floods-its-log", "leaves-children", "ignores-sigterm"])
def test_bad_manners_of_an_engine_cost_it_nothing(ran: Ran, fault: str) -> None:
    assert ran.bench.outcome_of(fault=fault)["kind"] == "measured"


def test_a_flood_is_in_the_log_in_full_and_nobody_waited_for_it(ran: Ran) -> None:
    assert max(log.stat().st_size for log in ran.bench.study.glob("trials/*/engine.log")) > 10_000_000


def test_every_trial_keeps_its_command_and_its_engines_words(ran: Ran) -> None:
    for folder in ran.bench.study.glob("trials/*"):
        assert {"command.sh", "engine.log", "exit.json", "outcome.json"} <= {path.name for path in folder.iterdir()}


def test_a_space_whose_every_config_but_the_baseline_crashes_ends_with_the_baseline(bench: Bench) -> None:
    faults = ["none", "exits", "out-of-memory", "answers-garbage"]
    bench.write_space({"fault": {"flag": "--fault", "choice": faults}}, {"fault": "none"})
    said = bench.run("study", "fake.yaml", "--dispatcher", "local")
    assert said.returncode == DONE, said.stderr
    evidence = bench.evidence()
    assert (evidence["result"], evidence["winner"]["trial"]) == ("no candidate", 0)
    assert [trial["outcome"]["kind"] for trial in bench.trials()] == ["measured", *["infeasible"] * 3]
    assert (bench.study / "recipe.yaml").exists()


@pytest.mark.parametrize(("side", "code"), [("a", BASELINE), ("b", DONE)])
def test_a_comparison_whose_first_side_does_not_run_ends_as_a_study_whose_baseline_fails(
    bench: Bench, side: str, code: int
) -> None:
    bench.write_space({"fault": {"flag": "--fault", "choice": FAULTS}}, {"fault": "none"})
    crash = (f"--set-{side}", "fault=out-of-memory")
    ran = bench.run("compare", "fake.yaml", "fake.yaml", *crash, "--dispatcher", "local")
    assert f"Nothing is compared: {side.upper()} failed: memory: " in ran.stdout
    assert ran.returncode == code, ran.stderr
