"""A grid of batches and contexts, and where B begins to lose on it."""

import pytest

from autotune.compare import LevelVerdict, Ratio, Result
from autotune.sweep import Cell, Crossover, Found, at_context, by_context, cells, crossover, stretched
from search_spaces import Lengths, Recipe, Serve, SpaceError, Target, Workload

WORKLOAD = Workload(input_tokens=8192, output_tokens=1024, range_ratio=0.8, concurrency=(4, 64), window_sd={4: 0.01})


def found(tokens: int, change: float, result: Result = "tie") -> Found:
    """Return a cell of batch 1."""
    ratio = Ratio(change=change, low=None, high=None, a=100.0, b=100.0 * (1 + change))
    return Found(Cell(1, tokens), ratio, LevelVerdict(result=result, low=None, high=None, settled_by=None))


def recipe(*args: str, **overrides: Serve) -> Recipe:
    """Return a recipe for the workload."""
    target = Target(engine="vllm", model="m", hardware="mi355x")
    told = {int(name.removeprefix("at")): serve for name, serve in overrides.items()}
    return Recipe(space="s", target=target, workload=WORKLOAD, config={}, serve=Serve(args=args), overrides=told)


def test_cells_are_batch_times_context() -> None:
    assert cells("1x50000, 16x1000,1x50000") == (Cell(1, 50000), Cell(16, 1000))
    assert Cell(16, 50000).tokens == 800000


@pytest.mark.parametrize("text", ["", "16", "16x", "x1000", "0x1000", "16x1000,axb", "-1x5"])
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(SpaceError, match="write BATCHxCONTEXT"):
        cells(text)


def test_one_launch_serves_all_batches_of_a_context() -> None:
    assert by_context(cells("64x1000,1x50000,16x1000")) == {1000: (16, 64), 50000: (1,)}


def test_prompts_are_exactly_as_long_as_the_context() -> None:
    workload = at_context(WORKLOAD, 50000, (1, 16))
    assert workload.shape == Lengths(input_tokens=50000, output_tokens=1024)
    assert (workload.concurrency, workload.range_ratio, workload.window_sd) == ((1, 16), 1.0, {})


def test_prompts_of_a_shape_are_not_stretched() -> None:
    shape = {"kind": "shared_prefix", "prefix_tokens": 8, "input_tokens": 8, "output_tokens": 8}
    with pytest.raises(SpaceError, match="draws prompts of a length"):
        at_context(Workload(shape=shape, concurrency=(1,)), 1000, (1,))


def test_the_longest_sequence_grows_with_the_prompt() -> None:
    assert stretched(recipe("--max-model-len", "4096", "--trust")).serve.args == ("--max-model-len", "9472", "--trust")
    assert stretched(recipe("--context-length", "10")).serve.args == ("--context-length", "9472")


def test_a_longest_sequence_that_is_long_enough_stays() -> None:
    roomy = recipe("--max-model-len", "32768")
    assert stretched(roomy) == roomy
    unbounded = recipe("--max-num-seqs", "64")
    assert stretched(unbounded) == unbounded


def test_overrides_are_stretched_too() -> None:
    found = stretched(recipe("-x", at4=Serve(args=("--max-model-len", "1"))))
    assert found.overrides[4].args == ("--max-model-len", "9472")


def test_where_no_loss_is_claimed_nothing_crosses() -> None:
    assert crossover([found(1000, 0.01), found(100000, -0.03, "undecided")]) is None


def test_the_crossover_lies_between_the_last_cell_without_a_loss_and_the_first_with_one() -> None:
    grid = [found(800000, -0.2, "loss"), found(1000, 0.02, "win"), found(200000, 0.01), found(400000, -0.05, "loss")]
    where = crossover(grid)
    assert where == Crossover(after=200000, at=400000, everywhere=True, estimate=where.estimate if where else None)
    assert where is not None
    assert 200000 < (where.estimate or 0) < 250000


def test_a_cell_above_without_a_loss_is_said() -> None:
    where = crossover([found(1000, -0.1, "loss"), found(2000, -0.01, "tie"), found(4000, -0.1, "loss")])
    assert where is not None
    assert (where.after, where.at, where.everywhere, where.estimate) == (None, 1000, False, None)


def test_cells_with_as_many_tokens_count_together() -> None:
    where = crossover([found(1000, 0.04), found(1000, 0.0), found(10000, -0.02, "loss")])
    assert where is not None
    assert where.estimate == pytest.approx(1000 * 10**0.5)
