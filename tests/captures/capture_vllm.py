#!/usr/bin/env python3
"""
Write down what a real vLLM says: its help, its logs, its refusals, its HTTP answers, its times and its exit codes.

    capture_vllm.py OUT STAGE --weights FOLDER --shape FOLDER [--vllm PROGRAM] [--seconds 480]

Needs one NVIDIA GPU of 80 GB or more, a vLLM, and Python's standard library; FOLDER is a small model with real weights,
and the config of one of some 8B parameters, served with random weights. OUT gets one file for each thing, and
captures.json, rewritten after each step, says how each was made. No step can end the others.
"""

import argparse
import contextlib
import http.client
import json
import logging
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
MODEL = "served"
READY_S = 200.0
STOP_S = 30.0
MEMORY_S = 20.0
REQUEST_S = 40.0
POLL_S = 0.1
STREAMS = 32
LONG_PROMPT_TOKENS = 7000
HOG = """
import sys, time, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - (8 << 20), dtype=torch.uint8, device="cuda")
print("held", held.numel(), flush=True)
time.sleep(300)
"""

log = logging.getLogger("capture")


@dataclass(frozen=True)
class Run:
    """
    One start of the engine.

    Attributes:
        name: Of its files.
        args: After `vllm serve`; `{weights}` and `{shape}` stand for the model folders, `{free-N}` for the bytes
            free on the GPU less N MiB.
        drive: What is done with it once it is ready, a key of `DRIVES`.
        env: Added to our own environment.
    """

    name: str
    args: tuple[str, ...]
    drive: str = "probe"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Record:
    """
    How a capture was made and how it went; times are seconds from the start or from the signal.

    Attributes:
        health: What `/health` answered, each time that this changed.
        memory_free_s: From the signal until the GPU held no more than before the start.
    """

    argv: list[str]
    env: dict[str, str]
    started: str
    health: list[tuple[float, str]] = field(default_factory=list)
    ready_s: float | None = None
    ended_by: str = "itself"
    exit_code: int | None = None
    exit_s: float | None = None
    memory_free_s: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Engine:
    """A running engine and where its captures go."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    out: Path
    record: Record

    def save(self, what: str, text: str) -> None:
        """Write one capture."""
        (self.out / f"{self.name}.{what}").write_text(text, encoding="utf-8")

    def note(self, words: str) -> None:
        """Keep a remark beside the captures."""
        log.info("%s: %s", self.name, words)
        self.record.notes.append(words)


@dataclass(frozen=True)
class Bench:
    """
    Where and with what the captures are made.

    Attributes:
        ends: When no step may begin any more, of `time.monotonic`.
    """

    out: Path
    vllm: str
    weights: str
    shape: str
    ends: float


def request(port: int, method: str, path: str, body: str | None = None, *, timeout_s: float = REQUEST_S) -> str:
    """Return an exchange as text: the status, the headers, an empty line, the body; or how it broke off."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        headers = "".join(f"{name}: {value}\n" for name, value in answer.getheaders())
        text = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}\n"
    finally:
        connection.close()
    return f"HTTP {answer.status} {answer.reason}\n{headers}\n{text}\n"


def complete(port: int, **fields: object) -> str:
    """Return the exchange of one completion."""
    body = {"model": MODEL, "prompt": "The capital of France is", "max_tokens": 16, "temperature": 0, **fields}
    return request(port, "POST", "/v1/completions", json.dumps(body))


def probe(engine: Engine) -> None:
    """Ask for one completion: does it serve, and is the text sane?"""
    engine.save("completion.http", complete(engine.port))


def stream(engine: Engine) -> None:
    """Stream completions with usage, as chunks and as chat."""
    options = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 48, "ignore_eos": True}
    engine.save("stream.http", complete(engine.port, **options))
    chat = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}], "temperature": 0, **options}
    engine.save(
        "chat-stream.http",
        request(engine.port, "POST", "/v1/chat/completions", json.dumps(chat)),
    )


