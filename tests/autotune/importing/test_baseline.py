"""Imports as search spaces: they load, resolve to what the script starts, and say what was not understood."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from autotune.diff import differences
from autotune.importing.baseline import Imported, Source, imported
from autotune.sides import launch, subject
from search_spaces import SearchSpace, SpaceError, load
from tests.conftest import ROOT

SCRIPTS = ROOT / "tests/data/scripts"
GIVEN = {"MODEL": "org/model", "TP": "4", "PORT": "8000", "ISL": "8192", "TOTAL_CPU_DRAM_GB": "257"}


def of(script: str, ladder: Sequence[int], *, trusted: bool = False, given: Mapping[str, str] = GIVEN) -> Imported:
    """Import a text."""
    launches = {point: launch(script, given, point, name="it.sh") for point in ladder}
    return imported(launches, Source("it.sh", given, trusted=trusted))


def loaded(found: Imported, folder: Path, *, trusted: bool = False) -> SearchSpace:
    """Return an import as the space that it is."""
    path = folder / "it.yaml"
    path.write_text(found.text)
    for name, text in found.files.items():
        (folder / name).write_text(text)
    return load(path, trusted=trusted)


@pytest.mark.parametrize(
    ("script", "ladder", "more"),
    [
        ("moe_vllm.sh", [1, 8, 64, 128], []),
        ("moe_vllm.sh", [4], ["TP=8", "EP_SIZE=8"]),
        ("hybrid_atom.sh", [1, 4, 8, 10], []),
        ("hybrid_atom_elsewhere.sh", [8], []),
        ("dense_sglang.sh", [4, 16], ["RESULT_DIR=/r", "DP_ATTENTION=true"]),
    ],
)
def test_a_space_says_what_its_script_says(script: str, ladder: list[int], more: list[str], tmp_path: Path) -> None:
    settings = [*(f"{name}={value}" for name, value in GIVEN.items()), *more]
    original = subject(str(SCRIPTS / script), settings)
    space = of((SCRIPTS / script).read_text(), ladder, given=original.given)
    loaded(space, tmp_path)
    back = subject(str(tmp_path / "it.yaml"), [])
    assert back.ladder == tuple(ladder)
    one, other = original.at(ladder), back.at(ladder)
    for point in ladder:
        left = differences(one.served[point], other.served[point])
        found = [each for each in left if not each.by_default and each.kind != "file"]
        assert [each for each in found if "${" not in (each.right or "")] == []
        assert other.served[point].model == "org/model"


def test_what_differs_by_concurrency_is_a_knob_with_overrides(tmp_path: Path) -> None:
    space = loaded(of((SCRIPTS / "hybrid_atom.sh").read_text(), [1, 4, 8, 10]), tmp_path)
    assert set(space.knobs) == {
        "tp",
        "max_num_seqs",
        "max_num_batched_tokens",
        "gpu_memory_utilization",
        "kv_transfer_config",
        "lmcache_chunk_size",
        "lmcache_max_local_cpu_size",
    }
    assert space.baseline["tp"] == 4
    assert space.baseline["max_num_seqs"] == 32
    assert space.baseline["lmcache_chunk_size"] == "unset"
    assert [len(override.set) for override in space.overrides] == [5, 6]


def test_a_plain_command_line_becomes_a_space(tmp_path: Path) -> None:
    command = "A=1 vllm serve org/model -tp 8 --no-enable-prefix-caching --seed=3 --port 9 --served-model-name it"
    space = loaded(of(command, [4, 16]), tmp_path)
    assert space.target.model == "it"
    assert space.serve.args == ("org/model", "--no-enable-prefix-caching", "--seed=3")
    assert space.serve.env == {"A": "1"}
    assert space.baseline == {"tp": 8}
    assert space.workload.concurrency == (4, 16)
    assert (space.workload.input_tokens, space.workload.range_ratio) == (8192, 0.8)


def test_a_switch_that_comes_and_goes(tmp_path: Path) -> None:
    script = "if [ $CONC = 1 ]; then A=--no-x; elif [ $CONC = 2 ]; then A=--x; fi; vllm serve m $A"
    space = loaded(of(script, [1, 2, 3]), tmp_path)
    assert space.knobs["x"].switch == "--x"
    assert space.baseline["x"] is False
    assert [dict(override.set) for override in space.overrides] == [{"x": True}, {"x": "unset"}]


def test_what_is_not_understood_stands_above_the_space(tmp_path: Path) -> None:
    found = of((SCRIPTS / "strange.sh").read_text(), [4])
    head = found.text[: found.text.index("summary:")]
    for said in (
        "line 3: `source ./library.sh` is not run",
        "Left out, as it is not known whole:",
        "`--max-model-len `: MAX_MODEL_LEN has no value",
        "Not decided:",
        "version=VALUE",
        "To let an argument vary",
    ):
        assert said in head
    space = loaded(found, tmp_path)
    assert space.serve.args == ("--seed", "1")
    assert space.serve.env == {}


def test_a_variable_that_can_run_other_code_needs_trust(tmp_path: Path) -> None:
    command = "export LD_PRELOAD=x.so A=1; vllm serve m"
    refused, kept = of(command, [1]), of(command, [1], trusted=True)
    assert any("LD_PRELOAD: such a variable can run other code" in doubt.said for doubt in refused.doubts)
    assert loaded(refused, tmp_path).serve.env == {"A": "1"}
    assert loaded(kept, tmp_path, trusted=True).serve.env == {"A": "1", "LD_PRELOAD": "x.so"}


def test_a_file_of_the_script_lies_beside_the_space(tmp_path: Path) -> None:
    given = {**GIVEN, "RESULT_DIR": "/r", "DP_ATTENTION": "false"}
    found = of((SCRIPTS / "dense_sglang.sh").read_text(), [4], given=given)
    assert found.files == {"cache.json": '{\n  "mode": "embedded",\n  "segment": "64GB"\n}\n'}
    space = loaded(found, tmp_path)
    assert space.serve.env == {"CACHE_CONFIG": "${cache}"}
    assert space.target.files["cache"].space == "cache.json"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("[ $CONC = 1 ] && vllm serve m; python3 -m sglang.launch_server --model m", "another engine or model"),
        ("vllm serve m$CONC", "another engine or model"),
        ('[ $CONC = 1 ] && A="a=b c=d"; vllm serve m --lora-modules $A x=y', "no knob can hold"),
        ("[ $CONC = 1 ] || exit 2; vllm serve m", "it.sh: line 1: with .*CONC=2 it ends here"),
    ],
)
def test_what_no_space_can_hold_is_refused(script: str, said: str) -> None:
    with pytest.raises(SpaceError, match=said):
        of(script, [1, 2], given={})
