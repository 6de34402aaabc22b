"""The demo's word problems."""

import re
from pathlib import Path

import pytest

import evals
from evals.problems import KINDS, Problem, Step, jsonl, problems

TASK = Path(evals.__file__).parent / "tasks" / "sums"
STEP = re.compile(r"(\d+) ([-+*/]) (\d+) = (\d+)")


def test_the_shipped_questions_are_those_of_their_seed() -> None:
    assert (TASK / "test.jsonl").read_text(encoding="utf-8") == jsonl(problems(seed=400, count=400))


def test_a_seed_gives_the_same_problems_and_another_gives_others() -> None:
    assert problems(1, 50) == problems(1, 50)
    assert problems(1, 50) == problems(1, 80)[:50]
    assert not {each.question for each in problems(1, 50)} & {each.question for each in problems(2, 50)}


def test_no_question_is_asked_twice() -> None:
    assert len({each.question for each in problems(3, 2000)}) == 2000


@pytest.mark.parametrize("seed", range(3))
def test_every_step_of_the_working_is_right_and_leads_to_the_answer(seed: int) -> None:
    for problem in problems(seed, 300):
        working, answer = problem.answer.split("\n#### ")
        steps = [Step(int(left), sign, int(right)) for left, sign, right, _ in STEP.findall(working)]
        assert ". ".join(map(str, steps)) == working
        assert steps[-1].value == int(answer)
        assert int(answer) >= 0


def test_divisions_leave_no_rest() -> None:
    for problem in problems(5, 500):
        for left, sign, right, _ in STEP.findall(problem.answer):
            assert sign != "/" or int(left) % int(right) == 0


def test_the_working_never_uses_a_number_that_is_not_given_or_found() -> None:
    for problem in problems(6, 300):
        known = set(re.findall(r"\d+", problem.question))
        for left, _, right, value in STEP.findall(problem.answer):
            assert {left, right} <= known
            known.add(value)


def test_every_kind_is_asked() -> None:
    shapes = {re.sub(r"\d+", "N", problem.answer) for problem in problems(7, 400)}
    assert len(shapes) == len(KINDS)


def test_problems_are_written_as_gsm8k_writes_them() -> None:
    assert jsonl([Problem("How many?", "1 + 1 = 2\n#### 2")]) == (
        '{"question": "How many?", "answer": "1 + 1 = 2\\n#### 2"}\n'
    )
