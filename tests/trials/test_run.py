"""One trial from its plan to its folder, through an engine that is a real process, good or bad."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evals
from evals import Gate
from evals.harness import load
from search_spaces import Serve
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials import outcome as outcomes
from trials.engines.asked import Mismatch
from trials.load import record
from trials.outcome import Infeasible, Lost, Measured, Outcome
from trials.plan import Plan
from trials.run import run

SUMS = Path(evals.__file__).parent / "tasks/sums/test.jsonl"
SUMS_GATE = Gate(
    task="sums",
    endpoint="completions",
    threshold=0.9,
    filters=("strict-match", "flexible-extract"),
    questions=24,
    smell=16,
    concurrency=4,
)
GATE_TOKENS = 64  # the task's own cap

Plans = Callable[..., Plan]
Answering = Callable[[str, Mapping[str, str]], tuple[str, ...]]


@pytest.fixture(scope="session")
def solutions() -> Mapping[str, str]:
    """Return the worked answer to each prompt of the gate's task."""
    rows = [json.loads(line) for line in SUMS.read_text(encoding="utf-8").splitlines()]
    return {f"Question: {row['question']}\nAnswer:": f" {row['answer']}" for row in rows}


def some_wrong(solutions: Mapping[str, str]) -> Mapping[str, str]:
    """Return the solutions with each fourth one replaced by a wrong answer in the right form."""
    return {prompt: " #### -1" if place % 4 == 0 else right for place, (prompt, right) in enumerate(solutions.items())}


@pytest.fixture
def answering(tmp_path: Path) -> Answering:
    """Return a function that gives the flags with which the fake engine gives these answers."""

    def flags(name: str, answers: Mapping[str, str]) -> tuple[str, ...]:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(answers), encoding="utf-8")
        return ("--answers", str(path))

    return flags


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plans:
    """Return a function that plans a trial of the fake engine with these flags."""
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))

    def planned(*flags: str, **varied: Any) -> Plan:  # noqa: ANN401 what `plans.plan` takes
        return plans.plan(tmp_path / "trial", *flags, **varied)

    return planned


def kept(plan: Plan) -> Outcome:
    """Run a trial; return its outcome, which is the one that its folder holds."""
    outcome = run(plan)
    assert outcomes.read(plan.folder / "outcome.json") == outcome
    return outcome


def measured(plan: Plan) -> Measured:
    """Run a trial that is measured."""
    outcome = kept(plan)
    assert isinstance(outcome, Measured), outcome
    return outcome


def infeasible(plan: Plan) -> Infeasible:
    """Run a trial that is the config's fault."""
    outcome = kept(plan)
    assert isinstance(outcome, Infeasible), outcome
    return outcome