def errors(engine: Engine) -> None:
    """Ask for what cannot be had."""
    port = engine.port
    asked: dict[str, Callable[[], str]] = {
        "error-max-tokens": lambda: complete(port, max_tokens=9000),
        "error-long-prompt": lambda: complete(port, prompt="word " * 9000),
        "error-long-prompt-ids": lambda: complete(port, prompt=[100] * 9000),
        "error-sum-over-context": lambda: complete(port, prompt=[100] * 8000, max_tokens=500),
        "error-unknown-model": lambda: complete(port, model="nobody"),
        "error-bad-json": lambda: request(port, "POST", "/v1/completions", '{"model": '),
        "error-bad-type": lambda: complete(port, max_tokens="many"),
        "error-bad-token-id": lambda: complete(port, prompt=[10**8]),
        "error-unknown-field": lambda: complete(port, no_such_field=1),
        "error-unknown-path": lambda: request(port, "GET", "/v1/nothing"),
    }
    for what, ask in asked.items():
        engine.save(f"{what}.http", ask())


def load(engine: Engine) -> None:
    """Read `/metrics` before, during and after a load."""
    port = engine.port
    engine.save("metrics-before.txt", request(port, "GET", "/metrics"))
    with ThreadPoolExecutor(STREAMS) as pool:
        began = time.monotonic()
        prompts = [[100 + i] * 512 for i in range(STREAMS * 2)]
        answers = [pool.submit(complete, port, prompt=ids, max_tokens=1024, ignore_eos=True) for ids in prompts]
        time.sleep(0.7)
        engine.save("metrics-during.txt", request(port, "GET", "/metrics"))
        good = sum(answer.result().startswith("HTTP 200") for answer in answers)
        engine.note(f"{good} of {len(answers)} requests in {time.monotonic() - began:.2f} s")
    engine.save("metrics-after.txt", request(port, "GET", "/metrics"))


def everything(engine: Engine) -> None:
    """Capture the whole surface of a healthy engine."""
    for path, what in (("/health", "health"), ("/version", "version"), ("/v1/models", "models")):
        engine.save(f"{what}.http", request(engine.port, "GET", path))
    probe(engine)
    stream(engine)
    load(engine)
    errors(engine)


def busy(engine: Engine) -> None:
    """Leave streams running, so that the signal comes under load."""
    pool = ThreadPoolExecutor(STREAMS)
    options = {"stream": True, "max_tokens": 7000, "ignore_eos": True}
    answers = [pool.submit(complete, engine.port, **options) for _ in range(STREAMS)]
    time.sleep(1.5)
    engine.process.terminate()
    engine.record.ended_by = "SIGTERM under load"
    engine.save("streams-cut.http", answers[0].result()[-2000:])
    pool.shutdown(wait=False, cancel_futures=True)


