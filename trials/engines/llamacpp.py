"""llama.cpp's HTTP server: a user's own `llama-server`, or the demo's, with the same flags."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from search_spaces.knob import LayoutName
from trials.engines.adapter import Building, EngineNotFound, Failure, Pattern, Reading, Setting, explain, last_readings

LAUNCHER = Path(__file__).with_name("llama_server.py")
PROGRAM = "AUTOTUNE_LLAMA_SERVER"
CAPTURES = "tests/captures/llamacpp-xllamacpp-2026.10.11549"

PATTERNS = (
    Pattern(r"couldn't bind HTTP server socket.*", "world", f"{CAPTURES}/port-taken.log"),
    Pattern(r"failed to open GGUF file .*", "world", f"{CAPTURES}/missing-weights.log"),
    Pattern(r"llama_adapter_lora_init: failed to open .*", "world", f"{CAPTURES}/missing-adapter.log"),
    Pattern(r".*model is corrupted or incomplete", "world", f"{CAPTURES}/truncated-weights.log"),
    Pattern(r"llama-server: error: unrecognized arguments.*", "refused", f"{CAPTURES}/unknown-flag.log"),
    Pattern(r"llama-server: error: argument .*: invalid .*", "refused", f"{CAPTURES}/bad-cache-type.log"),
    Pattern(r"quantized V cache requires flash_attn to be enabled", "refused", f"{CAPTURES}/v-cache-without-flash.log"),
    Pattern(
        r"failed to initialize the context: failed to allocate buffer.*",
        "memory",
        f"{CAPTURES}/kv-cache-too-large.log",
    ),
    Pattern(r"failed to initialize the context: std::bad_alloc", "memory", f"{CAPTURES}/context-too-large.log"),
)

PROMPT_TOKENS = ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")
METRICS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": PROMPT_TOKENS,
    "generation_tokens": ("llamacpp:tokens_predicted_total",),
    "prefix_query_tokens": PROMPT_TOKENS,
    "prefix_hit_tokens": ("llamacpp:prompt_tokens_cached_total",),
    "running": ("llamacpp:requests_processing",),
}
"""
As metrics-after.txt has them, with `--metrics`: the first of the prompts' counters leaves cached tokens out, and every
prompt is looked up. An older server does not count cached tokens: of prompts nothing is known then.
"""

BUILDING = (
    Building(r"compiling pipeline: base = ", "ggml-org/llama.cpp@003a32eb ggml/src/ggml-metal/ggml-metal-device.m"),
)
"""Metal compiles a kernel when it is first used; the other backends have theirs compiled."""

READINGS: Mapping[str, Reading] = {
    "n_threads": Reading(r"llama threadpool init, n_threads = (\d+)", f"{CAPTURES}/good-start.log"),
    "n_slots": Reading(r"initializing, n_slots = (\d+)", f"{CAPTURES}/good-start.log"),
    "n_ctx_slot": Reading(r"n_ctx_slot = (\d+)", f"{CAPTURES}/good-start.log"),
    "kv_unified": Reading(r"kv_unified = '(\w+)'", f"{CAPTURES}/good-start.log"),
}
SETTINGS: Mapping[str, Setting] = {
    "n_threads": Setting(options=("--threads", "-t"), open=("-1",)),
    "n_slots": Setting(options=("--parallel", "-np"), open=("-1",)),
    "kv_unified": Setting(options=("--kv-unified", "-kvu")),
}


class LlamaCpp:
    """The adapter; it has no state."""

    patterns = PATTERNS
    readings = READINGS
    settings = SETTINGS
    unknown_variable: Reading | None = None
    metrics = METRICS
    building = BUILDING

    def argv(self, args: Sequence[str], *, model: str, host: str, port: int, data_root: Path | None) -> list[str]:
        """
        Return llama-server's command line; where the API is and what it is called are ours and come last.

        Raises:
            EngineNotFound: Neither a `llama-server` nor the demo's engine is here.
        """
        command = ["llama-server"] if data_root is None else program(data_root)
        return [*command, *args, "--alias", model, "--host", host, "--port", str(port)]

    def layout(self, dimensions: Mapping[LayoutName, int]) -> list[str]:  # noqa: ARG002  # it has no flag for them
        """Return nothing: llama.cpp takes the GPUs that it sees."""
        return []

    def version(self, data_root: Path) -> str:
        """
        Return which llama.cpp would run.

        Raises:
            EngineNotFound: None would.
        """
        return version(data_root)

    def explain(self, log: str, returncode: int | None) -> Failure:
        """Say why llama.cpp ended, in its own words where the log has a known line."""
        return explain(PATTERNS, log, returncode)

    def effective(self, said: str) -> Mapping[str, str] | None:
        """Return what llama.cpp says that it runs."""
        return last_readings(READINGS, said) or None


def fetched_engine(root: Path) -> Path:
    """Return the virtual environment that `autotune fetch demo` makes under a data root."""
    return root / "engines" / "llamacpp"


def fetched_marker(root: Path) -> Path:
    """Return the file that says which distribution it holds, `{"name": …, "version": …}`; written when it is whole."""
    return root / "engines" / "llamacpp.json"


def program(root: Path) -> list[str]:
    """
    Return the command that starts the server: $AUTOTUNE_LLAMA_SERVER, the demo's engine, or `llama-server` on PATH.

    Raises:
        EngineNotFound: None of the three is here, or the variable names no program.
    """
    if named := os.environ.get(PROGRAM):
        if not os.access(named, os.X_OK):
            raise EngineNotFound(f"{PROGRAM}={named} is no program: name an executable llama-server, or unset it")
        return [str(Path(named).absolute())]
    if fetched_marker(root).exists():
        return [str(fetched_engine(root) / "bin" / "python"), "-I", str(LAUNCHER)]
    if found := shutil.which("llama-server"):
        return [found]
    raise EngineNotFound(
        f"llama.cpp is not here (nothing fetched in {fetched_engine(root)}, no llama-server on PATH): run "
        f"`autotune fetch demo`, put llama-server on PATH, or name it in {PROGRAM}"
    )


def version(root: Path) -> str:
    """
    Return what the program is: a fetched one's distribution, another's path and content.

    Raises:
        EngineNotFound: There is no program.
    """
    command = program(root)
    if str(LAUNCHER) in command:
        fetched = json.loads(fetched_marker(root).read_text(encoding="utf-8"))
        return f"{fetched['name']} {fetched['version']}"
    with Path(command[0]).open("rb") as binary:
        return f"{command[0]} sha256 {hashlib.file_digest(binary, 'sha256').hexdigest()}"
