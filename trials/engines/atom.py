"""ATOM's OpenAI server: how it starts, why it ended, and what it says that it really runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from search_spaces.knob import LayoutName
from trials.engines.adapter import Building, Failure, Pattern, Reading, Setting, explain, last_readings, parallel_flags
from trials.engines.libraries import KERNELS_BUILDING, OUT_OF_MEMORY, PORT_TAKEN
from trials.engines.python_module import PythonModule, with_weights

REPOSITORY = "ROCm/ATOM@ffdf3bb5"
RUNNER = f"{REPOSITORY} atom/model_engine/model_runner.py"
CONFIG = f"{REPOSITORY} atom/config.py"
ARGUMENTS = f"{REPOSITORY} atom/model_engine/arg_utils.py"

SERVER = PythonModule("atom.entrypoints.openai_server", distribution="atom", variable="AUTOTUNE_ATOM_PYTHON")
WEIGHTS = ("--model",)

PATTERNS = (
    Pattern(r"Per-request cache tensor .* is physically free on the GPU .*", "world", RUNNER),
    Pattern(r"Per-request cache tensor .* exceeds available KV budget .*", "memory", RUNNER),
    *OUT_OF_MEMORY,
    *PORT_TAKEN,
    Pattern(r"local_device_rank=\d+ exceeds available GPUs \(0\)", "world", RUNNER),
    Pattern(r"local_device_rank=\d+ exceeds available GPUs \(\d+\)", "refused", RUNNER),
    Pattern(
        r"openai_server(?:\.py)?: error: .*", "refused", f"{REPOSITORY} atom/entrypoints/openai/api_server.py: argparse"
    ),
    Pattern(r"Error parsing size list: .*", "refused", ARGUMENTS),
    Pattern(r"--draft-model is .*", "refused", ARGUMENTS),
    Pattern(r"Unknown --\w+-config key\(s\): .*", "refused", CONFIG),
    Pattern(r"num_speculative_tokens must be between .*", "refused", CONFIG),
    Pattern(r"synthetic_acceptance_\w+ \(--spec-decode-acceptance-\w+\) must be in .*", "refused", CONFIG),
    Pattern(
        r"--enable-dp-attention and pipeline-parallel \(pp>1\) cannot be used together",
        "refused",
        f"{REPOSITORY} atom/model_engine/llm_engine.py",
    ),
    Pattern(
        r"Failed to start all EngineCore processes", "unknown", f"{REPOSITORY} atom/model_engine/engine_core_mgr.py"
    ),
)

METRICS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("atom:prompt_tokens_total",),
    "generation_tokens": ("atom:generation_tokens_total",),
    "prefix_query_tokens": ("atom:prefix_cache_full_tokens_total",),
    "prefix_hit_tokens": ("atom:prefix_cache_cached_tokens_total",),
    "running": ("atom:requests_running",),
}
"""Of ROCm/ATOM@ffdf3bb5 atom/entrypoints/openai/metrics.py; tokens are counted when their request has ended."""

BUILDING = (
    Building(r"PIECEWISE cudagraph: capturing per-piece graphs", RUNNER),
    Building(r"Capturing bs=\d+, max_q_len=\d+", RUNNER),
    *KERNELS_BUILDING,
)

CAPACITY = r"Concurrent capacity vs context length \(max_model_len=%s, block_size=%s, max_slots=%s, pool_blocks=%s"


def _capacity(field: int) -> Reading:
    """Return a reading of one number of the line on what the KV cache holds."""
    return Reading(CAPACITY % tuple(r"(\d+)" if place == field else r"\d+" for place in range(4)), RUNNER)


READINGS: Mapping[str, Reading] = {
    "kv_cache_dtype": Reading(r"Engine kwargs: .*'kv_cache_dtype': '(\w+)'", ARGUMENTS),
    "max_num_batched_tokens": Reading(r"Engine kwargs: .*'max_num_batched_tokens': (\d+)", ARGUMENTS),
    "enable_prefix_caching": Reading(r"Engine kwargs: .*'enable_prefix_caching': (\w+)", ARGUMENTS),
    "enforce_eager": Reading(r"Engine kwargs: .*'enforce_eager': (\w+)", ARGUMENTS),
    "max_model_len": _capacity(0),
    "block_size": _capacity(1),
    "max_num_seqs": _capacity(2),
    "kv_cache_blocks": _capacity(3),
    "load_s": Reading(r"Model load done: .*\(weights loaded in ([\d.]+)s\)", RUNNER),
}

SETTINGS: Mapping[str, Setting] = {
    name: Setting(options=(f"--{name.replace('_', '-')}",))
    for name in READINGS
    if name not in {"max_num_seqs", "kv_cache_blocks", "load_s"}
}
"""Not how many sequences: the line on the KV cache tells those that have room."""


class Atom:
    """The adapter; it has no state."""

    patterns = PATTERNS
    readings = READINGS
    settings = SETTINGS
    unknown_variable: Reading | None = None
    metrics = METRICS
    building = BUILDING

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path | None) -> list[str]:
        """
        Return the server's command line; where the API is and what it is called are ours and come last.

        The API is at `--server-port`; `--port` is for the engine's own processes.

        Raises:
            EngineNotFound: No Python to start it with.
        """
        ours = ["--served-model-name", model, "--host", host, "--server-port", str(port)]
        return [*SERVER.command(data_root), *with_weights(args, WEIGHTS, model), *ours]

    def layout(self, dimensions: Mapping[LayoutName, int]) -> list[str]:
        """Return ATOM's flags, which are vLLM's."""
        return parallel_flags(dimensions)

    def version(self, data_root: Path) -> str:  # noqa: ARG002  # a user's own ATOM, not one under the data root
        """
        Return which ATOM would run.

        Raises:
            EngineNotFound: None would.
        """
        return SERVER.version()

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why ATOM ended, in its own words where the log has a known line."""
        return explain(PATTERNS, log, returncode)

    def effective(self, said: str) -> Mapping[str, str] | None:
        """Return what ATOM says that it runs."""
        return last_readings(READINGS, said) or None
