"""The types that space and recipe files are made of."""

from pathlib import Path, PurePosixPath
from typing import Annotated, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from search_spaces.expression import (
    OPERATORS,
    RELATIONS,
    Comparison,
    Expression,
    Scalar,
    parse_condition,
    parse_expression,
    plain,
    plain_condition,
    scalar,
)

UNSET = "unset"
"""The value that leaves a flag out, and takes a variable out of the engine's environment."""

_SCALAR_SCHEMA = {"type": ["boolean", "number", "string"]}
_OPERATION_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "array", "minItems": 1} for name in OPERATORS},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
_EXPRESSION_SCHEMA = {"anyOf": [_SCALAR_SCHEMA, _OPERATION_SCHEMA]}
_RELATION_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "array"} if name in {"in", "not_in"} else _EXPRESSION_SCHEMA for name in RELATIONS},
    "additionalProperties": False,
    "minProperties": 1,
}
_CONDITION_SCHEMA = {"anyOf": [_EXPRESSION_SCHEMA, {"type": "array", "minItems": 1}, _RELATION_SCHEMA]}

Value: TypeAlias = Annotated[Scalar, PlainValidator(scalar), WithJsonSchema(_SCALAR_SCHEMA)]
Formula: TypeAlias = Annotated[
    Expression, PlainValidator(parse_expression), PlainSerializer(plain), WithJsonSchema(_EXPRESSION_SCHEMA)
]
Condition: TypeAlias = Annotated[
    tuple[Comparison, ...],
    PlainValidator(parse_condition),
    PlainSerializer(plain_condition),
    WithJsonSchema(_CONDITION_SCHEMA),
]

KnobName: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
FlagName: TypeAlias = Annotated[str, Field(pattern=r"^--?[A-Za-z][A-Za-z0-9_.-]*$")]
EnvName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

Whole: TypeAlias = Annotated[int, Field(strict=True)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=1)]
Real: TypeAlias = Annotated[float, Field(strict=True)]
Positive: TypeAlias = Annotated[float, Field(strict=True, gt=0)]
NonNegative: TypeAlias = Annotated[float, Field(strict=True, ge=0)]
Share: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=1)]


class Frozen(BaseModel):
    """A mapping of a file: it never changes, and refuses a key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, serialize_by_alias=True)


def inside(path: str) -> str:
    """Return a path that stays in its folder; raise ValueError for any other."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts:
        raise ValueError(f"{path!r} leaves its folder; write a relative path without '..'")
    return path


RelativePath = Annotated[str, AfterValidator(inside)]


class File(Frozen):
    """
    A file that a space names: under the data root, or beside the space file.

    Attributes:
        get: What a user does who does not have it, as an order.
    """

    data: RelativePath | None = None
    space: RelativePath | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    get: str | None = None

    @model_validator(mode="after")
    def _one_root(self) -> Self:
        if (self.data is None) == (self.space is None):
            raise ValueError("a file is under data (the data root) or space (beside the space file): write one")
        return self

    def locate(self, *, data_root: Path, space_folder: Path) -> Path:
        """Return where the file should be."""
        return data_root / self.data if self.data is not None else space_folder / str(self.space)


def as_text(value: Scalar) -> str:
    """Return a value as a command line or an environment has it: true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