def orphaned(engine: Engine) -> None:
    """Kill the engine core under its server."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True, timeout=10
    ).stdout
    children = [line.split(None, 2) for line in listed.splitlines()[1:]]
    core = [int(pid) for pid, ppid, args in children if int(ppid) == engine.process.pid and "EngineCore" in args]
    engine.note(f"SIGKILL to {len(core)} process called EngineCore")
    for pid in core:
        os.kill(pid, signal.SIGKILL)
    time.sleep(1)
    engine.save("after-death.http", complete(engine.port))
    engine.save("after-death-health.http", request(engine.port, "GET", "/health"))


def starved(engine: Engine) -> None:
    """Let another program take the GPU's free memory, then ask for what needs some."""
    with subprocess.Popen([sys.executable, "-c", HOG], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as hog:
        try:
            engine.note(f"another program: {(hog.stdout.readline() if hog.stdout else b'').decode().strip()}")
            prompt = [100 + i % 1000 for i in range(LONG_PROMPT_TOKENS)]
            with ThreadPoolExecutor(8) as pool:
                asked = [
                    pool.submit(complete, engine.port, prompt=prompt, prompt_logprobs=5, logprobs=5) for _ in range(8)
                ]
                engine.save("starved.http", asked[0].result()[:4000])
            engine.save("starved-health.http", request(engine.port, "GET", "/health"))
            engine.save("starved-after.http", complete(engine.port))
        finally:
            hog.kill()


DRIVES: Mapping[str, Callable[[Engine], None]] = {
    "probe": probe,
    "stream": stream,
    "everything": everything,
    "busy": busy,
    "orphaned": orphaned,
    "starved": starved,
}


def real(name: str, *args: str, drive: str = "probe", **env: str) -> Run:
    """Return a run of the model with real weights."""
    return Run(name, ("{weights}", *args), drive, env)


def shaped(name: str, *args: str, **env: str) -> Run:
    """Return a run of the 8B shape with random weights."""
    return Run(name, ("{shape}", "--load-format", "dummy", *args), "probe", env)


def graphs(mode: str) -> tuple[str, ...]:
    """Return the flag of a CUDA graph mode."""
    return ("--compilation-config", json.dumps({"cudagraph_mode": mode}))


HELP: Mapping[str, tuple[str, ...]] = {
    "help": ("serve", "--help"),
    "help-groups": ("serve", "--help=listgroup"),
    "help-all": ("serve", "--help=all"),
    "version": ("--version",),
}
REFUSED = (
    shaped("refused-unknown-flag", "--no-such-flag", "3"),
    shaped("refused-bad-choice", "--kv-cache-dtype", "fp9"),
    shaped("refused-bad-number", "--max-num-seqs", "many"),
    shaped("refused-bad-json", "--compilation-config", "{cudagraph_mode"),
    shaped("refused-bad-graph-mode", *graphs("SOMETIMES")),
    shaped("refused-unknown-compilation-key", "--compilation-config", '{"no_such_key": 1}'),
    shaped("refused-context-over-models", "--max-model-len", "200000"),
    shaped("refused-batched-tokens-under-seqs", "--max-num-batched-tokens", "128", "--max-num-seqs", "256"),
    shaped("refused-unchunked-batch", "--no-enable-chunked-prefill", "--max-num-batched-tokens", "2048"),
    shaped("refused-more-gpus-than-here", "--tensor-parallel-size", "16"),
    real("refused-heads-not-divisible", "--tensor-parallel-size", "2"),
    shaped("refused-experts-of-a-dense-model", "--enable-expert-parallel"),
    shaped("refused-quantization-not-in-model", "--quantization", "awq"),
    shaped("refused-utilization-over-one", "--gpu-memory-utilization", "1.5"),
    shaped("refused-unknown-backend", "--attention-backend", "NOPE"),
    shaped("refused-environment", VLLM_LOGGING_LEVEL="LOUD"),
    Run("world-no-such-model", ("/nowhere/model",)),
    shaped("world-no-gpu", CUDA_VISIBLE_DEVICES=""),
    shaped("world-port-taken", "--port", "8099"),
)
REFUSED_ON_THE_GPU = (
    shaped(
        "refused-backend-for-kv-type", "--attention-backend", "FLASH_ATTN", "--kv-cache-dtype", "int4_per_token_head"
    ),
    shaped("memory-utilization-too-large", "--gpu-memory-utilization", "1.0", "--enforce-eager"),
    shaped("memory-kv-below-one-sequence", "--gpu-memory-utilization", "0.2", "--enforce-eager"),
    shaped("memory-no-kv-at-all", "--gpu-memory-utilization", "0.1", "--enforce-eager"),
    shaped("memory-weights", "--hf-overrides", '{"num_hidden_layers": 400}', "--enforce-eager"),
)
STARTS = (
    real("default-cold", drive="everything"),
    real("default-warm"),
    real("no-async-scheduling", "--no-async-scheduling"),
    real("stream-interval-20", "--async-scheduling", "--stream-interval", "20", drive="stream"),
    real("piecewise", *graphs("PIECEWISE")),
    real("enforce-eager", "--enforce-eager"),
    real("full-decode-only", *graphs("FULL_DECODE_ONLY")),
    real("fp8-kv", "--kv-cache-dtype", "fp8"),
    real("int4-kv", "--kv-cache-dtype", "int4_per_token_head"),
)
FAULTS = (
    real("memory-under-load", "--gpu-memory-utilization", "0.5", drive="starved"),
    real("sigterm-under-load", drive="busy"),
    real("core-killed", "--enforce-eager", drive="orphaned"),
    real("memory-kv", "--kv-cache-memory-bytes", "{free-0}", "--enforce-eager"),
    real("memory-graphs", "--kv-cache-memory-bytes", "{free-1600}"),
    shaped("shape-default"),
)


def gpu(what: str) -> int | None:
    """Return a memory figure of the first GPU in MiB; None where nvidia-smi does not say."""
    command = ["nvidia-smi", f"--query-gpu=memory.{what}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
        return int(said.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def command(bench: Bench, run: Run, port: int) -> list[str]:
    """Return the argv of a run."""
    free = gpu("free") or 0

    def filled(word: str) -> str:
        if word.startswith("{free-"):
            return str((free - int(word[6:-1])) << 20)
        return {"{weights}": bench.weights, "{shape}": bench.shape}.get(word, word)

    args = [filled(word) for word in run.args]
    where = [] if "--port" in args else ["--port", str(port)]
    return [*shlex.split(bench.vllm), "serve", *args, "--served-model-name", MODEL, "--host", HOST, *where]


def watch(engine: Engine) -> bool:
    """Return whether the engine became healthy; write down what `/health` said until then."""
    began = time.monotonic()
    while engine.process.poll() is None and (passed := time.monotonic() - began) < READY_S:
        said = request(engine.port, "GET", "/health", timeout_s=2).splitlines()[0].partition(":")[0]
        if not engine.record.health or engine.record.health[-1][1] != said:
            engine.record.health.append((round(passed, 2), said))
        if said.startswith("HTTP 200"):
            engine.record.ready_s = round(passed, 2)
            return True
        time.sleep(POLL_S)
    return False


def stop(engine: Engine, memory_before: int | None) -> None:
    """End the engine, and say how long it and its GPU memory took."""
    began = time.monotonic()
    record, process = engine.record, engine.process
    if process.poll() is None and record.ended_by == "itself":
        record.ended_by = "SIGTERM"
        process.terminate()
    try:
        record.exit_code = process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        record.ended_by += ", then SIGKILL"
    else:
        record.exit_s = round(time.monotonic() - began, 2)
    while memory_before is not None and (passed := time.monotonic() - began) < MEMORY_S:
        if (gpu("used") or 0) <= memory_before + 64:
            record.memory_free_s = round(passed, 2)
            break
        time.sleep(POLL_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    record.exit_code = process.wait(STOP_S)


def capture(bench: Bench, run: Run, port: int, *, alone: bool = True) -> Record:
    """Start the engine, do with it what the run says, stop it; its log and its answers are kept."""
    argv = command(bench, run, port)
    record = Record(argv, dict(run.env), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    before = gpu("used") if alone else None
    with (bench.out / f"{run.name}.log").open("wb") as said:
        process = subprocess.Popen(
            argv,
            env={**os.environ, **run.env},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        engine = Engine(run.name, process, port, bench.out, record)
        try:
            if watch(engine):
                DRIVES[run.drive](engine)
        except Exception as error:
            log.exception("%s", run.name)
            engine.note(f"broke off: {type(error).__name__}: {error}")
        finally:
            stop(engine, before)
    log.info("%s: ready %s s, exit %s (%s)", run.name, record.ready_s, record.exit_code, record.ended_by)
    return record


class Ledger:
    """captures.json: what was made, and how; whole after each step."""

    def __init__(self, path: Path) -> None:
        """Go on where an earlier stage ended."""
        self._path = path
        self._records: dict[str, object] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def add(self, name: str, record: object) -> None:
        """Write one more down."""
        self._records[name] = record
        self._path.write_text(json.dumps(self._records, indent=1) + "\n", encoding="utf-8")


def one_by_one(bench: Bench, ledger: Ledger, runs: Sequence[Run], *, port: int) -> None:
    """Make captures one after the other, for as long as there is time."""
    for i, run in enumerate(runs):
        if time.monotonic() > bench.ends:
            ledger.add(run.name, {"notes": ["not made: no time left"]})
            continue
        ledger.add(run.name, asdict(capture(bench, run, port + i)))


def side_by_side(bench: Bench, ledger: Ledger, runs: Sequence[Run], *, port: int) -> None:
    """Make captures of runs that end before they take GPU memory."""
    with taken(8099), ThreadPoolExecutor(10) as pool:
        made = {run.name: pool.submit(capture, bench, run, port + i, alone=False) for i, run in enumerate(runs)}
        for name, record in made.items():
            ledger.add(name, asdict(record.result()))


@contextlib.contextmanager
def taken(port: int) -> Iterator[None]:
    """Listen on a port for the length of the block."""
    with socket.create_server((HOST, port)):
        yield


def words(bench: Bench, ledger: Ledger) -> None:
    """Capture the help and the version, and what the machine is."""
    machine = {
        "machine-gpu": ["nvidia-smi"],
        "machine-python": [sys.executable, "-c", "import sys, torch; print(sys.version, torch.__version__)"],
    }
    asked = {name: [*shlex.split(bench.vllm), *args] for name, args in HELP.items()} | machine
    with ThreadPoolExecutor(len(asked)) as pool:
        for name, (said, code) in zip(asked, pool.map(spoken, asked.values()), strict=True):
            (bench.out / f"{name}.txt").write_text(said, encoding="utf-8")
            ledger.add(name, {"argv": asked[name], "exit_code": code})


def spoken(argv: Sequence[str]) -> tuple[str, int | None]:
    """Return what a program prints, and its exit code; None where it did not end by itself."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=150)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}: {error}\n", None
    return done.stdout + done.stderr, done.returncode


def stages(bench: Bench, ledger: Ledger) -> Mapping[str, Callable[[], None]]:
    """Return what can be asked for."""
    return {
        "words": lambda: words(bench, ledger),
        "refusals": lambda: side_by_side(bench, ledger, REFUSED, port=8100),
        "gpu-refusals": lambda: one_by_one(bench, ledger, REFUSED_ON_THE_GPU, port=8150),
        "starts": lambda: one_by_one(bench, ledger, STARTS, port=8200),
        "faults": lambda: one_by_one(bench, ledger, FAULTS, port=8300),
    }


def main() -> None:
    """Read the command line and make the stages that it names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("stage", nargs="+", help="words, refusals, gpu-refusals, starts, faults, or names of runs")
    parser.add_argument("--vllm", default=shutil.which("vllm") or "vllm", help="the program, with its first words")
    parser.add_argument("--weights", default="weights", help="folder of a small model with weights")
    parser.add_argument("--shape", default="shape", help="folder of an 8B model's config and tokenizer")
    parser.add_argument("--seconds", type=float, default=480, help="after which no step begins")
    asked = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)8d ms %(message)s", stream=sys.stdout)
    asked.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(asked.out, asked.vllm, asked.weights, asked.shape, time.monotonic() + asked.seconds)
    ledger = Ledger(asked.out / "captures.json")
    known = stages(bench, ledger)
    named = {run.name: run for run in (*REFUSED, *REFUSED_ON_THE_GPU, *STARTS, *FAULTS)}
    for stage in asked.stage:
        if stage in known:
            known[stage]()
        else:
            one_by_one(bench, ledger, [named[stage]], port=8400)


if __name__ == "__main__":
    main()
