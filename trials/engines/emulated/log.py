"""The lines that the emulated engine logs, in vLLM's form and words: what reads a log of vLLM reads this. Pure."""

import time
from collections.abc import Iterable, Iterator

from trials.engines.emulated.api import VERSION
from trials.engines.emulated.failures import Kind
from trials.engines.emulated.from_recipe import Command
from trials.engines.emulated.landscape import Landscape, captures, kv_gb, kv_tokens

MARK = "EMULATED"
GIB = 1024**3 / 1e9
GRAPHS = {
    "PIECEWISE": ("PIECEWISE",),
    "FULL_DECODE_ONLY": ("FULL",),
    "FULL_AND_PIECEWISE": ("PIECEWISE", "FULL"),
}
MODE_NUMBERS = {
    "NONE": "0",
    "PIECEWISE": "1",
    "FULL": "2",
    "FULL_DECODE_ONLY": "(2, 0)",
    "FULL_AND_PIECEWISE": "(2, 1)",
}
FAILED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
FAULT = "Memory access fault by GPU node-2 on address 0x7f1c00000000. Reason: Page not present or supervisor privilege."
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 288.00 GiB "
    "of which 1.12 GiB is free."
)


class Log:
    """Puts vLLM's prefixes before lines."""

    def __init__(self, pid: int) -> None:
        """Remember the process that they name."""
        self._pid = pid

    def server(self, text: str, *, source: str = "", level: str = "INFO") -> str:
        """Return a line of the API server."""
        return self._line("APIServer", text, source, level)

    def core(self, text: str, *, source: str = "", level: str = "INFO") -> str:
        """Return a line of the engine's core."""
        return self._line("EngineCore", text, source, level)

    def _line(self, who: str, text: str, source: str, level: str) -> str:
        stamp = f"{level} {time.strftime('%m-%d %H:%M:%S')} [{source}] " if source else ""
        return f"({who} pid={self._pid}) {stamp}{text}"


def configured(log: Log, command: Command, landscape: Landscape) -> Iterator[str]:
    """Yield what a start says before anything is loaded."""
    config = command.config
    scheduling = "enabled" if config.async_ else "disabled"
    given = {name.replace("-", "_"): value for name, value in command.given.items()}
    yield f"{MARK}: landscape {landscape.name} of a Kimi-K2.5 on MI355X; nothing that follows is measured anywhere"
    yield log.server(f"version {VERSION}", source="api_utils.py:339")
    yield log.server(f"non-default args: {given}", source="api_utils.py:273")
    yield log.server("Resolved architecture: KimiK25ForConditionalGeneration", source="model.py:619")
    yield log.server(f"Using max model len {command.max_model_len}", source="model.py:1776")
    batch = f"Chunked prefill is enabled with max_num_batched_tokens={config.mnbt}."
    yield log.server(batch, source="scheduler.py:252")
    yield log.server(f"Asynchronous scheduling is {scheduling}.", source="vllm.py:1042")
    for note in command.notes:
        yield f"{MARK}: {note}"
    yield log.core(_engine_config(command), source="core.py:114")


def _engine_config(command: Command) -> str:
    config = command.config
    mode = f"<CUDAGraphMode.{command.mode}: {MODE_NUMBERS[command.mode]}>"
    return (
        f"Initializing a V1 LLM engine (v{VERSION}) with config: model={command.model!r}, "
        f"max_seq_len={command.max_model_len}, tensor_parallel_size={config.tp}, "
        f"enforce_eager={command.mode == 'NONE'}, kv_cache_dtype={config.kv}, served_model_name={command.served}, "
        f"enable_prefix_caching={bool(config.prefix)}, enable_chunked_prefill=True, "
        f"compilation_config={{'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': {mode}}}"
    )


