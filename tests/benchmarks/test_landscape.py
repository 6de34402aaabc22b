"""The benchmark of the emulated engine: it measures through HTTP what the landscape's function says."""

import pytest

from benchmarks import landscape


def test_an_effect_is_measured_as_the_function_says_it() -> None:
    effect = landscape.Effect(
        name="fp8", before=landscape.GRAPHS, after=landscape.FOUR, lengths=(512, 100), published={4: 9.7}
    )
    row = landscape._row(effect, 4)
    assert row.measured == pytest.approx(row.pure, abs=0.01)
    assert row.apart < 1e-6
    assert "TOO FAR" not in str(row)


def test_what_is_too_far_is_said() -> None:
    assert str(landscape.Row("x", 1.0, 1.0, 2.0, 1.0)).endswith("TOO FAR")
