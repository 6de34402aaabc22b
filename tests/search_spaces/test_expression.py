"""Expressions and conditions: what they are worth, and what cannot be read."""

import pytest

from search_spaces.expression import (
    ExpressionError,
    Scalar,
    evaluate,
    expression_words,
    holds,
    parse_condition,
    parse_expression,
    plain,
    plain_condition,
    references,
    words,
)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"floor_div": [254, 8]}, 31),
        ({"floor_div": [257, 8]}, 32),
        ({"div": [254, 8]}, 31.75),
        ({"div": [256, 8]}, 32),
        ({"mul": [2, "$concurrency"]}, 128),
        ({"mul": [2, 3, 4]}, 24),
        ({"add": [1, "$tp"]}, 9),
        ({"sub": ["$tp", 1]}, 7),
        ({"min": [512, "$concurrency"]}, 64),
        ({"max": [512, "$concurrency"]}, 512),
        ({"round_down": [250, 16]}, 240),
        ({"round_down": [{"floor_div": [1000, 3]}, 64]}, 320),
        ({"lookup": ["$tp", [4, 1], [8, 2.5]]}, 2.5),
        ({"lookup": ["$tp", [8.0, "$concurrency"], [True, 0]]}, 64),
        ({"lookup": [True, [1, "one"], [True, "true"]]}, "true"),
        ({"mul": [3, {"lookup": ["word", ["word", {"add": ["$tp", 1]}]]}]}, 27),
        ("$tp", 8),
        ("word", "word"),
        (True, True),
    ],
)
def test_an_expression_has_the_value_of_its_arithmetic(written: object, value: Scalar) -> None:
    result = evaluate(parse_expression(written), {"tp": 8, "concurrency": 64})
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"floor_div": [254, "$zero"]}, "floor_div [254, 0] divides by zero"),
        ({"div": [1, 0]}, "div [1, 0] divides by zero"),
        ({"round_down": [1, 0]}, "round_down [1, 0] divides by zero"),
        ("$tpp", "unknown name $tpp; did you mean 'tp'?"),
        ({"mul": [2, "$word"]}, "mul needs numbers, not 'unset'"),
        ({"mul": [2, True]}, "mul needs numbers, not True"),
        ({"lookup": ["$tp", [4, 1], [True, 2]]}, "lookup has no row for 8; it has 4, true"),
        ({"lookup": ["$tp", [8, "$tpp"]]}, "unknown name $tpp; did you mean 'tp'?"),
    ],
)
def test_an_expression_without_a_value_says_why(written: object, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(parse_expression(written), {"tp": 8, "zero": 0, "word": "unset"})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"floordiv": [1, 2]}, "unknown operator 'floordiv'; did you mean 'floor_div'?"),
        ({"mul": [1], "div": [1, 2]}, "an expression has one operator, not 2"),
        ({"div": [1, 2, 3]}, "div takes two operands, not 3"),
        ({"max": []}, "max takes at least one operand"),
        ({"max": 3}, "max takes a list of operands"),
        ({"lookup": ["$tp"]}, "lookup takes what is looked up, then rows: [key, value]"),
        ({"lookup": ["$tp", {"8": 1}]}, "a row of lookup is [key, value], not {'8': 1}"),
        ({"lookup": ["$tp", [8, 1, 2]]}, "a row of lookup is [key, value], not [8, 1, 2]"),
        ({"lookup": ["$tp", [0, 1], [8, 2], [0.0, 3]]}, "lookup has two rows for 0.0"),
        ({"lookup": ["$tp", [[8], 1]]}, "[8] is no value; write a number, a word, true or false"),
        ("$", "'$' is no reference; write $name"),
        ("${weights}", "'${weights}' is no reference; write $name"),
        (None, "null is no value; write a number, a word, true or false"),
        ([1], "[1] is no value; write a number, a word, true or false"),
        (float("inf"), "inf is not a finite number"),
    ],
)
def test_what_is_no_expression_is_refused(written: object, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(written)
    assert str(caught.value) == message


def test_the_names_of_an_expression_are_found_at_every_depth() -> None:
    expression = parse_expression({"max": [1, {"mul": ["$seqs", {"add": [1, "$drafts"]}]}]})
    assert list(references(expression)) == ["seqs", "drafts"]
    table = parse_expression({"lookup": ["$kv", ["auto", {"mul": ["$tp", 2]}], ["fp8", "$seqs"]]})
    assert list(references(table)) == ["kv", "tp", "seqs"]


@pytest.mark.parametrize(
    ("condition", "value", "outcome"),
    [
        (4, 4, True),
        (4, 4.0, True),
        (1, True, False),
        ("1", 1, False),
        (["a", "b"], "b", True),
        (["a", "b"], "c", False),
        ({"ge": 2, "le": 8}, 8, True),
        ({"ge": 2, "le": 8}, 9, False),
        ({"gt": 8}, 8, False),
        ({"lt": 8}, 7, True),
        ({"ne": "unset"}, "unset", False),
        ({"eq": "$limit"}, 100, True),
        ({"in": [1, "$limit"]}, 100, True),
        ({"not_in": [1, 2]}, 3, True),
        ({"le": {"mul": [2, "$limit"]}}, 200, True),
        ({"mul": [2, "$limit"]}, 200, True),
    ],
)
def test_a_condition_holds_or_does_not(condition: object, value: Scalar, outcome: bool) -> None:  # noqa: FBT001
    assert holds({"x": parse_condition(condition)}, {"x": value, "limit": 100}) is outcome


@pytest.mark.parametrize("relation", ["lt", "le", "gt", "ge"])
def test_no_order_holds_between_a_number_and_a_word(relation: str) -> None:
    assert not holds({"x": parse_condition({relation: 1})}, {"x": "unset"})
    assert not holds({"x": parse_condition({relation: "$x"})}, {"x": "unset"})


def test_all_conditions_must_hold_and_none_is_true() -> None:
    conditions = {"a": parse_condition(1), "b": parse_condition(2)}
    assert holds(conditions, {"a": 1, "b": 2})
    assert not holds(conditions, {"a": 1, "b": 3})
    assert holds({}, {})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"lte": 1}, "unknown relation 'lte'; did you mean 'lt'?"),
        ({"in": 1}, "in takes a list of values"),
        ([], "in takes a list of values"),
        ({}, "an empty condition; known: eq, ne, lt, le, gt, ge, in, not_in"),
    ],
)
def test_what_is_no_condition_is_refused(written: object, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_condition(written)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "written",
    [3, "word", False, "$tp", {"floor_div": [254, "$tp"]}, {"lookup": ["$a", [1, {"mul": [2, "$b"]}], ["x", 3]]}],
)
def test_an_expression_is_written_as_it_was_read(written: object) -> None:
    assert plain(parse_expression(written)) == written


@pytest.mark.parametrize("written", [{"eq": 1}, {"in": ["a", "$b"]}, {"ge": 2, "lt": {"mul": [2, "$x"]}}])
def test_a_condition_is_written_as_it_was_read(written: object) -> None:
    assert plain_condition(parse_condition(written)) == written


def test_conditions_are_said_in_words() -> None:
    conditions = {"flash": parse_condition("off"), "cache": parse_condition(["q8_0", "q4_0"])}
    assert words(conditions) == "flash is off and cache is q8_0 or q4_0"
    assert words({"a": parse_condition({"ne": True, "le": "$b"})}) == "a is not true and a <= $b"
    assert expression_words(parse_expression({"floor_div": [254, "$tp"]})) == "floor_div [254, $tp]"
    assert (
        expression_words(parse_expression({"lookup": ["$a", [True, 2], ["x", "$b"]]})) == "lookup $a [true: 2, x: $b]"
    )
