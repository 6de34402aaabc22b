"""SGLang's server: how it starts, why it ended, and what it says that it really runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from search_spaces.knob import LayoutName
from trials.engines.adapter import Building, Failure, Pattern, Reading, Setting, explain, last_readings
from trials.engines.libraries import KERNELS_BUILDING, OUT_OF_MEMORY, PORT_TAKEN
from trials.engines.python_module import PythonModule, with_weights

THREADS = "https://github.com/sgl-project/sglang"
CAPTURE = f"{THREADS}/pull/11830"
ARGUMENTS = f"{THREADS}/issues/4895"

SERVER = PythonModule("sglang.launch_server", distribution="sglang", variable="AUTOTUNE_SGLANG_PYTHON")
"""sgl-project/sglang@046a9e40 python/sglang/launch_server.py: supported still beside `sglang serve`."""
WEIGHTS = ("--model-path", "--model")
COUNTED = "--enable-metrics"
"""Its counters are off without it: sgl-project/sglang@004813e1 docs/advanced_features/server_arguments.md."""

PATTERNS = (
    Pattern(
        r"Not enough memory\. Please try to increase --mem-fraction-static\..*",
        "memory",
        "sgl-project/sglang@003fca80 python/sglang/srt/model_executor/pool_configurator.py",
    ),
    Pattern(r"alloc_req_slots runs out of memory\..*", "memory", f"{THREADS}/issues/10408"),
    *OUT_OF_MEMORY,
    *PORT_TAKEN,
    Pattern(r"launch_server\.py: error: .*", "refused", f"{THREADS}/issues/4116"),
    Pattern(r"Capture cuda graph failed: .*", "unknown", f"{THREADS}/issues/4205"),
    Pattern(r"Received sigquit from a child process\.", "unknown", f"{THREADS}/pull/19781"),
)

PROMPT_TOKENS = ("sglang:prompt_tokens_total",)
METRICS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": PROMPT_TOKENS,
    "generation_tokens": ("sglang:generation_tokens_total",),
    "prefix_query_tokens": PROMPT_TOKENS,
    "prefix_hit_tokens": ("sglang:cached_tokens_total",),
    "running": ("sglang:num_running_reqs",),
}
"""
As in sgl-project/sglang@44cedc2b python/sglang/srt/observability/metrics_collector.py; every prompt is looked up, and
tokens are counted when their request has ended.
"""

BUILDING = (
    Building(r"Capture cuda graph begin\.", CAPTURE),
    Building(r"Capturing batches \(bs=\d+", CAPTURE),
    Building(r"Capture cuda graph end\.", CAPTURE),
    *KERNELS_BUILDING,
)


def _argument(name: str, value: str) -> Reading:
    """Return a reading of one argument of the line on how SGLang took its command line."""
    return Reading(rf"server_args=ServerArgs\(.*\b{name}={value}", ARGUMENTS)


READINGS: Mapping[str, Reading] = {
    "mem_fraction_static": _argument("mem_fraction_static", r"([\d.]+)"),
    "chunked_prefill_size": _argument("chunked_prefill_size", r"(-?\d+)"),
    "max_prefill_tokens": _argument("max_prefill_tokens", r"(\d+)"),
    "page_size": _argument("page_size", r"(\d+)"),
    "tp_size": _argument("tp_size", r"(\d+)"),
    "kv_cache_dtype": Reading(r"Using KV cache dtype: ([\w.]+)", CAPTURE),
    "kv_cache_tokens": Reading(r"KV Cache is allocated\..* #tokens: (\d+)", CAPTURE),
    "captured_batch_sizes": Reading(r"Capture cuda graph bs (\[[\d, ]+\])", CAPTURE),
    "capture_s": Reading(r"Capture cuda graph end\. Time elapsed: ([\d.]+) s", CAPTURE),
}

SETTINGS: Mapping[str, Setting] = {
    "mem_fraction_static": Setting(options=("--mem-fraction-static",)),
    "max_prefill_tokens": Setting(options=("--max-prefill-tokens",)),
    "page_size": Setting(options=("--page-size",)),
    "tp_size": Setting(options=("--tp-size", "--tensor-parallel-size", "--tp")),
    "kv_cache_dtype": Setting(
        options=("--kv-cache-dtype",),
        words={
            "bfloat16": "bf16",
            "torch.bfloat16": "bf16",
            "torch.float8_e4m3fn": "fp8_e4m3",
            "torch.float8_e4m3fnuz": "fp8_e4m3",
            "torch.float8_e5m2": "fp8_e5m2",
            "torch.float8_e5m2fnuz": "fp8_e5m2",
        },
    ),
}
"""Not how much is prefilled at once: SGLang divides it by the ranks of data-parallel attention before it tells it."""


class Sglang:
    """The adapter; it has no state."""

    patterns = PATTERNS
    readings = READINGS
    settings = SETTINGS
    unknown_variable: Reading | None = None
    metrics = METRICS
    building = BUILDING

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path | None) -> list[str]:
        """
        Return the server's command line; where the API is, what it is called and its counters are ours and come last.

        Raises:
            EngineNotFound: No Python to start it with.
        """
        ours = ["--served-model-name", model, "--host", host, "--port", str(port), COUNTED]
        return [*SERVER.command(data_root), *with_weights(args, WEIGHTS, model), *ours]

    def layout(self, dimensions: Mapping[LayoutName, int]) -> list[str]:
        """Return SGLang's flags, a size for each dimension."""
        return [word for name, size in dimensions.items() for word in (f"--{name}-size", str(size))]

    def version(self, data_root: Path) -> str:  # noqa: ARG002  # a user's own SGLang, not one under the data root
        """
        Return which SGLang would run.

        Raises:
            EngineNotFound: None would.
        """
        return SERVER.version()

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why SGLang ended, in its own words where the log has a known line."""
        return explain(PATTERNS, log, returncode)

    def effective(self, said: str) -> Mapping[str, str] | None:
        """Return what SGLang says that it runs."""
        return last_readings(READINGS, said) or None
