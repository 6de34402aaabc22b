"""
Serve llama.cpp from the `xllamacpp` wheel under llama-server's own flag names.

A program, not a module: it runs in the engine's own virtual environment, so it imports nothing of ours.
The wheel has the server but no command line; this maps one onto the other, so that a recipe stays an argv and a
user's own `llama-server` binary takes the same one.
"""

import argparse
import signal
import sys
import threading

import xllamacpp

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
FLASH = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}


def parser() -> argparse.ArgumentParser:
    """The flags of llama-server that a recipe may name; anything else is refused with exit code 2."""
    p = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    both = argparse.BooleanOptionalAction
    p.add_argument("-m", "--model", required=True, help="path of the GGUF file")
    p.add_argument("-a", "--alias", help="model id that the API reports")
    p.add_argument("--lora", action="append", default=[], help="path of an adapter; may be repeated")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8080)
    p.add_argument("-c", "--ctx-size", type=int, default=0, help="tokens in all slots; 0: the model's own")
    p.add_argument("-b", "--batch-size", type=int, default=2048, help="logical batch, tokens")
    p.add_argument("-ub", "--ubatch-size", type=int, default=512, help="physical batch, tokens")
    p.add_argument("-np", "--parallel", type=int, default=1, help="slots")
    p.add_argument("-t", "--threads", type=int, default=-1, help="threads of generation")
    p.add_argument("-tb", "--threads-batch", type=int, help="threads of prompt processing; default: as --threads")
    p.add_argument("--threads-http", type=int, default=-1)
    p.add_argument("--poll", type=int, default=50, choices=range(101), metavar="0..100", help="busy waiting, 0: none")
    p.add_argument("-ctk", "--cache-type-k", default="f16", choices=CACHE_TYPES)
    p.add_argument("-ctv", "--cache-type-v", default="f16", choices=CACHE_TYPES)
    p.add_argument("-fa", "--flash-attn", default="auto", choices=FLASH)
    p.add_argument("-kvu", "--kv-unified", action=both, default=False, help="one KV buffer for all slots")
    p.add_argument("-cb", "--cont-batching", action=both, default=True)
    p.add_argument("--cache-prompt", action=both, default=True, help="reuse the KV of an equal prefix")
    p.add_argument("--cache-ram", type=int, default=8192, help="MiB of prompts kept outside the slots")
    p.add_argument("--warmup", action=both, default=True)
    p.add_argument("--metrics", action="store_true", help="serve /metrics")
    return p


def params(args: argparse.Namespace) -> "xllamacpp.CommonParams":
    """Return llama.cpp's parameters for parsed flags."""
    p = xllamacpp.CommonParams()
    p.model.path = args.model
    if args.alias:
        p.model_alias = {args.alias}
    p.lora_adapters = [adapter(path) for path in args.lora]
    p.hostnames, p.port = [args.host], args.port
    p.n_ctx, p.n_batch, p.n_ubatch, p.n_parallel = args.ctx_size, args.batch_size, args.ubatch_size, args.parallel
    p.cpuparams.n_threads = args.threads
    p.cpuparams_batch.n_threads = args.threads if args.threads_batch is None else args.threads_batch
    p.cpuparams.poll = p.cpuparams_batch.poll = args.poll
    p.n_threads_http = args.threads_http
    p.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{args.cache_type_k.upper()}")
    p.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{args.cache_type_v.upper()}")
    p.flash_attn_type = getattr(xllamacpp.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{FLASH[args.flash_attn]}")
    p.kv_unified, p.cont_batching, p.cache_prompt = args.kv_unified, args.cont_batching, args.cache_prompt
    p.cache_ram_mib, p.warmup, p.endpoint_metrics = args.cache_ram, args.warmup, args.metrics
    return p


def adapter(path: str) -> "xllamacpp.CommonAdapterLoraInfo":
    """Return a LoRA adapter at full strength."""
    return xllamacpp.CommonAdapterLoraInfo(path=path, scale=1.0)


def main(argv: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; return 1 when the engine refuses to start."""
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    try:
        server = xllamacpp.Server(params(parser().parse_args(argv)))
    except RuntimeError as error:
        print(f"llama-server: {error}", file=sys.stderr, flush=True)  # noqa: T201 a program's own words
        return 1
    print(f"llama-server: listening on {server.listening_address}", flush=True)  # noqa: T201
    done.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
