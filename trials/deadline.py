"""The end of a phase's time: every phase of a trial has one."""

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deadline:
    """
    A phase that must have ended so many seconds after now.

    Attributes:
        phase: Its name in the message.
        seconds: What it may take in all.
    """

    phase: str
    seconds: float
    _begun_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """Seconds that are left; 0 when there are none."""
        return max(0.0, self._begun_s + self.seconds - time.monotonic())

    @property
    def reason(self) -> str:
        """What to say when it has passed."""
        return f"{self.phase} took longer than its {self.seconds:g} s"
