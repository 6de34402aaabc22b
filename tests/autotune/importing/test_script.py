"""Scripts read without running anything: what they start, judged by bash itself, and what can't be known."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from autotune.importing.launch import Launch, NoServer
from autotune.importing.script import read_script
from autotune.importing.shell import Unknown
from tests.autotune.importing.bash import drawn, started, told
from tests.conftest import ROOT

SCRIPTS = ROOT / "tests/data/scripts"
GIVEN = {"MODEL": "org/model", "TP": "4", "PORT": "8000", "ISL": "8192", "TOTAL_CPU_DRAM_GB": "257"}


def read(name: str, **given: str) -> Launch:
    """Return what a script of the tests starts."""
    return read_script((SCRIPTS / name).read_text(), {**GIVEN, **given})


def args(launch: Launch) -> list[str]:
    """Return a launch's arguments as texts."""
    return [word.text for word in launch.args]


def env(launch: Launch) -> dict[str, str]:
    """Return the variables that a launch sets."""
    return {name: value.text for name, value in launch.env.items() if value is not None}


def doubts(launch: Launch, kind: str) -> str:
    """Return the doubts of a kind as text."""
    return "\n".join(str(doubt) for doubt in launch.doubts if doubt.kind == kind)


@pytest.mark.parametrize("concurrency", ["1", "4", "8", "10", "64", "200"])
@pytest.mark.parametrize(
    ("script", "more"),
    [
        ("moe_vllm.sh", {}),
        ("moe_vllm.sh", {"TP": "8", "EP_SIZE": "8", "ISL": "8192"}),
        ("hybrid_atom.sh", {}),
        ("hybrid_atom_elsewhere.sh", {"AITER_LOG_LEVEL": "ERROR"}),
        ("dense_sglang.sh", {"RESULT_DIR": "results", "DP_ATTENTION": "true"}),
        ("dense_sglang.sh", {"RESULT_DIR": "results", "DP_ATTENTION": "false", "TP": "2"}),
    ],
)
def test_a_script_starts_what_bash_starts(
    script: str, more: Mapping[str, str], concurrency: str, tmp_path: Path
) -> None:
    given = {**GIVEN, **more, "CONC": concurrency}
    text = (SCRIPTS / script).read_text()
    expected = started(text, given, tmp_path)
    if expected is None:
        with pytest.raises(NoServer, match="it ends here, before it starts a server"):
            read_script(text, given)
        return
    launch = read_script(text, given)
    assert expected[0][-len(launch.args) :] == args(launch)
    assert {name: value for name, value in env(launch).items() if name not in given} == expected[1]


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_drawn_scripts_start_what_bash_starts(first: int, tmp_path: Path) -> None:
    """One that holds what is not known is no case: it is listed, and bash has no say."""
    given = {"TP": "4", "CONC": "16"}
    compared = 0
    for seed in range(first, first + 50):
        script = drawn(seed)
        bash = started(script, given, tmp_path)
        if bash is None:
            with pytest.raises(NoServer):
                read_script(script, given)
            continue
        launch = read_script(script, given)
        unknown = any(isinstance(value, Unknown) for value in [*launch.args, *launch.env.values()])
        if not unknown and not doubts(launch, "undecided"):
            assert bash == told(script, given), f"seed {seed}:\n{script}"
            compared += 1
    assert compared >= 35


def test_what_is_not_known_is_listed_with_its_line() -> None:
    launch = read("strange.sh")
    assert doubts(launch, "not run").splitlines() == [
        "line 3: `source ./library.sh` is not run",
        "line 8: `diff <(echo a) <(echo b)` is not run",
        "line 9: `python3 - <<'PY' import vllm PY` is not run",
        "line 15: `cache_is_wanted` is not run",
        "line 18: `patch_engine --quick` is not run",
        "line 21: `numactl -N 0` in front of the server is left out",
    ]
    undecided = doubts(launch, "undecided")
    assert "line 6: " in undecided
    assert "--set version=VALUE; not known then: HSA_NO_SCRATCH_RECLAIM" in undecided
    assert "is a loop, and none is read; not known then: size, SIZES" in undecided
    assert "--set cache_is_wanted=true or false; not known then: CACHE" in undecided
    unknown = doubts(launch, "unknown")
    for said in (
        "--set version=VALUE",
        "`--cuda-graph-sizes $SIZES`",
        "--set RATE=VALUE",
        "`--max-model-len `: MAX_MODEL_LEN has no value; --set MAX_MODEL_LEN=VALUE",
        '$(dirname "$0")',
        "--set cache_is_wanted=true or false",
    ):
        assert said in unknown
    assert "--seed" not in unknown


