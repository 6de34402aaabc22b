"""Recipes as the emulated engine reads them, and what it refuses in vLLM's own words."""

import json
import re
from pathlib import Path

import pytest

from tests.fakes.emulated import spelled
from trials.engines.emulated import flags
from trials.engines.emulated.chance import chosen_at_random
from trials.engines.emulated.flags import Refused
from trials.engines.emulated.from_recipe import LONGEST_CONTEXT, SWITCHES, command
from trials.engines.emulated.landscape import load
from trials.engines.vllm import Vllm

CAPTURES = Path(__file__).parents[2] / "captures" / "vllm-0.25.1"
L0 = load("L0")


def refusal(*argv: str, **env: str) -> Refused:
    """Return how a command is refused."""
    with pytest.raises(Refused) as caught:
        command(["weights", *argv], env)
    return caught.value


def captured(name: str) -> str:
    """Return a log of the real vLLM."""
    return (CAPTURES / f"{name}.log").read_text()


def test_every_config_can_be_said_and_is_read_as_it_was_meant() -> None:
    for seed in range(300):
        chosen = chosen_at_random(L0, str(seed))
        argv, env = spelled(chosen)
        assert command(["weights", *argv], env).config == chosen


def test_what_is_not_said_is_what_vllm_defaults_to() -> None:
    default = command(["weights"], {}).config
    assert (default.cg, default.async_, default.prefix, default.gmu) == ("FULL_AND_PIECEWISE", 1, 1, 0.92)
    assert (default.mns, default.mnbt, default.block, default.kv) == (1024, 8192, 16, "auto")
    assert {name: getattr(default, name) for name in SWITCHES} == {name: off for name, (_, off) in SWITCHES.items()}


def test_the_merged_recipe_of_kimi_is_understood() -> None:
    merged = json.loads((CAPTURES.parents[1] / "data" / "kimik2.5-2213.json").read_text())
    for serve in merged["serve"].values():
        program, verb, *argv = serve["argv"]
        assert (program, verb) == ("vllm", "serve")
        read = command([*argv, "--served-model-name", "kimi", "--port", "8001"], serve["env"])
        assert (read.model, read.served, read.port, read.max_model_len) == (merged["model"], "kimi", 8001, 9472)
        tp = int(argv[argv.index("--tensor-parallel-size") + 1])
        known = L0.baseline._replace(tp=tp, kv="fp8", mnbt=16384, mns=512, async_=1, prefix=0, gmu=0.85)
        known = known._replace(qr="INT4", fse=1, skinny=0, rms=int(tp == 8), mxint=1, omp="1", cg="FULL_AND_PIECEWISE")
        assert read.config == known
        assert read.notes == ()


def test_what_changes_nothing_is_named() -> None:
    env = {"VLLM_ENGINE_READY_TIMEOUT_S": "3600", "HOME": "/root", "OMP_NUM_THREADS": "1"}
    assert command(["weights"], env).notes == ("VLLM_ENGINE_READY_TIMEOUT_S changes nothing here",)


@pytest.mark.parametrize("argv", ["--gpu_memory_utilization=0.8", "--gpu-memory-utilization=0.8"])
def test_a_flag_may_have_underscores(argv: str) -> None:
    assert command(["weights", argv], {}).config.gmu == 0.8


@pytest.mark.parametrize("argv", [["-cc", '{"cudagraph_mode": "piecewise"}'], ["-cc.cudagraph_mode", "PIECEWISE"]])
def test_a_graph_mode_may_be_said_in_every_way(argv: list[str]) -> None:
    assert command(["weights", *argv], {}).config.cg == "PIECEWISE"


def test_eager_execution_is_taken_for_what_is_nearest_and_said_so() -> None:
    read = command(["weights", "--enforce-eager"], {"AITER_MOE_SORT_BACKEND": "ck"})
    assert (read.config.cg, read.config.sort, read.mode) == ("PIECEWISE", "auto", "NONE")
    assert read.notes == ("cudagraph mode NONE behaves like PIECEWISE", "AITER_MOE_SORT_BACKEND=ck behaves like auto")


@pytest.mark.parametrize(
    ("argv", "log"),
    [
        (["--no-such-flag", "3"], "refused-unknown-flag"),
        (["--kv-cache-dtype", "fp9"], "refused-bad-choice"),
        (["--max-num-seqs", "many"], "refused-bad-number"),
        (["-cc", '{"no_such_key": 1}'], "refused-unknown-compilation-key"),
    ],
)
def test_a_bad_flag_is_refused_word_for_word(argv: list[str], log: str) -> None:
    refused = refusal(*argv)
    assert str(refused).split() == captured(log).split()
    assert refused.code == 2


@pytest.mark.parametrize(
    ("argv", "log"),
    [
        (["-cc", "{cudagraph_mode"], "refused-bad-json"),
        (["-cc.cudagraph_mode=SOMETIMES"], "refused-bad-graph-mode"),
        (["--max-num-batched-tokens", "128", "--max-num-seqs", "256"], "refused-batched-tokens-under-seqs"),
        (["-tp", "16"], "refused-more-gpus-than-here"),
        (["--gpu-memory-utilization", "1.5"], "refused-utilization-over-one"),
        (["--max-model-len", str(LONGEST_CONTEXT + 1)], "refused-context-over-models"),
        (["--kv-cache-dtype", "nvfp4"], "refused-backend-for-kv-type"),
        (["--block-size", "8"], "refused-backend-for-kv-type"),
    ],
)
def test_what_the_configuration_refuses_is_explained_like_the_real_one(argv: list[str], log: str) -> None:
    refused, real = refusal(*argv), captured(log)
    ours, theirs = Vllm().explain(str(refused), refused.code), Vllm().explain(real, 1)
    assert ours.kind == theirs.kind == "refused"
    kinds = re.compile(r"(\w+Config|KeyError|Selected backend)")
    assert kinds.search(ours.reason).group() == kinds.search(theirs.reason).group()  # type: ignore[union-attr]


def test_an_unknown_quantization_is_refused() -> None:
    assert "Valid options" in str(refusal(VLLM_ROCM_QUICK_REDUCE_QUANTIZATION="INT2"))


def test_the_listed_flags_are_those_of_the_captured_help() -> None:
    listed = json.loads((Path(flags.__file__).with_name("flags.json")).read_text())
    names = {name for flag in listed["flags"] for name in flag["names"]}
    text = (CAPTURES / "help-all.txt").read_text()
    shown = set(re.findall(r"^  (-{1,2}[a-z][\w-]*)", text, re.MULTILINE)) - {"-h"}
    assert {name for name in shown if not name.startswith("--no-")} <= names
