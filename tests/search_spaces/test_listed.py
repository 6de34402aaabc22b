"""Files that list the sessions of a workload: what is read, what is refused with its line, and the one shipped."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import search_spaces
from search_spaces import Conversation, ListedPrompt, SpaceError, Turn, read_conversations, read_prompts

SHIPPED = Path(search_spaces.__file__).parent / "demo/agentic.jsonl"


def agentic() -> list[dict[str, Any]]:
    """Draw the sessions of the demo's trace."""
    draw = random.Random(0)  # noqa: S311 a load, not a secret

    def turn(place: int) -> dict[str, float]:
        lengths: dict[str, float] = {
            "input_tokens": draw.randint(20, 80) if place else draw.randint(200, 400),
            "output_tokens": draw.randint(16, 48),
        }
        return {**lengths, "pause_s": round(draw.uniform(0.0, 0.3), 2)} if place else lengths

    return [{"turns": [turn(place) for place in range(draw.randint(3, 6))]} for _ in range(32)]


def write(path: Path, text: str) -> Path:
    """Write a file and return where it is."""
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_trace_is_what_its_generator_draws() -> None:
    assert [json.loads(line) for line in SHIPPED.read_text(encoding="utf-8").splitlines()] == agentic()
    assert list(read_conversations(SHIPPED)) == [Conversation.model_validate(one) for one in agentic()]


def test_every_session_of_the_shipped_trace_fits_a_slot_of_the_demo() -> None:
    lengths = [sum(t.input_tokens + t.output_tokens for t in one.turns) for one in read_conversations(SHIPPED)]
    assert max(lengths) < 1024


def test_a_session_is_its_turns_and_blank_lines_are_none(tmp_path: Path) -> None:
    line = (
        '{"turns": [{"input_tokens": 9, "output_tokens": 3}, {"input_tokens": 2, "output_tokens": 1, "pause_s": 0.5}]}'
    )
    path = write(tmp_path / "a.jsonl", f"{line}\n\r\n{line}\r\n\n")
    turns = (Turn(input_tokens=9, output_tokens=3), Turn(input_tokens=2, output_tokens=1, pause_s=0.5))
    assert read_conversations(path) == (Conversation(turns=turns),) * 2


def test_a_prompt_may_hold_any_letter(tmp_path: Path) -> None:
    text = "one\ntwo\u2028three"
    path = write(tmp_path / "a.jsonl", json.dumps({"prompt": text, "output_tokens": 4}, ensure_ascii=False))
    assert read_prompts(path) == (ListedPrompt(prompt=text, output_tokens=4),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.jsonl: is empty; write one JSON object a line"),
        ('{"turns": []}', "a.jsonl: line 1: turns: []: tuple should have at least 1 item"),
        ('\n{"turns": [{"input_tokens": 1}]}', "a.jsonl: line 2: turns[0]: missing key 'output_tokens'"),
        (
            '{"turns": [{"input_tokens": 1, "output_tokens": 1, "pause": 2}]}',
            "a.jsonl: line 1: turns[0]: unknown key 'pause'; did you mean 'pause_s'?",
        ),
        (
            '{"turns": [{"input_tokens": 1, "output_tokens": 1, "pause_s": -1}]}',
            "a.jsonl: line 1: turns[0].pause_s: -1: input should be greater than or equal to 0",
        ),
        ('{"turns": [', "a.jsonl: line 1: is no JSON: Expecting value at column 12"),
        ("[]", "a.jsonl: line 1: []: input should be a valid dictionary"),
    ],
)
def test_a_line_that_is_no_session_is_told_with_its_number(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        read_conversations(write(tmp_path / "a.jsonl", content))
    assert str(caught.value).startswith(message)


def test_all_that_is_wrong_with_a_line_is_told_together(tmp_path: Path) -> None:
    with pytest.raises(SpaceError) as caught:
        read_prompts(write(tmp_path / "a.jsonl", '{"prompt": "", "output_tokens": 0}'))
    assert [line.partition(": input")[0].partition(": string")[0] for line in str(caught.value).splitlines()] == [
        "a.jsonl: line 1: prompt: ''",
        "a.jsonl: line 1: output_tokens: 0",
    ]


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"gone\.jsonl: cannot be read: No such file or directory"):
        read_prompts(tmp_path / "gone.jsonl")
    (tmp_path / "a.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(SpaceError, match=r"a\.jsonl: is no UTF-8 text: invalid start byte"):
        read_prompts(tmp_path / "a.jsonl")
