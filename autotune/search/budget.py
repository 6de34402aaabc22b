"""How much a study may spend on its search: trials, counted when submitted, and hours."""

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """
    What is left to spend.

    Attributes:
        trials: Trials that may still be submitted.
        hours: Hours the search may take in all; None: no limit.
        spent_s: Seconds spent by earlier sittings of the same study.
        virtual: Whether hours are those that an emulated engine says it took, and not those of the clock on the wall.
    """

    trials: int
    hours: float | None
    spent_s: float = 0.0
    virtual: bool = False
    _begun_s: float = field(default_factory=time.monotonic)

    def submit(self) -> None:
        """Count one trial as spent."""
        self.trials -= 1

    def left_s(self) -> float | None:
        """Return the seconds that the search may still take; None: no limit."""
        if self.hours is None:
            return None
        waited_s = 0.0 if self.virtual else time.monotonic() - self._begun_s
        return max(0.0, self.hours * 3600 - self.spent_s - waited_s)

    def spend(self, seconds: float) -> None:
        """Count what a trial took; on the wall's clock it has passed anyway."""
        if self.virtual:
            self.spent_s += seconds

    def left(self) -> bool:
        """Say whether another trial may be submitted."""
        return self.trials > 0 and self.left_s() != 0.0
