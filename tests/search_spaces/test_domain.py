"""Domains: the values they admit, and how these are read from a command line."""

from typing import Any

import pytest

from search_spaces import Choice, FloatRange, IntRange, Ordinal, Scalar


@pytest.mark.parametrize(
    ("domain", "value", "admitted"),
    [
        (IntRange(low=1, high=9, step=2), 5, 5),
        (FloatRange(low=0, high=1), 1, 1.0),
        (FloatRange(low=0.8, high=0.95, step=0.01), 0.8 + 5 * 0.01, 0.85),
        (Choice((0.9, 1.0)), 1, 1.0),
        (Choice(("unset", "1")), "1", "1"),
    ],
)
def test_a_value_is_admitted_in_the_form_of_its_domain(domain: Any, value: Scalar, admitted: Scalar) -> None:  # noqa: ANN401
    result = domain.admit(value)
    assert result == admitted
    assert type(result) is type(admitted)


@pytest.mark.parametrize(
    ("domain", "value", "message"),
    [
        (IntRange(low=1, high=9, step=2), 4, "4 is not a whole number of 1..9 in steps of 2"),
        (IntRange(low=1, high=9), 10, "10 is not a whole number of 1..9"),
        (IntRange(low=0, high=9), True, "True is not a whole number of 0..9"),
        (IntRange(low=0, high=9), 1.0, "1.0 is not a whole number of 0..9"),
        (FloatRange(low=0, high=1), "x", "'x' is not a number of 0.0..1.0"),
        (FloatRange(low=0, high=1, step=0.5), 0.6, "0.6 is not a number of 0.0..1.0 in steps of 0.5"),
        (Choice(("f16", "q8_0")), "q8_o", "'q8_o' is not one of f16, q8_0; did you mean 'q8_0'?"),
        (Choice(("unset", "0", "1")), 1, "1 is not one of unset, 0, 1; quote it: '1'"),
        (Choice((1, 2)), True, "True is not one of 1, 2"),
    ],
)
def test_a_value_outside_the_domain_is_refused(domain: Any, value: Scalar, message: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="is not") as caught:
        domain.admit(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("domain", "text", "value"),
    [
        (IntRange(low=-4, high=4), "-3", -3),
        (FloatRange(low=0, high=1), "0.5", 0.5),
        (Choice(("0", "1")), "1", "1"),
        (Choice((0, 1)), "1", 1),
        (Choice((False, True)), "true", True),
        (Ordinal(("unset", 8)), "unset", "unset"),
    ],
)
def test_a_value_is_read_from_text_with_its_type(domain: Any, text: str, value: Scalar) -> None:  # noqa: ANN401
    result = domain.read(text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("domain", "text"), [(IntRange(low=1, high=4), "two"), (FloatRange(low=0, high=1), "half"), (Choice((1, 2)), "3")]
)
def test_text_that_names_no_value_is_refused(domain: Any, text: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=f"'{text}' is not"):
        domain.read(text)
