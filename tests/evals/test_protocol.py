"""When two verdicts may be compared, and how long an answer may be."""

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from evals.exam import Identity
from evals.protocol import EvalProtocol, output_budget

IDENTITY = Identity(
    task="gsm8k",
    evaluator="lm-eval 0.4.13",
    endpoint="chat",
    task_sha256="a" * 64,
    questions_sha256="b" * 64,
    questions=1319,
    order="gate-order-1",
    fewshot_seed=1234,
)
PROTOCOL = EvalProtocol(identity=IDENTITY, max_tokens=5376, context=9472)


@pytest.mark.parametrize(
    ("context", "budget"),
    [(16384, 12288), (9472, 5376), (8192, 4096), (4097, 1), (4096, 2048), (512, 256), (32768, 16384), (262144, 16384)],
)
def test_the_budget_is_that_of_inferencex(context: int, budget: int) -> None:
    assert output_budget(context) == budget


@pytest.mark.parametrize("context", range(1, 30000, 997))
def test_the_budget_always_fits_the_context(context: int) -> None:
    assert 1 <= output_budget(context) <= max(1, context - 1)


def test_a_longer_context_is_the_same_protocol() -> None:
    longer = replace(PROTOCOL, context=32768)
    assert longer == PROTOCOL
    assert PROTOCOL.difference(longer) is None


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(PROTOCOL, max_tokens=12288), "max_tokens is 5376, not 12288"),
        (replace(PROTOCOL, identity=replace(IDENTITY, endpoint="completions")), "endpoint is chat, not completions"),
        (
            replace(PROTOCOL, identity=replace(IDENTITY, evaluator="lm-eval 0.4.9", fewshot_seed=1)),
            "evaluator is lm-eval 0.4.13, not lm-eval 0.4.9; fewshot_seed is 1234, not 1",
        ),
        (replace(PROTOCOL, identity=replace(IDENTITY, questions_sha256="c" * 64)), "questions_sha256 is"),
    ],
)
def test_any_other_difference_is_another_protocol(other: EvalProtocol, said: str) -> None:
    assert other != PROTOCOL
    assert said in (PROTOCOL.difference(other) or "")


def test_a_protocol_survives_json() -> None:
    every = TypeAdapter(EvalProtocol)
    again = every.validate_json(every.dump_json(PROTOCOL))
    assert (again, again.context) == (PROTOCOL, 9472)
