"""The benchmark of comparisons: small runs of it, and its arithmetic."""

import pytest

from autotune.compare import ALPHA
from benchmarks import compare
from benchmarks.compare_served import Served, play
from benchmarks.compare_simulated import CHUNK, Chunk, chunks, simulated

FEW = [chunk for sd in (0.005, 0.02) for chunk in chunks(sd, 0.0, 20)]


def test_a_table_has_a_row_for_each_launch_sd_and_effect(capsys: pytest.CaptureFixture[str]) -> None:
    compare.main(["--part", "a", "--campaigns", "5"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("launch sd")]
    assert len(rows) == len(compare.SDS) * len(compare.EFFECTS)
    assert sum("elsewhere" in row for row in rows) == len(compare.PUBLISHED)


def test_campaigns_too_few_to_bound_the_false_wins_keep_no_promise(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["--part", "a", "--campaigns", "5"]) == 1
    assert compare.MISSED in capsys.readouterr().out


def test_what_is_simulated_does_not_depend_on_the_number_of_processes() -> None:
    alone, together = (list(compare.each(simulated, FEW, jobs)) for jobs in (1, 2))
    assert alone == together


def test_campaigns_are_cut_into_chunks_that_differ() -> None:
    first, second, last = chunks(0.01, 0.0, 2 * CHUNK + 3)
    assert (first.campaigns, last.campaigns, last.number) == (CHUNK, 3, 2)
    assert simulated(first) != simulated(second)


def test_the_launch_sd_that_campaigns_saw_is_the_one_that_was_drawn() -> None:
    tally = compare.Tally(simulated(Chunk(0.01, 0.0, 0, 250)))
    assert float(tally.launch_sd.split("%")[0]) == pytest.approx(1.0, abs=0.06)
    assert tally.count("win") + tally.count("loss") <= 250 * ALPHA


def test_without_noise_a_comparison_through_http_finds_exactly_what_an_image_brings() -> None:
    found = play(Served(rate=1.03, noise=0.0, seed=0, most=2))
    assert (found.result, found.launches) == ("win", (2, 2))
    assert found.overall.change == pytest.approx(0.03, abs=1e-3)
