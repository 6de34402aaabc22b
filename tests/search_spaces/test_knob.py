"""Knobs: where they are written, and what a knob may not be."""

from typing import Any

import pytest
from pydantic import ValidationError

from search_spaces import Choice, FloatRange, IntRange, Ordinal
from search_spaces.knob import Dimension, Flag, JsonKey, Knob, Switch, Variable


def knob(**keys: Any) -> Knob:  # noqa: ANN401 what YAML gives
    """Return the knob of a mapping."""
    return Knob.model_validate(keys)


def test_a_knob_knows_its_place_and_its_values() -> None:
    assert knob(flag="--a", int={"low": 1, "high": 4}).domain == IntRange(low=1, high=4)
    assert knob(flag="--a", float={"low": 0, "high": 1}).domain == FloatRange(low=0.0, high=1.0)
    assert knob(flag="--a", choice=["x", "y"]).domain == Choice(("x", "y"))
    assert knob(flag="--a", ordinal=[1, 2]).domain == Ordinal((1, 2))
    assert knob(switch="--a").domain == Choice((False, True))
    assert knob(flag=["--a", "--b"], ordinal=[1, 2]).placement == Flag(("--a", "--b"))
    assert knob(switch="--a", off="omit").placement == Switch("--a", omit_off=True)
    assert knob(json="--c", path="a.b", choice=[1, 2]).placement == JsonKey("--c", ("a", "b"))
    assert knob(env="A", choice=["0", "1"]).placement == Variable("A")
    assert knob(layout="tp", choice=[4, 8]).placement == Dimension("tp")
    assert knob(choice=[4, 8]).placement is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"flag": "--a"}, "a knob has one domain (int, float, choice or ordinal), not 0"),
        ({"flag": "--a", "int": {"low": 1, "high": 2}, "choice": [1]}, "a knob has one domain"),
        ({"flag": "--a", "env": "A", "choice": [1]}, "a value has one place"),
        ({"flag": "--a", "int": {"low": 4, "high": 4}}, "low 4 is not below high 4"),
        ({"flag": "--a", "int": {"low": 0, "high": 4, "log": True}}, "a log scale needs low above 0, not 0"),
        ({"flag": "--a", "int": {"low": 1, "high": 4, "log": True, "step": 2}}, "step and log exclude each other"),
        ({"flag": "--a", "choice": []}, "an empty list of values"),
        ({"flag": "--a", "ordinal": [1, 1]}, "'1' is listed twice"),
        ({"flag": "--a", "choice": ["1", 1]}, "'1' is listed twice"),
        ({"flag": "--a", "choice": [True, "auto"]}, "true is a boolean among words; quote it: 'true'"),
        ({"json": "--a", "choice": [1]}, "json and path go together"),
        ({"flag": "--a", "off": "omit", "choice": [1]}, "off belongs to a switch"),
        ({"layout": "tp", "choice": [0, 1]}, "a layout takes whole numbers from 1"),
        ({"layout": "tp", "int": {"low": 0, "high": 8}}, "a layout takes whole numbers from 1"),
        ({"layout": "tp", "float": {"low": 1, "high": 8}}, "a layout takes whole numbers from 1"),
        ({"switch": "--a", "choice": ["on", "off"]}, "a switch takes true, false and unset, not on, off"),
        ({"switch": "--a", "int": {"low": 0, "high": 1}}, "a switch takes true, false and unset, not 0..1"),
    ],
)
def test_what_is_no_knob_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        knob(**keys)
    assert message in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize("flag", ["a", "--", "--a b", "---a", "--a;b"])
def test_what_is_no_flag_is_refused(flag: str) -> None:
    with pytest.raises(ValidationError):
        knob(flag=flag, choice=[1, 2])


def test_a_switch_says_false_with_its_negative() -> None:
    assert Switch("--kv-unified", omit_off=False).negative == "--no-kv-unified"
