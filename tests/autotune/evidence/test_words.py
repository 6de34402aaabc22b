"""The catalogue: every sentence in both languages, with the same things filled in."""

from string import Formatter

import pytest

from autotune.compare import Result
from autotune.evidence.words import CHINESE, ENGLISH, catalogue, said


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", list(catalogue()))
def test_a_sentence_is_there_in_both_languages_with_the_same_values(key: str) -> None:
    both = catalogue()[key]
    assert set(both) == {"en", "zh"}
    assert fields(both["zh"]) <= fields(both["en"]) | {"heading"}
    assert both["zh"].strip()
    assert "  " not in both["zh"]


@pytest.mark.parametrize("result", [*Result.__args__, "no candidate"])  # type: ignore[attr-defined]  # of a Literal
def test_every_result_has_its_sentence(result: str) -> None:
    assert ENGLISH(said(result, number=3))
    assert CHINESE(said(result, number=3)) != ENGLISH(said(result, number=3))


def test_a_sentence_in_a_sentence_is_told_in_the_same_language() -> None:
    tasks = tuple(said("gate of", task=task, threshold="0.9") for task in ("gsm8k", "sums"))
    assert ENGLISH(said("gates", tasks=tasks)).startswith("gsm8k: at least 0.9 on every filter; sums: at least")
    assert CHINESE(said("gates", tasks=tasks)).startswith(CHINESE(tasks[0]))


def test_a_sentence_that_lacks_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        ENGLISH(said("win"))