def loaded(log: Log, command: Command, landscape: Landscape, *, seconds: float) -> Iterator[str]:
    """Yield what a start says that succeeds, until it serves."""
    config = command.config
    backend = "ROCM_AITER_MLA" if config.aiter and config.mla else "TRITON_MLA"
    weights_gib = (landscape.constants["W_exp_GB"] + landscape.constants["W_dense_GB"] + 24) / config.tp / GIB
    tokens = int(kv_tokens(landscape, config))
    yield log.core("Loading model from scratch...", source="model_runner.py:281")
    yield log.core(f"Using {backend} attention backend out of potential backends: ['{backend}'].", source="rocm.py:476")
    took = f"Model loading took {weights_gib:.2f} GiB and {0.6 * seconds:.6f} seconds"
    yield log.core(took, source="model_runner.py:302")
    yield log.core(f"torch.compile took {0.15 * seconds:.2f} s in total", source="monitor.py:53")
    memory = f"Available KV cache memory: {kv_gb(landscape, config) / GIB:.2f} GiB"
    yield log.core(memory, source="gpu_worker.py:538")
    yield log.core(f"GPU KV cache size: {tokens:,} tokens", source="kv_cache_utils.py:2146")
    fit = f"Maximum concurrency for {command.max_model_len:,} tokens per request: {tokens / command.max_model_len:.2f}x"
    yield log.core(fit, source="kv_cache_utils.py:2147")
    for kind in GRAPHS[captures(config)] if command.mode != "NONE" else ():
        yield log.core(f"Capturing CUDA graphs ({kind}): 100%|##########| 51/51 [00:02<00:00, 18.86it/s]")
    if command.mode != "NONE":
        yield log.core(
            f"Graph capturing finished in {0.1 * seconds:.0f} secs, took 2.20 GiB", source="model_runner.py:722"
        )
    took = f"init engine (profile, create kv cache, warmup model) took {0.4 * seconds:.2f} s"
    yield log.core(f"{took} (compilation: {0.15 * seconds:.2f} s)", source="core.py:337")


def serving(log: Log, command: Command, pid: int) -> Iterator[str]:
    """Yield what is said when it serves."""
    yield log.server(f"Starting vLLM server on http://{command.host}:{command.port}", source="api_server.py:616")
    yield log.server(f"INFO:     Started server process [{pid}]")
    yield log.server("INFO:     Waiting for application startup.")
    yield log.server("INFO:     Application startup complete.")


def failed(log: Log, kind: Kind, command: Command, landscape: Landscape) -> Iterator[str]:
    """Yield the last words of a start that fails."""
    yield log.core("Loading model from scratch...", source="model_runner.py:281")
    if kind == "hang":
        yield f"{MARK}: this start is stuck; what would be waited for in vain is counted and not waited"
        return
    words = FAULT if kind == "crash_start" else _memory(command, landscape)
    yield log.core(words)
    yield log.server(FAILED)


def _memory(command: Command, landscape: Landscape) -> str:
    """Return vLLM's words for too little memory."""
    left_gib = kv_gb(landscape, command.config) / GIB
    if command.config.tp < 4:  # noqa: PLR2004 as many GPUs hold the weights
        return OUT_OF_MEMORY
    tokens = kv_tokens(landscape, command.config)
    if tokens < 1 or tokens >= command.max_model_len:
        return "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."
    needed_gib = left_gib * command.max_model_len / tokens
    return (
        f"ValueError: To serve at least one request with the model's max seq len ({command.max_model_len}), "
        f"({needed_gib:.1f} GiB KV cache is needed, which is larger than the available KV cache memory ({left_gib:.2f} "
        f"GiB). Based on the available memory, the estimated maximum model length is {int(tokens)}."
    )


def died(log: Log, *, out_of_memory: bool) -> Iterator[str]:
    """Yield the last words of an engine whose core dies while it serves."""
    yield log.core(OUT_OF_MEMORY if out_of_memory else FAULT)
    lost = "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup"
    yield log.server(lost, source="core_client.py:702", level="WARNING")
    dead = "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    yield log.server(f"vllm.v1.engine.exceptions.{dead}", source="async_llm.py:704", level="ERROR")


def stopped(log: Log) -> Iterator[str]:
    """Yield what is said at the end that was asked for."""
    yield log.server("[shutdown] API server: shutdown triggered", source="launcher.py:100")
    yield log.server("INFO:     Application shutdown complete.")


def ended(virtual_s: float) -> str:
    """Return the last line of all: how long it was, virtually."""
    return f"{MARK}: ended after {virtual_s:.3f} virtual seconds"


def virtual_s(lines: Iterable[str]) -> float | None:
    """Return how long an engine was, by its last line; None where that is not there."""
    begin, end = f"{MARK}: ended after ", " virtual seconds"
    said = [line for line in lines if line.startswith(begin) and line.rstrip().endswith(end)]
    return float(said[-1].rstrip()[len(begin) : -len(end)]) if said else None
