"""Every known fault is accounted for: a test that is there, work that will bring it, or a reason why not."""

import ast
import re
from pathlib import Path

import pytest

from tests.known_faults import KNOWN_FAULTS

ROOT = Path(__file__).parents[1]
FORMS = re.compile(r"(?P<file>tests/[a-z0-9_/]+\.py)::(?P<test>test_\w+)|issue [46-8]|later: \S.*|not applicable: \S.*")


def test_each_number_from_1_to_80_is_accounted_for() -> None:
    assert sorted(KNOWN_FAULTS) == list(range(1, 81))
    assert all(KNOWN_FAULTS.values())


@pytest.mark.parametrize("number", KNOWN_FAULTS)
def test_an_entry_has_a_known_form_and_names_a_test_that_is_there(number: int) -> None:
    for entry in KNOWN_FAULTS[number]:
        form = FORMS.fullmatch(entry)
        assert form, entry
        if form["test"]:
            assert form["test"] in named_in(ROOT / form["file"])


def test_a_fault_that_does_not_concern_us_has_no_test_or_work() -> None:
    for entries in KNOWN_FAULTS.values():
        assert len(entries) == 1 or not any(entry.startswith("not applicable") for entry in entries)


def named_in(path: Path) -> set[str]:
    """Return the names of the tests of a file, read and not run."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}
