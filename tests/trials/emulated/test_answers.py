"""What the emulated engine answers: right as often as its landscape says, whatever the order of the questions."""

import json
from pathlib import Path

import pytest

from trials.engines.emulated.answers import Answers, Solutions, count, filler, read_solutions, spoken
from trials.engines.emulated.failures import accuracy
from trials.engines.emulated.landscape import load

L0 = load("L0")
SOLUTION = "She has 16 - 3 = <<16-3=13>>13 left.\n#### 13"


def many(number: int) -> Solutions:
    """Return so many questions."""
    return Solutions({f"How much is {n} and 1?": f"One more than {n}.\n#### {n + 1:,}" for n in range(number)})


def test_a_config_is_right_as_often_as_its_landscape_says() -> None:
    for config in (L0.baseline, L0.baseline._replace(qr="INT4"), L0.baseline._replace(bypass=1, mxint=1)):
        answers = Answers(L0, config, many(4000))
        right = sum(answers.right(question) for question in answers.solutions.texts) / 4000
        assert right == pytest.approx(accuracy(L0, config), abs=0.01)


def test_a_right_answer_is_the_solution_and_a_wrong_one_ends_in_another_number() -> None:
    answers = Answers(L0, L0.baseline._replace(qr="INT4"), many(500))
    for question, solution in answers.solutions.texts.items():
        said = answers.text(f"Question: {question}\nAnswer:")
        reasoning, mark, number = said.rpartition("#### ")
        assert mark
        assert (said == solution) == answers.right(question)
        if said != solution:
            assert solution.startswith(reasoning)
            assert int(number) != int(solution.rpartition("#### ")[2].replace(",", ""))


def test_the_last_question_of_a_prompt_is_answered() -> None:
    solutions = Solutions({"How many eggs are left?": SOLUTION, "How many eggs?": "#### 1"})
    shots = "Question: How many eggs?\nAnswer: Three.\n#### 3\n\n"
    asked = [
        shots + "Question: How many eggs are left?\nAnswer:",
        "How many eggs  are left?",
        "Think. How many eggs are left? Say only a number.",
    ]
    for prompt in asked:
        found = solutions.find(prompt)
        assert found is not None
        assert found[1] == SOLUTION


def test_a_question_that_nobody_knows_gets_some_number_and_always_the_same() -> None:
    answers = Answers(L0, L0.baseline)
    assert answers.text("What is it?") == answers.text("What is it?")
    assert answers.text("What is it?").startswith("#### ")


def test_solutions_are_read_from_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": "How  many?", "answer": SOLUTION}) + "\n")
    assert read_solutions(path).texts == {"How many?": SOLUTION}
    path.write_text('{"question": "How many?"}\n')
    with pytest.raises(ValueError, match="line 1: no question with its answer"):
        read_solutions(path)


def test_an_answer_ends_at_a_stop_text_or_where_it_must() -> None:
    whole = spoken("One two three.", most=9, stops=())
    assert (whole.piece(0, 9), whole.tokens, whole.finish) == ("One two three.", 3, "stop")
    assert spoken("One two three.", most=2, stops=()).finish == "length"
    assert spoken("One two. Question: three", most=9, stops=("Question:",)).piece(0, 9) == "One two."
    assert spoken("", most=9, stops=()).tokens == 1


def test_filler_is_as_long_as_asked() -> None:
    assert count(filler(64).piece(0, 64)) == 64
    assert filler(64).piece(0, 1) == " tok"
