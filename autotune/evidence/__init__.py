"""What a study proved, for people and for machines: always made from the study's folder alone."""

from autotune.evidence.document import Evidence, gather, write

__all__ = ["Evidence", "gather", "write"]
