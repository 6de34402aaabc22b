"""Servers that lie, cache, stall, refuse, reset, tire or answer wrong: what a trial makes of each, load and gate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals import Answer, Gate, Request, judge
from evals.harness import load
from search_spaces import Workload
from search_spaces.fields import File
from search_spaces.workload import SharedPrefix, Trace
from tests.fakes import plans
from tests.fakes.bench import solutions
from tests.fakes.running import ENGINE
from trials.load import record
from trials.load.timing import RequestTiming
from trials.outcome import Infeasible, Lost, Measured, Outcome
from trials.plan import Plan
from trials.run import run

WORKLOAD = Workload(
    input_tokens=40,
    output_tokens=3,
    concurrency=(2,),
    waves=4,
    warmup_waves=1,
    window_sd={2: 10.0},  # any two warm-up runs are alike: there are two, of two requests each
)
GATE = Gate(
    task="sums",
    endpoint="completions",
    threshold=0.9,
    filters=("strict-match", "flexible-extract"),
    questions=24,
    smell=16,
    concurrency=4,
)
BEFORE_LOAD = 2  # completions: one shows that the engine is ready, one is the preflight
BEFORE_MEASURED = BEFORE_LOAD + 4
WRONG = " #### -1"  # no answer is negative
UNDER_LOAD = "under load at concurrency 2: "


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake engine be the one that is found."""
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))


def planned(
    folder: Path,
    *flags: str,
    gates: Sequence[Gate] = (),
    request_s: float = 30.0,
    stall_s: float = 20.0,
    **varied: Any,  # noqa: ANN401 fields of the workload
) -> Plan:
    """Return the plan of a trial of the fake engine with these flags."""
    workload = WORKLOAD.model_copy(update=varied)
    return plans.plan(folder / "trial", *flags, gates=gates, workload=workload, request_s=request_s, stall_s=stall_s)


def infeasible(outcome: Outcome) -> Infeasible:
    """Check that a trial is the config's fault."""
    assert isinstance(outcome, Infeasible), outcome
    return outcome


def measured(outcome: Outcome) -> Measured:
    """Check that a trial was measured."""
    assert isinstance(outcome, Measured), outcome
    return outcome


def lost(outcome: Outcome) -> Lost:
    """Check that a trial is the world's fault."""
    assert isinstance(outcome, Lost), outcome
    return outcome


def timings(folder: Path, run_name: str) -> list[RequestTiming]:
    """Return the requests of one run of a trial."""
    rows = record.read(folder / "trial" / "requests.parquet")
    return [timing for _, name, timing in rows if name == run_name]


def log(folder: Path) -> str:
    """Return what the engine of a trial said."""
    return (folder / "trial" / "engine.log").read_text(encoding="utf-8")


