"""What a study proved, for people and for machines: always made from the study's folder alone."""

from autotune.evidence.document import write
from autotune.evidence.evidence import Evidence, NoBaseline, gather

__all__ = ["Evidence", "NoBaseline", "gather", "write"]
