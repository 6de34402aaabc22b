"""What a server counts itself: its own tokens beside the client's. The only file that imports prometheus_client."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from trials.load.client import RequestFailed, text

Names = Mapping[str, tuple[str, ...]]
"""For a field of `Counters` the server's metrics that it is the sum of, as its engine's adapter gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """
    What a server has counted, summed over its engines; None where it does not say.

    Attributes:
        prompt_tokens: Of prompts, whether they were computed or came from the prefix cache.
        generation_tokens: Generated.
        prefix_query_tokens: Of prompts, looked up in the prefix cache.
        prefix_hit_tokens: Of prompts, found in the prefix cache.
        running: Requests in flight now.
    """

    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    prefix_query_tokens: int | None = None
    prefix_hit_tokens: int | None = None
    running: int | None = None

    @property
    def hit_share(self) -> float | None:
        """Which share of the looked up tokens the prefix cache had; None where the server does not say."""
        if not self.prefix_query_tokens or self.prefix_hit_tokens is None:
            return None
        return self.prefix_hit_tokens / self.prefix_query_tokens

    def since(self, before: Self) -> Self:
        """Return what was counted from `before` until now; `running` stays what it is now."""
        names = [field.name for field in fields(self) if field.name != "running"]
        counted = {name: _difference(getattr(self, name), getattr(before, name)) for name in names}
        return type(self)(**counted, running=self.running)


def read(url: str, names: Names, *, timeout_s: float) -> Counters | None:
    """Return the counters of the server at `url`; None if it has none, or does not tell them now."""
    try:
        return parse(text(f"{url}/metrics", timeout_s=timeout_s), names)
    except (RequestFailed, ValueError):
        return None


def parse(exposition: str, names: Names) -> Counters | None:
    """
    Return the counters in a page of Prometheus' text format; None if it has none of them.

    Raises:
        ValueError: If it is no such page.
    """
    sums: dict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            sums[sample.name] += sample.value
    found = {field: int(sum(sums[name] for name in parts)) for field, parts in names.items() if sums.keys() >= {*parts}}
    return Counters(**found) if found else None


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before
