"""One point of the ladder: a workload at one concurrency, and how long measuring it may take."""

from dataclasses import dataclass
from pathlib import Path

from search_spaces import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """
    What one point of the ladder asks for.

    Attributes:
        seed: Of lengths, contents and arrivals; both sides of a comparison use the same.
        request_s: Seconds that one request may take.
        stall_s: Seconds that may pass without a token of any stream.
        load_s: Seconds that the whole point may take.
        file: The workload's own, where it has one.
    """

    workload: Workload
    concurrency: int
    seed: str
    request_s: float
    stall_s: float
    load_s: float
    file: Path | None = None
