"""The load: what is sent, how much of it at once, and how long it is measured."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from search_spaces.fields import Count, File, Frozen, Positive

FEWEST_IDS = 256  # below it prompts of a few thousand would share their first ids

Answer: TypeAlias = Annotated[int, Field(strict=True, ge=2)]
"""Tokens of an answer: with one there is no time per output token."""
TokenId: TypeAlias = Annotated[int, Field(strict=True, ge=0)]


class Lengths(Frozen):
    """Requests that share nothing: so many tokens in, so many out."""

    kind: Literal["fixed"] = "fixed"
    input_tokens: Count
    output_tokens: Answer

    @property
    def words(self) -> str:
        """The shape as a reader says it."""
        return f"{self.input_tokens} tokens in, {self.output_tokens} out, unique prompts"


class SharedPrefix(Frozen):
    """Requests that all begin with the same tokens and go on each with its own."""

    kind: Literal["shared_prefix"]
    prefix_tokens: Count
    input_tokens: Count
    output_tokens: Answer

    @property
    def words(self) -> str:
        """The shape as a reader says it."""
        inside = f"one prefix of {self.prefix_tokens} tokens and {self.input_tokens} of its own"
        return f"{inside} in, {self.output_tokens} out"


class Trace(Frozen):
    """Sessions of several turns, replayed: each turn sends again all that came before it."""

    kind: Literal["trace"]
    file: File

    @property
    def words(self) -> str:
        """The shape as a reader says it."""
        return f"sessions of {self.file.data or self.file.space}, turn by turn"


class Prompts(Frozen):
    """A user's own prompts; with `nonce` a few random letters stand before each, so that no cache knows it."""

    kind: Literal["prompts"]
    file: File
    nonce: bool = True

    @property
    def words(self) -> str:
        """The shape as a reader says it."""
        return f"prompts of {self.file.data or self.file.space}, {'made unique' if self.nonce else 'as they are'}"


Shape: TypeAlias = Lengths | SharedPrefix | Trace | Prompts


class Slo(Frozen):
    """What a good request keeps to; goodput is the rate of those that keep to all of it."""

    ttft_ms: Positive | None = None
    tpot_ms: Positive | None = None
    e2el_ms: Positive | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.ttft_ms is None and self.tpot_ms is None and self.e2el_ms is None:
            raise ValueError("write a limit: ttft_ms, tpot_ms or e2el_ms")
        return self


class Workload(Frozen):
    """
    The load of every point of the ladder: the shape of its requests, and how many waves of them are sent.

    Attributes:
        range_ratio: Drawn lengths are uniform whole numbers between this share of the length and the length itself,
            as InferenceX draws them.
        token_ids: First and last id that a prompt is drawn from; without it a prompt is text.
        waves: Requests of a measured run, over the concurrency.
        windows: Equal stretches of a measured run whose median is the point's rate.
        request_rate: Requests that arrive a second; None: each slot sends when its last request has ended.
        burstiness: Shape of the gamma distribution of the gaps between arrivals: 1 is Poisson, more is more even.
        window_sd: By concurrency the relative standard deviation between windows of one launch, where it is known.
    """

    input_tokens: Count | None = None
    output_tokens: Answer | None = None
    listed_shape: Annotated[SharedPrefix | Trace | Prompts, Field(discriminator="kind")] | None = Field(
        None, alias="shape"
    )
    range_ratio: Annotated[float, Field(strict=True, gt=0, le=1)] = 1.0
    token_ids: tuple[TokenId, TokenId] | None = None
    concurrency: Annotated[tuple[Count, ...], Field(min_length=1)]
    waves: Annotated[int, Field(strict=True, ge=4)] = 10
    warmup_waves: Count = 2
    windows: Annotated[int, Field(strict=True, ge=3)] = 3
    request_rate: Positive | None = None
    burstiness: Positive = 1.0
    window_sd: dict[int, Positive] = Field(default_factory=dict)
    slo: Slo | None = None

    @property
    def shape(self) -> Shape:
        """What is sent."""
        if self.listed_shape is not None:
            return self.listed_shape
        return Lengths(input_tokens=self.input_tokens or 0, output_tokens=self.output_tokens or 0)

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        lengths = (self.input_tokens, self.output_tokens)
        if self.listed_shape is None and None in lengths:
            raise ValueError("write input_tokens and output_tokens, or a shape")
        if self.listed_shape is not None and lengths != (None, None):
            raise ValueError("input_tokens and output_tokens belong inside the shape")
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(set(self.concurrency)) != len(self.concurrency):
            raise ValueError("a concurrency is listed twice")
        if self.burstiness != 1 and self.request_rate is None:
            raise ValueError("burstiness needs a request_rate; without one nothing arrives by itself")
        if self.range_ratio != 1 and isinstance(self.listed_shape, Trace | Prompts):
            raise ValueError("range_ratio is of lengths that are drawn; those of a file are in the file")
        if self.token_ids and isinstance(self.listed_shape, Prompts):
            raise ValueError("token_ids are of prompts that are drawn; those of a file are text")
        if self.token_ids and self.token_ids[1] - self.token_ids[0] + 1 < FEWEST_IDS:
            raise ValueError(f"token_ids: [first, last] must hold {FEWEST_IDS} ids at least")
        return self
