"""
Whether a config can start at all: weights, activations and KV cache against the share of a GPU's memory it is given.

Every term is the least that it can be, and a term whose size is not known is 0: what is refused here cannot start; what
is not may still run out of memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from search_spaces.effective import values_at
from search_spaces.errors import RuleBroken
from search_spaces.expression import Expression, Scalar, evaluate
from search_spaces.hardware import Hardware
from search_spaces.space import Config, Memory, SearchSpace

GB = 1e9
GIB = 2.0**30


@dataclass(frozen=True)
class Estimate:
    """What one GPU must hold at least, and what it may; the fields are those of `Memory`, with their values."""

    weights_gb: float
    gpus: float
    activation_bytes: float
    kv_bytes_per_token: float
    kv_tokens: float
    share: float
    memory_gib: float

    @property
    def weights_gib(self) -> float:
        """The part of the weights on one GPU."""
        return self.weights_gb * GB / self.gpus / GIB

    @property
    def activations_gib(self) -> float:
        """What one step computes with."""
        return self.activation_bytes / GIB

    @property
    def kv_gib(self) -> float:
        """The KV cache of the longest sequence."""
        return self.kv_bytes_per_token * self.kv_tokens / GIB

    @property
    def needed_gib(self) -> float:
        """All that must fit."""
        return self.weights_gib + self.activations_gib + self.kv_gib

    @property
    def budget_gib(self) -> float:
        """What it must fit in."""
        return self.share * self.memory_gib

    @property
    def fits(self) -> bool:
        """Whether the engine may start."""
        return self.needed_gib <= self.budget_gib

    @property
    def words(self) -> str:
        """The arithmetic as a reader checks it; a term that is not known is not there."""
        terms = [f"weights {self.weights_gb:g} GB / {self.gpus:g} = {self.weights_gib:.1f} GiB"]
        if self.activation_bytes:
            terms.append(f"activations {self.activations_gib:.1f} GiB")
        if self.kv_gib:
            cache = f"{self.kv_tokens:g} tokens x {self.kv_bytes_per_token:g} B"
            terms.append(f"KV cache {cache} = {self.kv_gib:.1f} GiB")
        needed = f"{' + '.join(terms)}: {self.needed_gib:.1f} GiB"
        budget = f"{self.share:g} x {self.memory_gib:g} GiB = {self.budget_gib:.1f} GiB"
        return f"{needed} {'in' if self.fits else 'do not fit in'} {budget}"


def estimate(space: SearchSpace, config: Config, concurrency: int, hardware: Hardware) -> Estimate | None:
    """
    Return what a complete config needs on one GPU at one concurrency, or None where that is not known.

    Raises:
        RuleBroken: The space forbids the config here, or a size of it cannot be computed.
    """
    if space.memory is None or hardware.memory_gib is None:
        return None
    values = values_at(space, config, concurrency)
    return _estimate(space.memory, {**values, "concurrency": concurrency}, hardware.memory_gib)


def shortage(space: SearchSpace, config: Config, hardware: Hardware) -> str | None:
    """
    Return why a complete config cannot start, with the arithmetic; None where it may.

    Raises:
        RuleBroken: The space forbids the config, or a size of it cannot be computed.
    """
    for concurrency in space.workload.concurrency:
        found = estimate(space, config, concurrency, hardware)
        if found is not None and not found.fits:
            return f"at concurrency {concurrency} one GPU is too small: {found.words}"
    return None


def _estimate(memory: Memory, values: Mapping[str, Scalar], memory_gib: float) -> Estimate:
    return Estimate(
        weights_gb=memory.weights_gb,
        gpus=_number("gpus", memory.gpus, values),
        activation_bytes=_number("activation_bytes", memory.activation_bytes, values),
        kv_bytes_per_token=_number("kv_bytes_per_token", memory.kv_bytes_per_token, values),
        kv_tokens=_number("kv_tokens", memory.kv_tokens, values),
        share=_number("share", memory.share, values),
        memory_gib=memory_gib,
    )


def _number(name: str, formula: Expression, values: Mapping[str, Scalar]) -> float:
    try:
        value = evaluate(formula, values)
    except ValueError as error:
        raise RuleBroken(f"memory.{name}", str(error)) from error
    if isinstance(value, bool | str):
        raise RuleBroken(f"memory.{name}", f"it needs a number, not {value!r}")
    return float(value)