def answering(folder: Path, answers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the flags with which the fake engine gives these answers."""
    path = folder / "answers.json"
    path.write_text(json.dumps(answers), encoding="utf-8")
    return ("--answers", str(path))


def some_wrong() -> Mapping[str, str]:
    """Return the answer to each question of the gate, each fourth one wrong."""
    return {prompt: WRONG if at % 4 == 0 else right for at, (prompt, right) in enumerate(solutions().items())}


def test_a_server_that_counts_fewer_tokens_than_it_tells_is_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--metrics", "--uncounted", "-1")))
    said = "the server counted 16 tokens and its answers have 24, -33.3% and over 0.5% apart: its usage is wrong"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_a_server_that_sends_more_than_it_tells_is_wrong_though_it_has_no_counters(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--uncounted", "3")))
    said = "an answer had 3 chunks more than the tokens its usage counts, over 2"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_a_server_that_tells_no_usage_is_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--stream", "no-usage")))
    assert outcome.failure == "wrong"
    assert f"{UNDER_LOAD}the stream ended without usage" in outcome.reason


def test_a_server_that_counts_other_prompts_than_were_sent_is_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--added", "8", token_ids=(1000, 9999))))
    said = "sent 40 ids and the server counted 48 prompt tokens, more than 2 apart (2 of 2 requests)"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_a_server_that_cuts_prompts_of_text_is_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--added", "-8")))
    said = "prompts of 40.0 words on average are 32.0 tokens to the server: it cuts them"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_a_server_that_somebody_else_uses_measures_nothing(tmp_path: Path) -> None:
    outcome = lost(run(planned(tmp_path, "--metrics", "--miscount", "1")))
    said = "the server counted 32 tokens and its answers have 24, +33.3% and over 0.5% apart: somebody else uses it"
    assert outcome.reason == f"{UNDER_LOAD}{said}"


@pytest.mark.parametrize("told", [("--metrics",), ()], ids=["by its counters", "by its usage"])
def test_a_server_that_has_cached_what_no_two_requests_share_is_wrong(tmp_path: Path, told: tuple[str, ...]) -> None:
    outcome = infeasible(run(planned(tmp_path, *told, "--cached", "32")))
    said = "80.0% of the prompts' tokens came from the prefix cache, over 5.0%: the load means 0.0%"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


IN_SHAPE: Mapping[str, Any] = {"input_tokens": None, "output_tokens": None}
PREFIX = SharedPrefix(kind="shared_prefix", prefix_tokens=80, input_tokens=20, output_tokens=3)
SHAPES: Mapping[str, tuple[Mapping[str, Any], float]] = {
    "nothing of text that no two requests share": ({}, 0.0),
    "nothing of ids that no two requests share": ({"token_ids": (1000, 9999)}, 0.0),
    "a shared prefix": ({"listed_shape": PREFIX, **IN_SHAPE}, 0.8),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("told", [("--metrics",), ()], ids=["by its counters", "by its usage"])
def test_a_server_that_really_caches_finds_what_the_load_means(
    tmp_path: Path, shape: str, told: tuple[str, ...]
) -> None:
    varied, share = SHAPES[shape]
    point = measured(run(planned(tmp_path, *told, "--prefix-cache", **varied))).points[0]
    assert point.prefix_hit_share == pytest.approx(share, abs=0.005)


def test_a_server_that_really_caches_knows_of_a_conversation_what_was_sent_before(tmp_path: Path) -> None:
    turns = [{"input_tokens": 60, "output_tokens": 3}, {"input_tokens": 20, "output_tokens": 3}]
    (tmp_path / "trace.jsonl").write_text(f"{json.dumps({'turns': turns})}\n", encoding="utf-8")
    trace = Trace(kind="trace", file=File(space="trace.jsonl"))
    point = measured(run(planned(tmp_path, "--prefix-cache", listed_shape=trace, **IN_SHAPE))).points[0]
    assert point.prefix_hit_share == pytest.approx(60 / (60 + 83), abs=0.005)


def test_a_stream_that_stands_still_while_others_go_on_is_wrong(tmp_path: Path) -> None:
    flags = ("--token-s", "0.02", "--pause", "20", "1.0")
    outcome = infeasible(run(planned(tmp_path, *flags, waves=16, stall_s=0.5)))
    assert outcome.failure == "wrong"
    assert f"{UNDER_LOAD}one stream stood still for 1" in outcome.reason
    assert {timing.error for timing in timings(tmp_path, "measured 2")} == {None}


def test_a_stream_that_never_goes_on_is_not_waited_for_while_others_do(tmp_path: Path) -> None:
    flags = ("--token-s", "0.02", "--pause", "20", "600")
    outcome = infeasible(run(planned(tmp_path, *flags, waves=16, request_s=1.0)))
    assert (outcome.failure, outcome.reason) == ("stuck", f"{UNDER_LOAD}no whole answer within 1 s")


def test_a_server_that_is_too_busy_for_the_load_is_refused_and_not_asked_again(tmp_path: Path) -> None:
    flags = ("--busy-after", str(BEFORE_LOAD), "--busy", "1000", "--say-each", "asked")
    outcome = infeasible(run(planned(tmp_path, *flags, warmup_waves=4)))
    assert outcome.failure == "refused"
    assert outcome.reason.startswith(f'{UNDER_LOAD}HTTP 429: {{"error": {{"message": "busy"}}}}')
    assert log(tmp_path).count("asked") <= BEFORE_LOAD + 2


def test_a_burst_of_429_voids_a_run_which_is_measured_once_more(tmp_path: Path) -> None:
    outcome = measured(run(planned(tmp_path, "--busy-after", str(BEFORE_MEASURED + 2), "--busy", "1")))
    refused = [timing for timing in timings(tmp_path, "measured 1") if timing.error]
    assert [timing.refused for timing in refused] == [True]
    assert outcome.points[0].full_run.requests == len(timings(tmp_path, "measured 2")) == 8


def test_a_burst_of_429_costs_a_gate_time_and_no_answer(tmp_path: Path) -> None:
    flags = ("--busy-after", str(BEFORE_LOAD + 1), "--busy", "5", *answering(tmp_path, solutions()))
    verdict = measured(run(planned(tmp_path, *flags, gates=[GATE]))).verdict
    assert verdict is not None
    assert (verdict.result, verdict.asked, verdict.retries, verdict.http_errors) == ("pass", 24, 5, 0)


def test_a_dropped_keep_alive_is_sent_again_recorded_and_measured(tmp_path: Path) -> None:
    outcome = measured(run(planned(tmp_path, "--token-s", "0.01", "--hang-up", "reused")))
    sent = timings(tmp_path, "measured 1")
    assert [timing.error for timing in sent] == [None] * 8
    assert [timing.resent for timing in sent].count(True) == 6
    assert outcome.points[0].full_run.requests == 8


def test_twenty_tokens_a_chunk_have_a_time_per_token_and_no_time_between_tokens(tmp_path: Path) -> None:
    point = measured(run(planned(tmp_path, "--chunk", "20", output_tokens=40))).points[0]
    assert (point.tokens_per_chunk, point.itl_ms) == (20.0, None)
    assert point.chunk_interval_ms is not None
    assert point.tpot_ms.p50 == pytest.approx(point.chunk_interval_ms.p50 / 39)


def test_a_server_that_does_not_stream_has_no_time_per_token(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--chunk", "3")))
    said = "every answer came at one moment: there is no time per token; the server must stream"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_answers_without_a_letter_are_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--word", "")))
    assert (outcome.failure, outcome.reason) == (
        "wrong",
        f"{UNDER_LOAD}100.0% of the answers had no visible content, over 1%",
    )


def test_garbage_that_comes_fast_and_with_http_200_is_smelled_before_any_load(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--token-s", "0", "--answer-all", "!!!!", gates=[GATE])))
    assert outcome.failure == "wrong"
    assert outcome.reason.startswith("strict-match: 0 of the first 16 answers right")
    assert not (tmp_path / "trial" / "requests.parquet").exists()


def test_garbage_faster_than_any_engine_is_no_measurement_even_without_a_gate(tmp_path: Path) -> None:
    flags = ("--token-s", "0", "--word", "!", "--chunk", "1000")
    outcome = infeasible(run(planned(tmp_path, *flags, output_tokens=10_000)))
    assert outcome.failure == "wrong"
    assert outcome.reason.startswith(f"{UNDER_LOAD}an answer comes at ")
    assert "over 20,000: no engine writes so fast" in outcome.reason


def test_answers_that_are_cut_under_load_are_wrong(tmp_path: Path) -> None:
    outcome = infeasible(run(planned(tmp_path, "--stream", "short")))
    said = "answered 2 of 3 tokens asked with ignore_eos (2 of 2 requests)"
    assert (outcome.failure, outcome.reason) == ("wrong", f"{UNDER_LOAD}{said}")


def test_answers_that_are_cut_before_the_gate_make_its_verdict_invalid(tmp_path: Path) -> None:
    outcome = measured(run(planned(tmp_path, "--cut", "12", *answering(tmp_path, solutions()), gates=[GATE])))
    assert outcome.verdict is not None
    assert outcome.verdict.result == "invalid"
    assert "truncated" in outcome.verdict.reasons[0]
    assert 0 < outcome.verdict.truncated < outcome.verdict.asked


def test_wrong_answers_that_come_late_do_not_fool_a_gate_that_may_stop_early(tmp_path: Path) -> None:
    gate = replace(GATE, questions=200, concurrency=32, early=True)
    answers, exam = some_wrong(), load("sums", endpoint="completions")
    flags = ("--slow-answer", WRONG, "0.3", *answering(tmp_path, answers))
    outcome = measured(run(planned(tmp_path, *flags, gates=[gate])))

    def at_once(request: Request) -> Answer:
        return Answer(text=answers[str(request.prompt)], finish_reason="stop", completion_tokens=1)

    fair, _ = judge(at_once, gate, exam)
    assert outcome.worst is not None
    assert outcome.worst.correct["strict-match"] == tuple(
        answers[str(question.prompt)] != WRONG for question in exam.questions[: fair.asked]
    )
    assert (outcome.worst.verdict.result, outcome.worst.verdict.reached) == (fair.result, fair.reached)
    assert (fair.result, fair.reached) == ("fail", "sequential")


def test_an_engine_that_tires_has_no_rate(tmp_path: Path) -> None:
    outcome = lost(run(planned(tmp_path, "--tire", "0.0005", waves=16)))
    assert outcome.reason.startswith(f"{UNDER_LOAD}tok/s changed by -")
    assert "the engine or its host was unsteady" in outcome.reason
