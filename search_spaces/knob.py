"""One thing that may vary: which values it takes, and where in the engine's command or environment it is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from search_spaces.domain import Choice, Domain, FloatRange, IntRange, Ordinal, check_listed, is_layout
from search_spaces.expression import Scalar
from search_spaces.fields import (
    UNSET,
    Condition,
    EnvName,
    FlagName,
    Formula,
    Frozen,
    KnobName,
    Real,
    Value,
    as_text,
)

LayoutName: TypeAlias = Literal["tp", "pp", "dp", "ep"]


@dataclass(frozen=True)
class Flag:
    """`--flag value`, the same value under each name."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """`--flag` when true; when false `--no-flag`, or nothing."""

    name: str
    omit_off: bool

    @property
    def negative(self) -> str:
        """The flag that says false."""
        return f"--no-{self.name.lstrip('-')}"


@dataclass(frozen=True)
class JsonKey:
    """A key inside the JSON object that one flag takes."""

    flag: str
    path: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """An environment variable."""

    name: str


@dataclass(frozen=True)
class Dimension:
    """A dimension of the layout; the engine knows its own flag for it."""

    name: LayoutName


Placement: TypeAlias = Flag | Switch | JsonKey | Variable | Dimension


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Placed(Frozen):
    """Where a value is written; nowhere if it only serves other values."""

    flag: Annotated[
        tuple[FlagName, ...], BeforeValidator(_listed, json_schema_input_type=FlagName | tuple[FlagName, ...])
    ] = ()
    switch: FlagName | None = None
    off: Literal["no", "omit"] = "no"
    json_flag: FlagName | None = Field(None, alias="json")
    path: Annotated[str, Field(pattern=r"^\w+(\.\w+)*$")] | None = None
    env: EnvName | None = None
    layout: LayoutName | None = None
    when: dict[KnobName, Condition] = Field(default_factory=dict)
    note: str | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if len(list(self._placements())) > 1:
            raise ValueError("a value has one place: flag, switch, json, env or layout")
        if (self.json_flag is None) != (self.path is None):
            raise ValueError("json and path go together: the flag, and the key inside its object")
        if self.off == "omit" and self.switch is None:
            raise ValueError("off belongs to a switch")
        return self

    @property
    def placement(self) -> Placement | None:
        """Where the value is written."""
        return next(self._placements(), None)

    def _placements(self) -> Iterator[Placement]:
        if self.flag:
            yield Flag(self.flag)
        if self.switch:
            yield Switch(self.switch, omit_off=self.off == "omit")
        if self.json_flag:
            yield JsonKey(self.json_flag, tuple((self.path or "").split(".")))
        if self.env:
            yield Variable(self.env)
        if self.layout:
            yield Dimension(self.layout)


def _by_text(value: object) -> object:
    """Return a mapping with its keys as they are written: a level may be a number or a boolean."""
    return {as_text(key): each for key, each in value.items()} if isinstance(value, dict) else value


class Knob(Placed):
    """
    A thing that may vary; while its `when` does not hold it is at its baseline.

    Attributes:
        prior: By value, what it is believed to bring over the baseline's: 0.1 is a tenth more of the objective.
    """

    int_range: IntRange | None = Field(None, alias="int")
    float_range: FloatRange | None = Field(None, alias="float")
    choice: tuple[Value, ...] | None = None
    ordinal: tuple[Value, ...] | None = None
    prior: Annotated[dict[str, Real], BeforeValidator(_by_text)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_domain(self) -> Self:
        domains = list(self._domains())
        if len(domains) != 1 and not (self.switch and not domains):
            raise ValueError(f"a knob has one domain (int, float, choice or ordinal), not {len(domains)}")
        if isinstance(self.domain, Choice):
            check_listed(self.domain.values)
        if self.layout and not is_layout(self.domain):
            raise ValueError(f"a layout takes whole numbers from 1, not {self.domain}")
        if self.switch and not all(isinstance(v, bool) or v == UNSET for v in self._switch_values()):
            raise ValueError(f"a switch takes true, false and {UNSET}, not {self.domain}")
        for text in self.prior:
            self.domain.read(text)
        return self

    @property
    def domain(self) -> Domain:
        """The values that the knob may take; false and true for a switch that lists none."""
        return next(self._domains(), Choice((False, True)))

    def _domains(self) -> Iterator[Domain]:
        if self.int_range:
            yield self.int_range
        if self.float_range:
            yield self.float_range
        if self.choice is not None:
            yield Choice(self.choice)
        if self.ordinal is not None:
            yield Ordinal(self.ordinal)

    def _switch_values(self) -> Sequence[Scalar]:
        return self.domain.values if isinstance(self.domain, Choice) else (str(self.domain),)


class Derived(Placed):
    """A value that is computed, not searched; while its `when` does not hold it is left out."""

    value: Formula
