"""What was asked of an engine beside what it says that it runs, on captured logs and on a running emulated engine."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.emulated import running, spelled
from trials.engines import ENGINES, engine
from trials.engines.adapter import Setting
from trials.engines.asked import UNKNOWN, Mismatch, asked, compared, mismatches
from trials.engines.emulated.landscape import load

CAPTURES = Path(__file__).parents[1] / "captures/vllm-0.25.1"
RECORDS: Mapping[str, dict[str, Any]] = json.loads((CAPTURES / "captures.json").read_text(encoding="utf-8"))
LOGS = [name for name in RECORDS if (CAPTURES / f"{name}.log").exists()]
VLLM = engine("vllm")
GRAPHS = "--compilation-config.cudagraph_mode"


def captured(name: str) -> str:
    """Return what a captured vLLM said: its log, and its metrics where they were asked for."""
    pages = [CAPTURES / f"{name}.log", CAPTURES / f"{name}.metrics-after.txt"]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())


def vllm(capture: str, *args: str, **env: str) -> list[tuple[str, str, str]]:
    """Return what a captured vLLM would not have done of what these arguments and variables ask."""
    found = mismatches(VLLM, args, env, captured(capture))
    return [(each.setting, each.asked, each.effective) for each in found]


@pytest.mark.parametrize("capture", LOGS)
def test_a_captured_vllm_did_all_that_its_command_line_asked(capture: str) -> None:
    record = RECORDS[capture]
    assert mismatches(VLLM, record["argv"][2:], record.get("env", {}), captured(capture)) == ()


@pytest.mark.parametrize(
    ("args", "mismatch"),
    [
        (("--kv-cache-dtype", "fp8"), ("--kv-cache-dtype", "fp8", "auto")),
        (("--kv_cache_dtype=fp8",), ("--kv-cache-dtype", "fp8", "auto")),
        (("--no-async-scheduling",), ("--async-scheduling", "False", "enabled")),
        (("--no-enable-prefix-caching",), ("--enable-prefix-caching", "False", "True")),
        (("--enforce-eager",), ("--enforce-eager", "True", "False")),
        (("--max-num-batched-tokens", "16k"), ("--max-num-batched-tokens", "16k", "8192")),
        (("--attention-backend", "TRITON_ATTN"), ("--attention-backend", "TRITON_ATTN", "FLASH_ATTN")),
        (("--gpu-memory-utilization", "0.85"), ("--gpu-memory-utilization", "0.85", "0.92")),
        (("--block-size", "1"), ("--block-size", "1", "16")),
        (("--tensor-parallel-size", "8"), ("--tensor-parallel-size", "8", "1")),
    ],
)
def test_an_option_that_the_default_engine_does_not_follow_is_named(
    args: Sequence[str], mismatch: tuple[str, str, str]
) -> None:
    assert vllm("default-cold", *args) == [mismatch]


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--kv-cache-dtype", "auto", "--max-model-len", "-1"),
        ("--max-num-batched-tokens", "8K", "--gpu-memory-utilization", "0.920"),
        ("--async-scheduling", "--enable-prefix-caching", "--no-enforce-eager"),
        ("--no-async-scheduling", "--async-scheduling"),
        ("-cc.cudagraph_mode=full_and_piecewise",),
        ("--max-num-seqs", "64"),
    ],
)
def test_what_was_left_open_or_written_otherwise_or_is_not_told_is_no_mismatch(args: Sequence[str]) -> None:
    assert vllm("default-cold", *args) == []


@pytest.mark.parametrize(("capture", "mode"), [("fp8-kv", "fp8_e4m3"), ("int4-kv", "int4_per_token_head")])
def test_another_name_of_a_value_is_the_same_value(capture: str, mode: str) -> None:
    assert vllm(capture, "--kv-cache-dtype", mode) == []


def test_a_graph_mode_is_compared_with_the_kinds_that_were_captured() -> None:
    """A mode that the attention backend does not support is configured all the same, and less is captured."""
    said = captured("full-decode-only").replace("Capturing CUDA graphs (FULL)", "Capturing CUDA graphs (PIECEWISE)")
    asked_for = ["--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}']
    assert mismatches(VLLM, asked_for, {}, said) == (Mismatch(GRAPHS, "FULL_DECODE_ONLY", "PIECEWISE"),)


def test_a_variable_that_an_engine_does_not_read_any_more_is_seen_by_what_runs() -> None:
    found = vllm("default-cold", VLLM_ATTENTION_BACKEND="TRITON_ATTN")
    assert found == [("VLLM_ATTENTION_BACKEND", "TRITON_ATTN", "FLASH_ATTN")]


def test_a_variable_that_an_engine_says_it_does_not_know_is_named_once() -> None:
    """The line of vLLM, for a variable that was set for it and one that its image brings along."""
    line = "(APIServer pid=1) WARNING 07-02 21:58:11 [envs.py:2027] Unknown vLLM environment variable detected: "
    said = f"{line}VLLM_FLASHINFER_MOE_BACKEND\n{line}VLLM_IMAGE_TAG\n{line}VLLM_FLASHINFER_MOE_BACKEND\n"
    env = {"VLLM_FLASHINFER_MOE_BACKEND": "cutlass", "VLLM_ROCM_USE_AITER": "1", "VLLM_USE_V1": None}
    assert mismatches(VLLM, (), env, said) == (Mismatch("VLLM_FLASHINFER_MOE_BACKEND", "cutlass", UNKNOWN),)


def test_options_are_read_by_one_name_and_the_last_of_them_counts() -> None:
    args = ["weights", "--max_num_seqs", "64", "--max-num-seqs=128", "--chunked-prefill-size", "-1", "-tp", "8"]
    config = ["-cc.mode", "3", "--compilation-config", '{"cudagraph_mode": "NONE", "level": 3}', "--note", "{no json"]
    assert asked([*args, *config, "--no-fuse", "--last"], {"A": "1", "B": None}) == {
        "--max-num-seqs": "128",
        "--chunked-prefill-size": "-1",
        "-tp": "8",
        "-cc.mode": "3",
        "--compilation-config.cudagraph_mode": "NONE",
        "--compilation-config.level": "3",
        "--note": "{no json",
        "--fuse": "False",
        "--last": "True",
        "A": "1",
    }


def test_only_what_was_asked_and_is_told_is_compared() -> None:
    settings = {"threads": Setting(options=("--threads", "-t"))}
    assert compared(settings, {"--threads": "4"}, {"threads": "2"}) == (Mismatch("--threads", "4", "2"),)
    assert compared(settings, {"-t": "2"}, {"threads": "2"}) == ()
    assert compared(settings, {"--threads": "4"}, {"slots": "2"}) == ()
    assert compared(settings, {}, {"threads": "2"}) == ()


@pytest.mark.parametrize("name", ENGINES)
def test_every_setting_is_of_something_that_the_engine_tells(name: str) -> None:
    told = {*ENGINES[name].readings, "captured_graphs"}
    assert set(ENGINES[name].settings) <= told


def test_every_option_of_vllm_is_one_of_its_help() -> None:
    listed = (CAPTURES / "help-all.txt").read_text(encoding="utf-8").replace(",", " ").split()
    options = {option.partition(".")[0] for setting in VLLM.settings.values() for option in setting.options}
    assert options <= set(listed)


def test_an_emulated_engine_does_what_its_baseline_asks_and_captures_no_graph_that_it_has_no_kernel_for() -> None:
    base = load("L0").baseline._replace(cg="FULL_AND_PIECEWISE")
    found = {}
    for mla in (0, 1):
        flags, env = spelled(base._replace(aiter=1, mla=mla))
        with running(flags, env) as one:
            one.process.terminate()
            _, said = one.ended()
        found[mla] = mismatches(engine("emulated"), flags, env, said)
    assert found == {0: (Mismatch(GRAPHS, "FULL_AND_PIECEWISE", "PIECEWISE"),), 1: ()}