def answers(plan: Plan) -> list[dict[str, Any]]:
    """Return the gate's answers that a trial kept."""
    return [json.loads(line) for line in (plan.folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_good_config_is_measured_at_every_point_and_judged(
    plan: Plans, answering: Answering, solutions: Mapping[str, str]
) -> None:
    trial = plan(*answering("right", solutions), gates=[SUMS_GATE])
    outcome = measured(trial)
    assert [point.concurrency for point in outcome.points] == [1, 2]
    assert {(point.input_tokens, point.output_tokens) for point in outcome.points} == {(4.0, 3.0)}
    assert all(point.total_tok_per_s == pytest.approx(point.output_tok_per_s * 7 / 3) for point in outcome.points)
    assert outcome.verdict is not None
    assert (outcome.verdict.result, outcome.verdict.asked, outcome.verdict.accuracy) == ("pass", 24, 1.0)
    assert outcome.worst is not None
    assert outcome.worst.correct == {"strict-match": (True,) * 24, "flexible-extract": (True,) * 24}
    assert list(outcome.seconds) == ["prepare", "start", "smell", "load", "judge", "stop"]


def test_a_measured_trial_keeps_its_raw_data(plan: Plans, answering: Answering, solutions: Mapping[str, str]) -> None:
    trial = plan(*answering("right", solutions), gates=[SUMS_GATE])
    outcome = measured(trial)
    assert "--token-s 0.002" in (trial.folder / "command.sh").read_text()
    assert (trial.folder / "engine.log").read_text().startswith("pid ")
    assert [answer["index"] for answer in answers(trial)] == list(range(24))
    rows = record.read(trial.folder / "requests.parquet")
    assert {(concurrency, timing.slot) for concurrency, _, timing in rows} == {(1, 0), (2, 0), (2, 1)}
    counted = [sum(c == point.concurrency and run == "measured 1" for c, run, _ in rows) for point in outcome.points]
    assert counted == [point.full_run.requests for point in outcome.points] == [4, 8]
    runs = [json.loads(line) for line in (trial.folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(run["concurrency"], run["run"]) for run in runs} == {(c, run) for c, run, _ in rows}


def test_without_a_gate_there_is_no_verdict_and_nothing_is_asked(plan: Plans) -> None:
    trial = plan()
    outcome = measured(trial)
    assert (outcome.verdict, outcome.judged) == (None, ())
    assert not (trial.folder / "answers.jsonl").exists()


def test_a_config_below_the_gate_is_measured_and_fails(
    plan: Plans, answering: Answering, solutions: Mapping[str, str]
) -> None:
    outcome = measured(plan(*answering("worse", some_wrong(solutions)), gates=[SUMS_GATE]))
    assert outcome.verdict is not None
    assert outcome.verdict.result == "fail"
    assert outcome.points


def test_garbage_is_smelled_before_any_load(plan: Plans) -> None:
    trial = plan(gates=[SUMS_GATE])
    outcome = infeasible(trial)
    assert outcome.failure == "wrong"
    assert outcome.reason.startswith("strict-match: 0 of the first 16 answers right")
    assert [answer["text"] for answer in answers(trial)] == [" word" * GATE_TOKENS] * 16
    assert not (trial.folder / "requests.parquet").exists()


def test_two_gates_on_one_task_are_smelled_each_through_its_endpoint(
    plan: Plans, answering: Answering, solutions: Mapping[str, str]
) -> None:
    by_chat = replace(SUMS_GATE, endpoint="chat")
    trial = plan(*answering("right", solutions), "--answer-chats", "!!!!", gates=[SUMS_GATE, by_chat])
    outcome = infeasible(trial)
    assert outcome.failure == "wrong"
    assert outcome.reason.startswith("strict-match: 0 of the first 16 answers right")
    assert not (trial.folder / "requests.parquet").exists()


def test_two_gates_on_one_task_are_smelled_each_with_its_questions(
    plan: Plans, answering: Answering, solutions: Mapping[str, str], tmp_path: Path
) -> None:
    others = tmp_path / "others.jsonl"
    rows = [json.loads(line) for line in SUMS.read_text(encoding="utf-8").splitlines()]
    unknown = [{**row, "question": f"Again: {row['question']}"} for row in rows]
    others.write_text("".join(f"{json.dumps(row)}\n" for row in unknown), encoding="utf-8")
    on_others = replace(SUMS_GATE, data={"test": str(others)})
    trial = plan(*answering("right", solutions), gates=[SUMS_GATE, on_others])
    assert infeasible(trial).failure == "wrong"
    assert not (trial.folder / "requests.parquet").exists()


def test_gates_that_differ_in_how_many_they_ask_at_once_are_smelled_once_and_judge_each(
    plan: Plans, answering: Answering, solutions: Mapping[str, str]
) -> None:
    trial = plan(*answering("right", solutions), gates=[SUMS_GATE, replace(SUMS_GATE, concurrency=2)])
    outcome = measured(trial)
    assert [(one.concurrency, one.verdict.result, one.verdict.asked) for one in outcome.judged] == [
        (4, "pass", 24),
        (2, "pass", 24),
    ]
    assert len(answers(trial)) == 48


@pytest.mark.parametrize(
    ("words", "failure", "reason"),
    [
        pytest.param("boom", "unknown", "exited with code 1; its last words: boom", id="unknown"),
        pytest.param(
            "llama-server: error: unrecognized arguments: --x",
            "refused",
            "llama-server: error: unrecognized arguments: --x",
            id="refused",
        ),
        pytest.param(
            "failed to initialize the context: std::bad_alloc",
            "memory",
            "failed to initialize the context: std::bad_alloc",
            id="memory",
        ),
    ],
)
def test_an_engine_that_does_not_start_says_why(plan: Plans, words: str, failure: str, reason: str) -> None:
    trial = plan("--say", words, "--exit-at-start", "1")
    outcome = infeasible(trial)
    assert (outcome.failure, outcome.reason) == (failure, reason)
    assert words in (trial.folder / "engine.log").read_text()
    assert (trial.folder / "command.sh").exists()


def test_a_context_that_cuts_the_longest_answer_is_noticed_before_any_load(plan: Plans) -> None:
    outcome = infeasible(plan("--context", "6"))
    assert (outcome.failure, outcome.reason) == (
        "refused",
        "preflight: asked for 3 tokens after 4, got 2: is the context of a slot long enough?",
    )


def test_a_context_for_the_load_but_not_for_the_gate_is_noticed_before_any_load(plan: Plans) -> None:
    outcome = infeasible(plan("--context", str(GATE_TOKENS), gates=[SUMS_GATE]))
    assert outcome.failure == "refused"
    assert f"asked for {GATE_TOKENS} tokens" in outcome.reason


def test_a_prompt_that_the_engine_refuses_is_noticed_before_any_load(plan: Plans) -> None:
    outcome = infeasible(plan("--context", "16", gates=[SUMS_GATE]))
    assert outcome.failure == "refused"
    assert "/v1/completions: HTTP 400: " in outcome.reason
    assert "tokens of a context of 16" in outcome.reason


def test_an_answer_cut_short_under_load_is_wrong(plan: Plans) -> None:
    outcome = infeasible(plan("--stream", "short"))
    assert (outcome.failure, outcome.reason) == (
        "wrong",
        "under load at concurrency 1: answered 2 of 3 tokens asked with ignore_eos",
    )


def test_an_error_under_load_is_wrong_and_quoted(plan: Plans) -> None:
    outcome = infeasible(plan("--stream", "error"))
    assert outcome.failure == "wrong"
    assert "under load at concurrency 1: error in the stream: {'message': 'out of slots'}" in outcome.reason


def test_an_engine_that_hangs_under_load_is_stuck(plan: Plans) -> None:
    outcome = infeasible(plan("--stream", "stall", request_s=1.0))
    assert (outcome.failure, outcome.reason) == (
        "stuck",
        "under load at concurrency 1: no whole answer within 1 s",
    )


def test_an_engine_whose_every_stream_stalls_is_stuck_at_once(plan: Plans) -> None:
    outcome = infeasible(plan("--stream", "stall", stall_s=0.3))
    assert (outcome.failure, outcome.reason) == ("stuck", "under load at concurrency 1: no token for 0.3 s")


def test_a_load_that_takes_too_long_is_stuck_and_keeps_its_requests(plan: Plans) -> None:
    trial = plan("--token-s", "3", load_s=2.5)
    outcome = infeasible(trial)
    message = "under load at concurrency 1: the load took longer than its 2.5 s"
    assert (outcome.failure, outcome.reason) == ("stuck", message)
    assert [timing.timed_out for _, _, timing in record.read(trial.folder / "requests.parquet")] == [True]


def test_a_load_whose_time_is_up_between_two_requests_is_stuck_too(plan: Plans) -> None:
    outcome = infeasible(plan(load_s=1e-6))
    assert outcome.failure == "stuck"
    assert re.search(r": 0 of \d+ requests: the load took longer than its \S+ s$", outcome.reason)


@pytest.mark.parametrize(
    ("answer_s", "judge_s", "reason"),
    [
        pytest.param(1.0, 0.3, "the gate's first questions took longer than its 0.3 s", id="smell"),
        pytest.param(0.1, 2.0, "the gate took longer than its 2 s", id="judge"),
    ],
)
def test_a_gate_that_takes_too_long_is_stuck_and_keeps_its_answers(
    plan: Plans,
    answering: Answering,
    solutions: Mapping[str, str],
    *,
    answer_s: float,
    judge_s: float,
    reason: str,
) -> None:
    gate = replace(SUMS_GATE, questions=200)
    trial = plan(*answering("right", solutions), "--answer-s", str(answer_s), gates=[gate], judge_s=judge_s)
    outcome = infeasible(trial)
    assert (outcome.failure, outcome.reason) == ("stuck", reason)
    assert 0 < len(answers(trial)) < gate.questions


def test_a_crash_under_load_is_told_by_its_exit_and_not_by_the_broken_stream(plan: Plans) -> None:
    outcome = infeasible(plan("--exit-on-completion", "5"))
    assert outcome.failure == "unknown"
    assert outcome.reason.startswith("killed by signal 9")


@pytest.mark.parametrize("place", [3, 20, 23])  # in the smell, in the judging, and the last question of all
def test_a_crash_at_a_question_of_the_gate_is_told_by_its_exit(
    plan: Plans, answering: Answering, solutions: Mapping[str, str], place: int
) -> None:
    deadly = load("sums", endpoint="completions").questions[place].prompt
    outcome = infeasible(plan(*answering("right", solutions), "--exit-on-prompt", deadly, gates=[SUMS_GATE]))
    assert outcome.failure == "unknown"
    assert outcome.reason.startswith("killed by signal 9")


def test_a_wrong_model_on_the_port_is_the_worlds_fault(plan: Plans) -> None:
    outcome = kept(plan("--report-model", "other"))
    assert isinstance(outcome, Lost), outcome
    assert outcome.reason.endswith(" serves other, not m")


def test_a_program_that_cannot_be_started_is_the_worlds_fault(
    plan: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "llama-server"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    trial = plan()
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(broken))
    outcome = kept(trial)
    assert isinstance(outcome, Lost), outcome
    assert outcome.reason == f"cannot start {broken}: No such file or directory"


def test_concurrencies_that_are_served_differently_have_a_launch_each(plan: Plans) -> None:
    trial = plan(
        "--say", "for one", overrides={2: Serve(args=("--say", "for two", "--token-s", "0.002"), layout={"tp": 2})}
    )
    outcome = measured(trial)
    assert [(point.concurrency, point.gpus) for point in outcome.points] == [(1, 1), (2, 2)]
    logs = [(trial.folder / f"launch-{number}/engine.log").read_text() for number in range(2)]
    assert ["for one" in log for log in logs] == [True, False]
    assert ["for two" in log for log in logs] == [False, True]
    assert {concurrency for concurrency, _, _ in record.read(trial.folder / "requests.parquet")} == {1, 2}
    assert not (trial.folder / "engine.log").exists()


def test_of_several_launches_the_worst_verdict_counts(
    plan: Plans, answering: Answering, solutions: Mapping[str, str]
) -> None:
    worse = Serve(args=("--token-s", "0.002", *answering("worse", some_wrong(solutions))))
    outcome = measured(plan(*answering("right", solutions), gates=[SUMS_GATE], overrides={1: worse}))
    assert outcome.verdict is not None
    assert outcome.verdict.result == "fail"
    assert outcome.worst is not None
    assert False in outcome.worst.correct["strict-match"]


def test_an_option_that_the_engine_ignores_is_noted_with_what_runs_instead(plan: Plans) -> None:
    says = "0.00.399.269 I cmn init: llama threadpool init, n_threads = 2"
    trial = plan("--threads", "4", "--say", says)
    assert measured(trial).mismatches == (Mismatch("--threads", "4", "2"),)
    assert json.loads((trial.folder / "effective.json").read_text(encoding="utf-8")) == {"n_threads": "2"}
