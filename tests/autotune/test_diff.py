"""Differences of two ways to serve: by content, with the engine's defaults, grouped by concurrency."""

from collections.abc import Mapping

import pytest

from autotune.diff import Difference, Served, differences, grouped
from autotune.sides import subject
from search_spaces import SpaceError
from tests.conftest import ROOT

SCRIPTS = ROOT / "tests/data/scripts"
BOTH = ["MODEL=org/model", "TP=8"]


def served(*, options: Mapping[str, str] | None = None, env: Mapping[str, str | None] | None = None) -> Served:
    """Return a server with one option that has a default."""
    return Served("vllm", None, None, env or {}, options or {}, {"--seed": "0"})


def test_alike_is_no_difference() -> None:
    assert differences(served(options={"--a": "1"}), served(options={"--a": "1"})) == ()


def test_an_option_at_its_default_comes_to_the_same_as_none() -> None:
    assert differences(served(options={"--seed": "0"}), served()) == (
        Difference("option", "--seed", "0", None, by_default=True),
    )
    assert differences(served(), served(options={"--seed": "1"})) == (Difference("option", "--seed", None, "1"),)


def test_a_variable_that_is_taken_away_is_as_one_that_nothing_sets() -> None:
    assert differences(served(env={"A": None}), served()) == ()
    assert differences(served(env={"A": None}), served(env={"A": ""})) == (Difference("env", "A", None, ""),)


def test_what_one_side_does_not_tell_is_not_compared() -> None:
    one = Served("vllm", "image:1", "m", {}, {})
    assert differences(one, Served("vllm", None, None, {}, {})) == ()
    assert [each.kind for each in differences(one, Served("atom", "image:2", "n", {}, {}))] == [
        "engine",
        "image",
        "model",
    ]


def test_a_file_is_compared_by_its_name_and_its_content() -> None:
    one = Served("vllm", None, None, {}, {}, files={"/a/c.json": '{"x": 1, "y": 2}'})
    assert differences(one, Served("vllm", None, None, {}, {}, files={"/b/c.json": '{"y":2,"x":1}'})) == ()
    assert len(differences(one, Served("vllm", None, None, {}, {}, files={"/b/c.json": '{"x":1}'}))) == 1


def test_differences_are_grouped_by_where_they_are() -> None:
    a, b = Difference("env", "A", "1", None), Difference("env", "B", "1", "2")
    assert grouped({1: (a,), 8: (a, b), 10: (a, b)}) == [((1, 8, 10), (a,)), ((8, 10), (b,))]


def test_a_missing_log_level_and_a_gigabyte_per_rank_are_found() -> None:
    """A pull request of InferenceX had both: 254 GB over eight ranks are 31 GB, 257 are the 32 that were measured."""
    one = subject(str(SCRIPTS / "hybrid_atom.sh"), [*BOTH, "TOTAL_CPU_DRAM_GB=257"]).at([1, 4, 8, 10])
    other = subject(str(SCRIPTS / "hybrid_atom_elsewhere.sh"), [*BOTH, "TOTAL_CPU_DRAM_GB=254"]).at([1, 4, 8, 10])
    found = {point: differences(one.served[point], other.served[point]) for point in one.served}
    assert grouped(found) == [
        ((1, 4, 8, 10), (Difference("env", "AITER_LOG_LEVEL", "WARNING", None),)),
        ((8, 10), (Difference("env", "LMCACHE_MAX_LOCAL_CPU_SIZE", "32", "31"),)),
    ]


def test_a_space_and_its_command_line_are_alike() -> None:
    space = subject("demo", ["threads=1"])
    command = subject(
        "llama-server --model '${weights}' --lora '${adapter}' -c 4096 --metrics -t 1 -np 4 -b 2048 -ub 512 "
        "-ctk f16 -ctv f16 -fa auto --poll 50 --no-kv-unified",
        [],
    )
    one, other = space.at([1]).served[1], command.at([1]).served[1]
    assert [each for each in differences(one, other) if not each.by_default] == []


@pytest.mark.parametrize(
    ("what", "settings", "said"),
    [
        ("dmo", [], "dmo: no space, no file, and no command line either; did you mean 'demo'?"),
        ("nothing.yaml", [], "cannot be read"),
        ("vllm serve m", ["TP"], "'TP' is no setting; write NAME=value"),
        ("demo", ["TP=1"], "TP: unknown knob"),
        ("ls -l", [], "starts no server"),
        (str(SCRIPTS / "hybrid_atom.sh"), ["CONC=3"], "hybrid_atom.sh: line 19"),
    ],
)
def test_what_is_named_wrongly_is_told(what: str, settings: list[str], said: str) -> None:
    with pytest.raises(SpaceError, match=said.replace("?", r"\?")):
        subject(what, settings).at([None])