def test_what_is_given_stands_in_for_what_a_program_says() -> None:
    given = {"version": "200", "cache_is_wanted": "false", "SIZES": "1,2", "RATE": "0.755", "MAX_MODEL_LEN": "9472"}
    launch = read("strange.sh", **given)
    assert env(launch) == {}
    assert args(launch)[2:8] == ["--cuda-graph-sizes", "1,2", "--rate", "0.755", "--max-model-len", "9472"]
    assert doubts(launch, "unknown").count("line 21") == 1


def test_a_file_that_the_script_writes_for_the_server_is_kept() -> None:
    launch = read("dense_sglang.sh", CONC="8", RESULT_DIR="/r", DP_ATTENTION="false")
    assert {path: text.text for path, text in launch.files.items()} == {
        "/r/cache.json": '{\n  "mode": "embedded",\n  "segment": "64GB"\n}\n'
    }


@pytest.mark.parametrize(
    ("command", "engine", "expected"),
    [
        ("vllm serve m --a 1", "vllm", ["m", "--a", "1"]),
        ("A=1 /opt/bin/vllm serve m", "vllm", ["m"]),
        ("env -u A B=1 nohup vllm serve m", "vllm", ["m"]),
        ("exec python -m vllm.entrypoints.openai.api_server --model m", "vllm", ["--model", "m"]),
        ("cd /work && python3 -u -m sglang.launch_server --model-path m", "sglang", ["--model-path", "m"]),
        ("vllm serve 'a b' > log --x '{\"k\": 1}' 2>&1 | tee log", "vllm", ["a b", "--x", '{"k": 1}']),
        ("(export A=1; python3 -m atom.entrypoints.openai_server --model m) &", "atom", ["--model", "m"]),
    ],
)
def test_a_server_is_known_by_its_program(command: str, engine: str, expected: list[str]) -> None:
    launch = read_script(command, {})
    assert (launch.engine, args(launch)) == (engine, expected)


def test_assignments_in_front_are_its_environment() -> None:
    launch = read_script("export X=0; A=1 env -u B C='d e' vllm serve m", {})
    assert {name: value and value.text for name, value in launch.env.items()} == {
        "X": "0",
        "A": "1",
        "B": None,
        "C": "d e",
    }


def test_a_variable_that_is_removed_is_taken_away() -> None:
    assert read_script("unset A; B=1; unset B; vllm serve m", {}).env == {"A": None, "B": None}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo vllm serve m", "it starts no server"),
        ('write_command "$X" vllm serve m', "it starts no server"),
        ("if [ -f x ]; then vllm serve m; fi", "with A=1 it starts no server"),
        ("[ $A = 1 ] || vllm serve m\nif [ $A = 1 ]; then\n exit 3; fi; vllm serve m", "line 3: with A=1 it ends here"),
        ("f() { f; f; }; f; vllm serve m", ""),
        (
            "g() { :; }\n" + "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40)) + "f40() { g; }; f0",
            "steps",
        ),
        ("if ((" + "(" * 3000 + "1" + ")" * 3000 + ")); then A=1; fi", "nested deeper"),
        ("", "it starts no server"),
        ('bash -c "vllm serve m"', 'line 1: `bash -c "vllm serve m"` is not run'),
        ('A=1\neval "vllm serve $(cat args)"', "line 2: `eval .* is not run"),
        ("g() { vllm serve m; }\nif [ -f x ]; then g; fi", "line 2: `g` is not run"),
        ("[ -d x ] && vllm serve m || vllm serve n", "line 1: `vllm serve n` is not run"),
        ("ssh host 'vllm serve m'", "line 1: `ssh host 'vllm serve m'` is not run"),
    ],
)
def test_a_script_that_starts_none_says_why(script: str, said: str) -> None:
    if said:
        with pytest.raises(NoServer, match=said):
            read_script(script, {"A": "1"})
    else:
        assert args(read_script(script, {"A": "1"})) == ["m"]


@pytest.mark.parametrize("doubled", ['A="$A$A"', 'A=("${A[@]}" "${A[@]}")', 'A="$A${A:-x}$(x)"', "A+=$A"])
def test_what_doubles_does_not_fill_the_memory(doubled: str) -> None:
    launch = read_script("A=xxxxxxxx\n" + f"{doubled}\n" * 60 + 'vllm serve m --a "${A[@]}"', {})
    assert "it has more than 100000 characters" in doubts(launch, "unknown")


def test_what_is_no_bash_is_listed() -> None:
    launch = read_script("vllm serve m --a ) ( \nvllm serve n", {})
    assert "is no bash that can be read" in doubts(launch, "undecided")
