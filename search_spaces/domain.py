"""The values that a knob may take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from pydantic import model_validator

from search_spaces.errors import did_you_mean
from search_spaces.expression import Scalar, same
from search_spaces.fields import UNSET, Count, Frozen, Positive, Real, Whole, as_text

DIGITS = 12
"""Decimals that a stepped number keeps: 0.8 + 5 x 0.01 is written 0.85."""


class IntRange(Frozen):
    """Whole numbers from `low` to `high`, both included."""

    low: Whole
    high: Whole
    step: Count = 1
    log: bool = False

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        _check_range(self.low, self.high, stepped=self.step != 1, log=self.log)
        return self

    def admit(self, value: Scalar) -> int:
        """Return `value` if it is in the range; raise ValueError otherwise."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole and self.low <= value <= self.high and (value - self.low) % self.step == 0):  # type: ignore[operator]  # `whole` comes first
            raise ValueError(f"{value!r} is not a whole number of {self}")
        return int(value)

    def read(self, text: str) -> int:
        """Return the value that `text` names; raise ValueError otherwise."""
        return self.admit(int(text) if text.removeprefix("-").isdecimal() else text)

    def __str__(self) -> str:
        """Return the range in words."""
        return f"{self.low}..{self.high}" + (f" in steps of {self.step}" if self.step != 1 else "")


class FloatRange(Frozen):
    """Numbers from `low` to `high`, both included."""

    low: Real
    high: Real
    step: Positive | None = None
    log: bool = False

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        _check_range(self.low, self.high, stepped=self.step is not None, log=self.log)
        return self

    def admit(self, value: Scalar) -> float:
        """Return `value`, rounded to its step, if it is in the range; raise ValueError otherwise."""
        if isinstance(value, bool | str) or not self.low <= value <= self.high:
            raise ValueError(f"{value!r} is not a number of {self}")
        if self.step is None:
            return float(value)
        on_step = round(self.low + round((value - self.low) / self.step) * self.step, DIGITS)
        if not math.isclose(on_step, value, abs_tol=self.step * 1e-6):
            raise ValueError(f"{value!r} is not a number of {self}")
        return on_step

    def read(self, text: str) -> float:
        """Return the value that `text` names; raise ValueError otherwise."""
        try:
            value: Scalar = float(text)
        except ValueError:
            value = text
        return self.admit(value)

    def __str__(self) -> str:
        """Return the range in words."""
        return f"{self.low}..{self.high}" + (f" in steps of {self.step}" if self.step else "")


def _check_range(low: float, high: float, *, stepped: bool, log: bool) -> None:
    if low >= high:
        raise ValueError(f"low {low} is not below high {high}")
    if log and stepped:
        raise ValueError("step and log exclude each other")
    if log and low <= 0:
        raise ValueError(f"a log scale needs low above 0, not {low}")


@dataclass(frozen=True)
class Choice:
    """Values without an order."""

    values: tuple[Scalar, ...]

    def admit(self, value: Scalar) -> Scalar:
        """Return the listed value that `value` is; raise ValueError otherwise."""
        for listed in self.values:
            if same(listed, value):
                return listed
        shown = as_text(value)
        hint = f"; quote it: {shown!r}" if shown in self._texts() else did_you_mean(shown, self._texts())
        raise ValueError(f"{value!r} is not one of {self}{hint}")

    def read(self, text: str) -> Scalar:
        """Return the listed value that is written `text`; raise ValueError otherwise."""
        return self.admit(dict(zip(self._texts(), self.values, strict=True)).get(text, text))

    def _texts(self) -> list[str]:
        return [as_text(value) for value in self.values]

    def __str__(self) -> str:
        """Return the values in words."""
        return ", ".join(self._texts())


@dataclass(frozen=True)
class Ordinal(Choice):
    """Values in a meaningful order."""


Domain: TypeAlias = IntRange | FloatRange | Choice | Ordinal


def check_listed(values: Sequence[Scalar]) -> None:
    """Raise ValueError where a list of values is empty, repeats one, or holds a boolean that was meant as a word."""
    if not values:
        raise ValueError("an empty list of values")
    texts = [as_text(value) for value in values]
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise ValueError(f"{twice!r} is listed twice")
    booleans = [as_text(value) for value in values if isinstance(value, bool)]
    if booleans and any(isinstance(value, str) and value != UNSET for value in values):
        raise ValueError(f"{booleans[0]} is a boolean among words; quote it: {booleans[0]!r}")


def is_layout(domain: Domain) -> bool:
    """Return whether every value is a count of ranks."""
    match domain:
        case IntRange(low=low):
            return low >= 1
        case Choice(values):
            return all(isinstance(v, int) and not isinstance(v, bool) and v >= 1 for v in values)
        case _:
            return False
