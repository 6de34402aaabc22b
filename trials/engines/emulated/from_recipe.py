"""From a recipe's command line and environment to the landscape's parameters, as NAMES.md lists them. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trials.engines.emulated.config import Config
from trials.engines.emulated.flags import FURTHER, Refused, parse

GPUS = 8
LONGEST_CONTEXT = 262144
"""Of Kimi-K2.5. Source: its config.json, max_position_embeddings."""
DEFAULT_MODEL = "amd/Kimi-K2.5-MXFP4"
SWITCHES = {
    "aiter": ("VLLM_ROCM_USE_AITER", 0),
    "moe": ("VLLM_ROCM_USE_AITER_MOE", 1),
    "mla": ("VLLM_ROCM_USE_AITER_MLA", 1),
    "rms": ("VLLM_ROCM_USE_AITER_RMSNORM", 1),
    "linear": ("VLLM_ROCM_USE_AITER_LINEAR", 1),
    "fse": ("VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS", 0),
    "skinny": ("VLLM_ROCM_USE_SKINNY_GEMM", 1),
    "mxint": ("AITER_MXFP4_INTERMEDIATE", 0),
    "bypass": ("AITER_BYPASS_TUNE_CONFIG", 0),
    "bmm": ("VLLM_ROCM_USE_AITER_FP4_ASM_GEMM", 0),
    "rope": ("VLLM_ROCM_USE_AITER_TRITON_ROPE", 0),
    "persist": ("VLLM_AITER_MLA_PERSISTENT_METADATA", 1),
    "scratch": ("HSA_NO_SCRATCH_RECLAIM", 0),
}
"""Variables that are on or off, and what they are when they are not set."""
QUICK_REDUCE = "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION"
QUANTIZATIONS = ("FP", "INT8", "INT6", "INT4", "NONE")
SORT, SORTS = "AITER_MOE_SORT_BACKEND", ("auto", "opus", "triton")
THREADS = "OMP_NUM_THREADS"
READ = frozenset({QUICK_REDUCE, SORT, THREADS, *(name for name, _ in SWITCHES.values())})
ENGINE_PREFIXES = ("VLLM_", "AITER_", "HIP_", "HSA_", "ROCR_", "RCCL_", "NCCL_", "AMDGCN_", "TRITON_", "GPU_")
BLOCKS = (1, 16, 32, 64)
KV_TYPES = {"auto": "auto", "bfloat16": "auto", "fp8": "fp8", "fp8_e4m3": "fp8"}
MODES = {
    "NONE": "PIECEWISE",
    "PIECEWISE": "PIECEWISE",
    "FULL": "FULL_DECODE_ONLY",
    "FULL_DECODE_ONLY": "FULL_DECODE_ONLY",
    "FULL_AND_PIECEWISE": "FULL_AND_PIECEWISE",
}
"""vLLM's cudagraph modes, and the landscape's that stands for each."""
COMPILATION_KEYS = frozenset(
    {
        "mode",
        "level",
        "debug_dump_path",
        "cache_dir",
        "compile_cache_save_format",
        "backend",
        "custom_ops",
        "ir_enable_torch_wrap",
        "splitting_ops",
        "compile_mm_encoder",
        "cudagraph_mm_encoder",
        "encoder_cudagraph_token_budgets",
        "encoder_cudagraph_max_vision_items_per_batch",
        "encoder_cudagraph_max_frames_per_batch",
        "compile_sizes",
        "compile_ranges_endpoints",
        "inductor_compile_config",
        "inductor_passes",
        "cudagraph_mode",
        "cudagraph_num_of_warmups",
        "cudagraph_capture_sizes",
        "cudagraph_copy_inputs",
        "cudagraph_specialize_lora",
        "use_inductor_graph_partition",
        "pass_config",
        "max_cudagraph_capture_size",
        "dynamic_shapes_config",
        "local_cache_dir",
        "fast_moe_cold_start",
        "static_all_moe_layers",
    }
)
"""Source: the engine's config in tests/captures/vllm-0.25.1/default-cold.log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """
    What a command line and an environment ask for.

    Attributes:
        model: What is loaded; `served` is what the API calls it.
        given: Every flag that was given, as vLLM logs them.
        mode: The cudagraph mode as asked.
        notes: What the landscape does not have and how it is taken, for the log.
    """

    config: Config
    model: str
    served: str
    host: str
    port: int
    max_model_len: int
    given: Mapping[str, Any]
    mode: str
    notes: tuple[str, ...]


def command(argv: Sequence[str], env: Mapping[str, str]) -> Command:
    """
    Return what the arguments after `vllm serve` and the environment ask for.

    Raises:
        Refused: vLLM would not start with them.
    """
    given = parse(argv)
    compilation = _compilation(given)
    mode = _mode(given, compilation)
    chosen = _config(given, env, mode)
    _check(given, chosen)
    model = given.get("model_tag") or given.get("model") or DEFAULT_MODEL
    return Command(
        config=chosen,
        model=model,
        served=(given.get("served-model-name") or [model])[0],
        host=given.get("host", "127.0.0.1"),
        port=given.get("port", 8000),
        max_model_len=given.get("max-model-len", LONGEST_CONTEXT),
        given=given,
        mode=mode,
        notes=tuple(_notes(env, mode)),
    )


def _config(given: Mapping[str, Any], env: Mapping[str, str], mode: str) -> Config:
    switches = {parameter: _on(env.get(name), default) for parameter, (name, default) in SWITCHES.items()}
    return Config(
        tp=given.get("tensor-parallel-size", 1),
        ep=int(given.get("enable-expert-parallel", False)),
        kv=_kv(given.get("kv-cache-dtype", "auto")),
        block=_block(given.get("block-size", 16)),
        mnbt=given.get("max-num-batched-tokens", 8192),
        mns=given.get("max-num-seqs", 1024),
        cg=MODES[mode],
        gmu=given.get("gpu-memory-utilization", 0.92),
        async_=int(given.get("async-scheduling", True)),
        prefix=int(given.get("enable-prefix-caching", True)),
        qr=_quick_reduce(env.get(QUICK_REDUCE, "NONE")),
        sort=env.get(SORT, "auto") if env.get(SORT) in SORTS else "auto",
        omp=_threads(env.get(THREADS)),
        **switches,
    )


def _on(value: str | None, default: int) -> int:
    return default if value is None else int(value.strip().lower() in {"1", "true"})


def _kv(kind: str) -> str:
    if kind not in KV_TYPES:
        raise _no_backend("kv_cache_dtype not supported")
    return KV_TYPES[kind]


def _block(size: int) -> int:
    if size not in BLOCKS:
        raise _no_backend("block_size not supported")
    return size


def _no_backend(reason: str) -> Refused:
    return Refused(
        "ValueError: Selected backend AttentionBackendEnum.ROCM_AITER_MLA is not valid for this configuration. "
        f"Reason: [{reason!r}]\n",
        code=1,
    )


def _quick_reduce(value: str) -> str:
    if value not in QUANTIZATIONS:
        valid = list(QUANTIZATIONS)
        raise Refused(f"ValueError: Invalid value {value!r} for {QUICK_REDUCE}. Valid options: {valid}\n", code=1)
    return value


def _threads(value: str | None) -> str:
    """Return the landscape's value for a number of threads: 1 is a case of its own, all others are like 8."""
    return "unset" if not value else "1" if value.strip() == "1" else "8"


