"""Messages that help: the nearest name, or the names there are."""

import pytest

from search_spaces.errors import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("max_num_seq", ["max_num_seqs", "tp"], "; did you mean 'max_num_seqs'?"),
        ("x", ["max_num_seqs", "tp"], "; known: max_num_seqs, tp"),
        ("x", [], ""),
    ],
)
def test_the_nearest_name_is_offered_or_all_of_them(name: str, known: list[str], hint: str) -> None:
    assert nearest(name, known) == hint


def test_nothing_is_offered_where_the_values_were_listed_already() -> None:
    assert did_you_mean("x", ["max_num_seqs", "tp"]) == ""
