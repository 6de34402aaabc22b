"""What stands beside Welch's interval in every comparison: two other readings of it, and whether launches drifted."""

from autotune.compare import Comparison
from autotune.estimates import RESAMPLED
from autotune.evidence.tables import percent
from autotune.evidence.words import Said, said


def checks(comparison: Comparison) -> Said:
    """Return Hodges and Lehmann's estimate, the bootstrap's interval and the test for a drift, in a sentence each."""
    estimate = percent(comparison.overall.robust)
    return said("checks", estimate=estimate, bootstrap=_bootstrap(comparison), drift=_drift(comparison))


def _bootstrap(comparison: Comparison) -> Said:
    if (ends := comparison.overall.resampled) is None:
        return said("no bootstrap", fewest=RESAMPLED)
    return said("bootstrap", low=percent(ends[0]), high=percent(ends[1]))


def _drift(comparison: Comparison) -> Said:
    if (drift := comparison.drift) is None:
        return said("drift untested")
    change, p = f"{drift.change:+.2%}", f"{drift.p:.3f}"
    return said("drift seen" if drift.seen else "no drift", change=change, p=p)
