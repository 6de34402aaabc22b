"""The evidence of one comparison, from its folder alone: for people, and for machines."""

from autotune.comparisons import ComparisonFolder
from autotune.evidence.compared import Compared, gather
from autotune.evidence.comparison_report import to_json
from autotune.evidence.comparison_sections import document
from autotune.evidence.publish import publish
from trials.files import write_whole


def write(folder: ComparisonFolder) -> Compared:
    """Write the documents; return what they say."""
    found = gather(folder)
    md, html, machine = folder.evidence
    publish(document(found), md, html)
    write_whole(machine, to_json(found))
    return found