def _compilation(given: Mapping[str, Any]) -> Mapping[str, Any]:
    text = given.get("compilation-config", "{}")
    flag, part = "--compilation-config/-cc", "1 validation error for CompilationConfig"
    try:
        said = json.loads(text)
    except ValueError as error:
        problem = f"Invalid JSON: {error} [type=json_invalid, input_value={text!r}, input_type=str]"
        raise Refused.argument(flag, f"{part}\n  {problem}\n{FURTHER}json_invalid") from error
    said = said if isinstance(said, dict) else {"mode": said}
    for key in said.keys() - COMPILATION_KEYS:
        kind = f"[type=unexpected_keyword_argument, input_value={said[key]!r}, input_type={type(said[key]).__name__}]"
        problem = f"{key}\n  Unexpected keyword argument {kind}"
        raise Refused.argument(flag, f"{part}\n{problem}\n{FURTHER}unexpected_keyword_argument")
    return said


def _mode(given: Mapping[str, Any], compilation: Mapping[str, Any]) -> str:
    if given.get("enforce-eager"):
        return "NONE"
    mode = str(compilation.get("cudagraph_mode", "FULL_AND_PIECEWISE")).upper()
    if mode not in MODES:
        text = (
            "Traceback (most recent call last):\n"
            '  File "vllm/config/compilation.py", line 853, in validate_cudagraph_mode_before\n'
            f"    return CUDAGraphMode[value.upper()]\nKeyError: {mode!r}\n"
        )
        raise Refused(text, code=1)
    return mode


def _check(given: Mapping[str, Any], chosen: Config) -> None:
    """Refuse what vLLM's own configuration refuses."""
    longest = given.get("max-model-len", LONGEST_CONTEXT)
    if longest > LONGEST_CONTEXT:
        raise Refused.config(
            "ModelConfig",
            f"User-specified max_model_len ({longest}) is greater than the derived max_model_len "
            f"(max_position_embeddings={LONGEST_CONTEXT} or model_max_length=None in model's config.json).",
        )
    if chosen.mnbt < chosen.mns:
        raise Refused.config(
            "SchedulerConfig",
            f"max_num_batched_tokens ({chosen.mnbt}) must be greater than or equal to max_num_seqs ({chosen.mns}).",
        )
    if chosen.tp > GPUS:
        raise Refused.config(
            "ParallelConfig",
            f"World size ({chosen.tp}) is larger than the number of available GPUs ({GPUS}) in this node.",
        )
    if not 0 < chosen.gmu <= 1:
        bound = "less than or equal to 1" if chosen.gmu > 1 else "greater than 0"
        text = (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\n"
            f"gpu_memory_utilization\n  Input should be {bound} [type=less_than_equal, "
            f"input_value={chosen.gmu}, input_type=float]\n{FURTHER}less_than_equal\n"
        )
        raise Refused(text, code=1)


def _notes(env: Mapping[str, str], mode: str) -> list[str]:
    """Return what the landscape takes for something else, and what it does not know."""
    notes = [f"cudagraph mode {mode} behaves like {MODES[mode]}"] if MODES[mode] != mode else []
    if env.get(SORT, "auto") not in SORTS:
        notes.append(f"{SORT}={env[SORT]} behaves like auto")
    unread = sorted(name for name in env if name.startswith(ENGINE_PREFIXES) and name not in READ)
    return notes + [f"{name} changes nothing here" for name in unread]
