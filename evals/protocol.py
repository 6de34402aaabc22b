"""Under which protocol a verdict was reached, and how many tokens an answer may take. Pure.

The same model scores 0.97 through one endpoint and 0.91 through the other, and less again when its answers are cut;
figures of two protocols say nothing about each other.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from evals.exam import Identity

PROMPT_RESERVE = 4096
"""Tokens of the context that are left to the prompt, where the context has more than that."""

MOST_OUTPUT = 16384
"""The most tokens that an answer is given, however long the context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalProtocol:
    """
    What must be equal for two verdicts to be compared.

    Attributes:
        max_tokens: The cap on each answer, or None for the task's own.
        context: Tokens of prompt and answer together that the server says it serves, or None where it does not say.
            It is recorded and not compared: a request that fits is answered alike in any context.
    """

    identity: Identity
    max_tokens: int | None
    context: int | None = field(default=None, compare=False)

    def difference(self, other: "EvalProtocol") -> str | None:
        """Say in what `other` differs, or None where verdicts may be compared."""
        return "; ".join(self._differences(other)) or None

    def _differences(self, other: "EvalProtocol") -> Iterator[str]:
        mine = {**asdict(self.identity), "max_tokens": self.max_tokens}
        theirs = {**asdict(other.identity), "max_tokens": other.max_tokens}
        yield from (f"{name} is {mine[name]}, not {theirs[name]}" for name in mine if mine[name] != theirs[name])


def output_budget(context: int) -> int:
    """
    Return the cap on an answer that InferenceX would set for a server with so many tokens of context.

    Source: SemiAnalysisAI/InferenceX at 843c6254, run_lm_eval in benchmarks/benchmark_lib.sh.
    """
    room = context - PROMPT_RESERVE if context > PROMPT_RESERVE else context // 2
    return max(1, min(room, MOST_OUTPUT))
