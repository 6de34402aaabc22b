"""vLLM's server: which program starts it, why it ended, and what it says that it really runs."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from search_spaces.knob import LayoutName
from trials.engines.adapter import (
    Building,
    EngineNotFound,
    Failure,
    Pattern,
    Reading,
    Setting,
    explain,
    how_it_ended,
    last_readings,
    parallel_flags,
)
from trials.engines.libraries import KERNELS_BUILDING, OUT_OF_MEMORY

PROGRAM = "AUTOTUNE_VLLM"
VERSION_S = 180.0  # it imports torch before it answers
IDLE_FREE = 0.97  # of an idle GPU's memory, at least: an H200 has 0.996 (memory-utilization-too-large.log)
CAPTURES = "tests/captures/vllm-0.25.1"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"Free memory on device \S+ \([^)]*\) on startup is less than desired GPU memory utilization \([^)]*\)",
        "memory",
        f"{CAPTURES}/memory-utilization-too-large.log",
    ),
    Pattern(
        r"To serve at least one request with the model's max seq len .* KV cache memory \([^)]*\)",
        "memory",
        f"{CAPTURES}/memory-kv-below-one-sequence.log",
    ),
    Pattern(r"No available memory for the cache blocks", "memory", f"{CAPTURES}/memory-no-kv-at-all.log"),
    Pattern(r"CUDA out of memory\. Tried to allocate [\d.]+ \w+", "memory", f"{CAPTURES}/memory-weights.log"),
    *OUT_OF_MEMORY,
    Pattern(r"\[Errno 98\] Address already in use", "world", f"{CAPTURES}/world-port-taken.log"),
    Pattern(r"Repo id must be in the form .*?: '.*?'", "world", f"{CAPTURES}/world-no-such-model.log"),
    Pattern(r"local rank \d+ is out of bounds for \d+ devices", "world", f"{CAPTURES}/world-no-gpu.log"),
    Pattern(
        r"\d+ validation errors? for \w+(?:\n.*?){1,12}(?= \[type=)",
        "refused",
        f"{CAPTURES}/refused-context-over-models.log",
    ),
    Pattern(r"vllm(?: serve)?: error: .*", "refused", f"{CAPTURES}/refused-unknown-flag.log"),
    Pattern(
        r"in validate_cudagraph_mode_before(?:\n.*?){1,8}KeyError: .*",
        "refused",
        f"{CAPTURES}/refused-bad-graph-mode.log",
    ),
    Pattern(r"Unknown attention backend: '.*?'", "refused", f"{CAPTURES}/refused-unknown-backend.log"),
    Pattern(
        r"Selected backend .* is not valid for this configuration\. Reason: .*",
        "refused",
        f"{CAPTURES}/refused-backend-for-kv-type.log",
    ),
    Pattern(r"ValueError: Unknown level: .*", "refused", f"{CAPTURES}/refused-environment.log"),
    Pattern(r"engine core exited unexpectedly", "unknown", f"{CAPTURES}/core-killed.log"),
)

METRICS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "generation_tokens": ("vllm:generation_tokens_total",),
    "prefix_query_tokens": ("vllm:prefix_cache_queries_total",),
    "prefix_hit_tokens": ("vllm:prefix_cache_hits_total",),
    "running": ("vllm:num_requests_running",),
}
"""As default-cold.metrics-after.txt has them; prompt tokens are there by source too, computed and cached."""

BUILDING = (
    Building(r"Compiling a graph for compile range", f"{CAPTURES}/default-cold.log"),
    Building(r"torch\.compile took", f"{CAPTURES}/default-cold.log"),
    Building(r"Capturing CUDA graphs", f"{CAPTURES}/default-cold.log"),
    Building(r"Graph capturing finished", f"{CAPTURES}/default-cold.log"),
    Building(r"JIT compilation during inference: ", "vllm-project/vllm#43009, #46167"),
    *KERNELS_BUILDING,
)
"""Of vLLM itself and of the kernel libraries that it loads: Triton, FlashInfer, aiter."""

PHASES: Mapping[str, str] = {
    "Application startup complete": "under load",
    "Capturing CUDA graphs": "at CUDA graph capture",
    "GPU KV cache size": "for the KV cache",
    "Model loading took": "in the profiling run",
    "Loading model from scratch": "for the weights",
}
"""What an allocation was for that came after a line, the last line first; all are in default-cold.log."""


METRICS_CAPTURE = f"{CAPTURES}/default-cold.metrics-after.txt"
CACHE_CONFIG = r'vllm:cache_config_info\{.*?\b%s="([^"]*)"'
READINGS: Mapping[str, Reading] = {
    "version": Reading(r"Initializing a V1 LLM engine \(v(\S+)\)", f"{CAPTURES}/default-cold.log"),
    "max_model_len": Reading(r"Using max model len (\d+)", f"{CAPTURES}/default-cold.log"),
    "max_num_batched_tokens": Reading(r"max_num_batched_tokens=(\d+)\.", f"{CAPTURES}/default-cold.log"),
    "async_scheduling": Reading(
        r"Asynchronous scheduling is (enabled|disabled)", f"{CAPTURES}/no-async-scheduling.log"
    ),
    "kv_cache_dtype": Reading(r"\bkv_cache_dtype=(\w+)", f"{CAPTURES}/fp8-kv.log"),
    "tensor_parallel_size": Reading(r"\btensor_parallel_size=(\d+)", f"{CAPTURES}/default-cold.log"),
    "enforce_eager": Reading(r"\benforce_eager=(\w+)", f"{CAPTURES}/enforce-eager.log"),
    "enable_prefix_caching": Reading(r"\benable_prefix_caching=(\w+)", f"{CAPTURES}/default-cold.log"),
    "gpu_memory_utilization": Reading(CACHE_CONFIG % "gpu_memory_utilization", METRICS_CAPTURE),
    "block_size": Reading(CACHE_CONFIG % "block_size", METRICS_CAPTURE),
    "kv_cache_tokens": Reading(r"GPU KV cache size: ([\d,]+) tokens", f"{CAPTURES}/default-cold.log"),
    "kv_cache_gib": Reading(r"Available KV cache memory: ([\d.]+) GiB", f"{CAPTURES}/default-cold.log"),
    "max_concurrency": Reading(
        r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x", f"{CAPTURES}/default-cold.log"
    ),
    "attention_backend": Reading(r"Using (\w+) attention backend", f"{CAPTURES}/int4-kv.log"),
    "cudagraph_mode": Reading(r"'cudagraph_mode': <CUDAGraphMode\.(\w+)", f"{CAPTURES}/piecewise.log"),
    "weights_gib": Reading(r"Model loading took ([\d.]+) GiB", f"{CAPTURES}/default-cold.log"),
    "compile_s": Reading(r"torch\.compile took ([\d.]+) s in total", f"{CAPTURES}/default-cold.log"),
    "capture_s": Reading(r"Graph capturing finished in (\d+) secs", f"{CAPTURES}/default-cold.log"),
}
CAPTURED_GRAPHS = Reading(r"Capturing CUDA graphs \((\w+)\)", f"{CAPTURES}/default-cold.log")

GRAPHS = ("--compilation-config.cudagraph_mode", "-cc.cudagraph_mode")
SETTINGS: Mapping[str, Setting] = {
    "max_model_len": Setting(options=("--max-model-len",), open=("auto", "-1")),
    "max_num_batched_tokens": Setting(options=("--max-num-batched-tokens",)),
    "async_scheduling": Setting(options=("--async-scheduling",), words={"enabled": "True", "disabled": "False"}),
    "kv_cache_dtype": Setting(options=("--kv-cache-dtype",), words={"fp8_e4m3": "fp8", "fp8_ds_mla": "fp8"}),
    "tensor_parallel_size": Setting(options=("--tensor-parallel-size", "-tp")),
    "enforce_eager": Setting(options=("--enforce-eager",)),
    "enable_prefix_caching": Setting(options=("--enable-prefix-caching",)),
    "gpu_memory_utilization": Setting(options=("--gpu-memory-utilization",)),
    "block_size": Setting(options=("--block-size",)),
    "attention_backend": Setting(options=("--attention-backend",), variable="VLLM_ATTENTION_BACKEND"),
    "cudagraph_mode": Setting(options=GRAPHS),
    "captured_graphs": Setting(
        options=GRAPHS, words={"FULL_DECODE_ONLY": "FULL", "FULL_AND_PIECEWISE": "FULL, PIECEWISE"}
    ),
}
"""In the words of help-all.txt; graphs are asked for as a mode, and captured in kinds."""
UNKNOWN_VARIABLE = Reading(
    r"Unknown vLLM environment variable detected: (\w+)", "https://github.com/vllm-project/vllm/pull/50346"
)


@dataclass(frozen=True, kw_only=True)
class Effective:
    """
    What vLLM says that it runs; None where it does not say.

    Attributes:
        async_scheduling: Whether the scheduler works ahead of the GPU.
        kv_cache_dtype: As asked: `auto` is the weights' type.
        max_concurrency: Sequences of the longest length that the KV cache holds at once.
        cudagraph_mode: As configured; `captured_graphs` is what was done.
        captured_graphs: Kinds of CUDA graph that were captured, sorted; none with eager execution.
        compile_s: Seconds in torch.compile; a warm compile cache makes them few.
        capture_s: Seconds of CUDA graph capture, whole ones.
    """

    version: str | None
    max_model_len: int | None
    max_num_batched_tokens: int | None
    async_scheduling: bool | None
    kv_cache_dtype: str | None
    kv_cache_tokens: int | None
    kv_cache_gib: float | None
    max_concurrency: float | None
    attention_backend: str | None
    cudagraph_mode: str | None
    captured_graphs: tuple[str, ...]
    weights_gib: float | None
    compile_s: float | None
    capture_s: float | None


class Vllm:
    """The adapter; it has no state."""

    patterns = PATTERNS
    readings = READINGS
    settings = SETTINGS
    unknown_variable: Reading | None = UNKNOWN_VARIABLE
    metrics = METRICS
    building = BUILDING

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path | None) -> list[str]:
        """
        Return `vllm serve`'s command line; where the API is and what it is called are ours and come last.

        The first of `args` names the weights, a folder or a hub id, as after `vllm serve`. Where it is a flag, `model`
        is the hub id too: without a name vLLM would serve a default model of its own.

        Raises:
            EngineNotFound: No `vllm` is here.
        """
        weights = [] if args and not args[0].startswith("-") else [model]
        ours = ["--served-model-name", model, "--host", host, "--port", str(port)]
        return ["vllm" if data_root is None else program(), "serve", *weights, *args, *ours]

    def layout(self, dimensions: Mapping[LayoutName, int]) -> list[str]:
        """Return vLLM's flags."""
        return parallel_flags(dimensions)

    def version(self, data_root: Path) -> str:  # noqa: ARG002  # a user's own vLLM, not one under the data root
        """
        Return which vLLM would run: what it calls itself, and where it is.

        Raises:
            EngineNotFound: None would, or it does not tell.
        """
        return version()

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why vLLM ended, in its own words where the log has a known line."""
        failure = explain(PATTERNS, log, returncode)
        reason = re.sub(r"(?:\s|\(\w+ pid=\d+\))+", " ", failure.reason).strip()
        if failure.kind != "memory":
            return replace(failure, reason=reason)
        if _held_by_others(reason):
            return Failure("world", reason)
        return Failure("memory", " ".join([reason, *_phase(log)]) if "out of memory" in reason else reason)

    def effective(self, said: str) -> Mapping[str, str] | None:
        """Return what vLLM says that it runs, in its words."""
        graphs = ", ".join(sorted(set(re.findall(CAPTURED_GRAPHS.regex, said))))
        return {**last_readings(READINGS, said), **({"captured_graphs": graphs} if graphs else {})} or None


def program() -> str:
    """
    Return the path of the program: $AUTOTUNE_VLLM, or `vllm` on PATH.

    Raises:
        EngineNotFound: Neither is here, or the variable names no program.
    """
    if named := os.environ.get(PROGRAM):
        if not os.access(named, os.X_OK):
            raise EngineNotFound(f"{PROGRAM}={named} is no program: name an executable vllm, or unset it")
        return str(Path(named).absolute())
    if found := shutil.which("vllm"):
        return found
    raise EngineNotFound(f"vLLM is not here (no vllm on PATH): activate its environment, or name it in {PROGRAM}")


def version() -> str:
    """
    Return what the program answers to `--version`, and its path.

    Raises:
        EngineNotFound: There is no program, or it does not answer.
    """
    command = [program(), "--version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=VERSION_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineNotFound(f"{command[0]} --version: {error}: mend it, or name another vllm in {PROGRAM}") from error
    lines = said.stdout.splitlines()
    if said.returncode or not lines:
        ending = how_it_ended(said.returncode)
        raise EngineNotFound(f"{command[0]} --version {ending}: {said.stderr[-500:].strip()}: mend it, or name another")
    return f"vllm {lines[-1].strip()} at {command[0]}"


def read(log: str) -> Effective:
    """Return what a log of vLLM says that runs."""
    said = dict.fromkeys(READINGS) | last_readings(READINGS, log)
    scheduling = said["async_scheduling"]
    return Effective(
        version=said["version"],
        max_model_len=_whole(said["max_model_len"]),
        max_num_batched_tokens=_whole(said["max_num_batched_tokens"]),
        async_scheduling=None if scheduling is None else scheduling == "enabled",
        kv_cache_dtype=said["kv_cache_dtype"],
        kv_cache_tokens=_whole(said["kv_cache_tokens"]),
        kv_cache_gib=_real(said["kv_cache_gib"]),
        max_concurrency=_real(said["max_concurrency"]),
        attention_backend=said["attention_backend"],
        cudagraph_mode=said["cudagraph_mode"],
        captured_graphs=tuple(sorted(set(re.findall(CAPTURED_GRAPHS.regex, log)))),
        weights_gib=_real(said["weights_gib"]),
        compile_s=_real(said["compile_s"]),
        capture_s=_real(said["capture_s"]),
    )


def _whole(digits: str | None) -> int | None:
    return None if digits is None else int(digits.replace(",", ""))


def _real(digits: str | None) -> float | None:
    return None if digits is None else float(digits)


def _phase(log: str) -> list[str]:
    """Return what an allocation that failed was for; nothing where the log does not tell."""
    return [phase for line, phase in PHASES.items() if line in log][:1]


def _held_by_others(reason: str) -> bool:
    """Return whether too little memory was free at the start because another process had it."""
    found = re.search(r"Free memory on device \S+ \(([\d.]+)/([\d.]+) GiB\)", reason)
    return found is not None and float(found[1]) < IDLE_FREE * float(found[2])
