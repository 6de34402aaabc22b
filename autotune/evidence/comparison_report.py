"""The evidence of a comparison for machines: its `evidence.json`, its types, and the JSON Schema that they come to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from autotune.compare import Comparison, LaunchValues, Result
from autotune.comparisons import Launched, Settings
from autotune.evidence.compared import Compared
from autotune.evidence.comparison_sections import not_measured
from autotune.evidence.report import ran
from autotune.evidence.reported import Ran
from autotune.evidence.words import CHINESE, ENGLISH
from autotune.folder import Arm
from autotune.redaction import scrubbed

VERSION: Final = 1
"""Of the format: counted up when a field is taken away or comes to mean something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(Ran):
    """
    One launch.

    Attributes:
        values: What of it is compared; None where it was not measured.
    """

    arm: Arm
    values: LaunchValues | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport:
    """
    All that a comparison proved.

    Attributes:
        emulated: Then no number here is a measurement.
        finished: Whether nothing is left to launch.
        result: None where nothing is compared, or not yet.
        sentence: The verdict in words, by language.
        failed: Why nothing can be compared; None while both sides are well.
        not_measured: What a reader might think was measured and was not.
    """

    version: Literal[1] = VERSION
    emulated: bool
    finished: bool
    result: Result | None
    sentence: dict[Literal["en", "zh"], str]
    failed: str | None
    comparison: Comparison | None
    launches: tuple[Launch, ...]
    settings: Settings
    provenance: Mapping[str, str]
    not_measured: tuple[str, ...]


_JSON = TypeAdapter(ComparisonReport)


def report(found: Compared) -> ComparisonReport:
    """Return the evidence as a value; every text in it is redacted."""
    comparison, failed = found.stands.comparison, found.stands.failed
    whole = ComparisonReport(
        emulated=found.settings.emulation is not None,
        finished=found.finished,
        result=comparison.result if comparison and not failed else None,
        sentence={words.language: found.mark + words(found.verdict) for words in (ENGLISH, CHINESE)},
        failed=failed,
        comparison=comparison,
        launches=tuple(_launch(found, one) for one in found.launches),
        settings=found.settings,
        provenance=found.provenance,
        not_measured=tuple(map(ENGLISH, not_measured(found))),
    )
    return scrubbed(whole)


def _launch(found: Compared, one: Launched) -> Launch:
    return Launch(**ran(found, one, found.raw[one.folder]), arm=one.arm, values=found.values(one))


def to_json(found: Compared) -> str:
    """Return the evidence for machines; the schema says what is in it."""
    return _JSON.dump_json(report(found), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a comparison's `evidence.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_JSON.json_schema(mode="serialization"),
        "title": "evidence.json of a comparison of autotune",
    }
