"""A gate that asks for more than the engine serves: known in seconds, from one request, in the engine's own words."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evals import Endpoint, Gate
from evals.harness import load
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials.outcome import Infeasible, Measured
from trials.run import run

ENDPOINTS: tuple[Endpoint, ...] = ("completions", "chat")
SERVED, ASKED = 9472, 12288  # the lengths of SemiAnalysisAI/InferenceX#2247, where 4,203 requests were sent again
BUDGET = 5376  # what InferenceX derives from 9,472
SERVING = ("--context", str(SERVED), "--strict", "--say-each", "asked for {max_tokens}")
SUMS = Gate(
    task="sums",
    endpoint="completions",
    threshold=0.9,
    filters=("strict-match", "flexible-extract"),
    questions=24,
    concurrency=4,
)


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake engine be the one that is found."""
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))


def right_answers(endpoint: Endpoint, folder: Path) -> Path:
    """Write the answer to each question of the gate."""
    exam = load("sums", endpoint=endpoint)
    prompts = [each.prompt if isinstance(each.prompt, str) else each.prompt[-1].content for each in exam.questions]
    solutions = {prompt: exam.solution(place)[1] for place, prompt in enumerate(prompts)}
    path = folder / "answers.json"
    path.write_text(json.dumps(solutions), encoding="utf-8")
    return path


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_budget_beyond_the_context_ends_in_seconds_with_the_engines_words(tmp_path: Path, endpoint: Endpoint) -> None:
    gate = replace(SUMS, endpoint=endpoint, max_tokens=ASKED)
    outcome = run(plans.plan(tmp_path / "trial", *SERVING, gates=[gate]))
    assert isinstance(outcome, Infeasible), outcome
    assert outcome.failure == "refused"
    assert f"maximum context length is {SERVED} tokens. However, you requested {ASKED} output tokens" in outcome.reason
    assert sum(outcome.seconds.values()) < 10
    log = (tmp_path / "trial" / "engine.log").read_text(encoding="utf-8")
    assert log.count(f"asked for {ASKED}") == 1
    assert not (tmp_path / "trial" / "answers.jsonl").exists()


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_budget_left_open_is_derived_from_what_is_served(tmp_path: Path, endpoint: Endpoint) -> None:
    answers, gate = right_answers(endpoint, tmp_path), replace(SUMS, endpoint=endpoint)
    outcome = run(plans.plan(tmp_path / "trial", *SERVING, "--answers", str(answers), gates=[gate]))
    assert isinstance(outcome, Measured), outcome
    assert outcome.verdict is not None
    assert (outcome.verdict.result, outcome.verdict.protocol.max_tokens) == ("pass", BUDGET)
    assert (outcome.verdict.protocol.identity.endpoint, outcome.verdict.protocol.context) == (endpoint, SERVED)
