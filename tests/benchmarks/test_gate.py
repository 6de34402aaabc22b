"""The benchmark of the gate: a little of both tables, which check their own promises."""

import pytest

from benchmarks import gate
from evals.sequential import Urn


def test_a_short_run_has_a_row_for_each_accuracy_computed_and_through_http(capsys: pytest.CaptureFixture[str]) -> None:
    gate.main(["--plays", "50", "--short"])
    computed, through_http = capsys.readouterr().out.split("through HTTP, 400 questions of sums")
    rows = [line.split() for line in computed.splitlines() if line.startswith("0.")]
    assert [row[0] for row in rows] == ["0.97", "0.80"]
    assert all(float(row[1]) < 250 for row in rows)
    served = [line.split() for line in through_http.splitlines() if line.startswith("0.")]
    assert [row[:2] for row in served] == [["0.97", "pass"], ["0.80", "fail"]]
    assert all(int(row[2]) < 400 for row in served)


def test_what_is_computed_exactly_is_what_plays_show() -> None:
    urn = Urn(200, 180)
    bounds = gate.bounds_of(urn, 0.05)
    exact = gate.exactly(urn, 176, bounds)
    erred = gate.simulated_errors(urn, 176, bounds, 2000)
    assert exact.passed + exact.failed == pytest.approx(1.0)
    assert erred / 2000 == pytest.approx(exact.passed, abs=0.015)


def test_a_test_of_fixed_size_needs_more_questions_the_closer_the_accuracy_is() -> None:
    urn = Urn(200, 180)
    sizes = [gate.fixed_size(urn, right, 0.05) for right in (198, 192, 186)]
    assert sizes == sorted(sizes)
    assert gate.fixed_size(urn, 180, 0.05) == 200
