"""A gate that asks for more than the engine serves: known in seconds, from one request, in the engine's own words."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import evals
from evals import Gate
from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials.outcome import Infeasible, Measured
from trials.run import run

QUESTIONS = Path(evals.__file__).parent / "tasks/sums/test.jsonl"
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


def right_answers(folder: Path) -> Path:
    """Write the answer to each question of the gate."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    solutions: Mapping[str, str] = {f"Question: {row['question']}\nAnswer:": row["answer"] for row in rows}
    path = folder / "answers.json"
    path.write_text(json.dumps(solutions), encoding="utf-8")
    return path


def test_a_budget_beyond_the_context_ends_in_seconds_with_the_engines_words(tmp_path: Path) -> None:
    gate = replace(SUMS, max_tokens=ASKED)
    outcome = run(plans.plan(tmp_path / "trial", *SERVING, gate=gate))
    assert isinstance(outcome, Infeasible), outcome
    assert outcome.failure == "refused"
    assert f"maximum context length is {SERVED} tokens. However, you requested {ASKED} output tokens" in outcome.reason
    assert sum(outcome.seconds.values()) < 10
    log = (tmp_path / "trial" / "engine.log").read_text(encoding="utf-8")
    assert log.count(f"asked for {ASKED}") == 1
    assert not (tmp_path / "trial" / "answers.jsonl").exists()


def test_a_budget_left_open_is_derived_from_what_is_served(tmp_path: Path) -> None:
    outcome = run(plans.plan(tmp_path / "trial", *SERVING, "--answers", str(right_answers(tmp_path)), gate=SUMS))
    assert isinstance(outcome, Measured), outcome
    assert outcome.verdict is not None
    assert (outcome.verdict.result, outcome.verdict.protocol.max_tokens) == ("pass", BUDGET)
    assert outcome.verdict.protocol.context == SERVED
