"""
Other load generators as programs: each runs in a virtual environment of its own and is read by the file it writes.

Their words for the same things differ. What they call ITL, (last token - first token) / (n - 1) of a request, is our
TPOT; guidellm's own TPOT, (last token - start) / n, has the time to first token in it and is not used.
"""

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import native

ALLOWED_S = 900.0
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")  # aiperf 0.13 then takes a tokenizer's folder for a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    What a peer is to do.

    Attributes:
        prompts: A request each, in this order.
        tokens: Of each answer.
        core: The only one that it may use, or None.
    """

    url: str
    model: str
    concurrency: int
    prompts: Sequence[str]
    tokens: int
    core: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """
    What a peer says of its requests, in the order of their start; and what it cost.

    Attributes:
        cpu_s: Processor seconds of all its processes from their start to their end.
        output_tokens: Of all requests.
        lasting_s: From the start of the first request to the end of the last.
        ttft_ms: Of each request.
        tpot_ms: Of each request, by our definition.
    """

    cpu_s: float
    output_tokens: int
    lasting_s: float
    ttft_ms: tuple[float, ...]
    tpot_ms: tuple[float, ...]


class Peer(Protocol):
    """Runs a tool that is installed in a virtual environment."""

    def __call__(self, venv: Path, asked: Asked) -> PeerRun:
        """Run it; return what it says."""


def guidellm(venv: Path, asked: Asked) -> PeerRun:
    """Run guidellm at a concurrency, as many requests as there are prompts."""
    with tempfile.TemporaryDirectory(prefix="autotune-guidellm-") as home:
        data, report = Path(home, "prompts.jsonl"), Path(home, "report.json")
        rows = [{"prompt": prompt, "output_tokens_count": asked.tokens} for prompt in asked.prompts]
        data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        words = {
            "--backend": f"kind=openai_http,target={asked.url},request_format=/v1/completions,model={asked.model}",
            "--profile": f"kind=concurrent,streams={asked.concurrency}",
            "--data": f"kind=json_file,path={data}",
            "--constraint": f"kind=max_requests,count={len(rows)}",
            "--output": f"kind=json,path={report}",
        }
        argv = [str(venv / "bin/guidellm"), "run", *(word for pair in words.items() for word in pair)]
        cpu_s = run([*argv, "--disable-console"], asked.core)
        (benchmark,) = json.loads(report.read_text(encoding="utf-8"))["benchmarks"]
    assert not benchmark["requests"]["errored"], benchmark["requests"]["errored"][0]
    done = sorted(benchmark["requests"]["successful"], key=lambda request: request["request_start_time"])
    return PeerRun(
        cpu_s=cpu_s,
        output_tokens=sum(request["output_metrics"]["text_tokens"] for request in done),
        lasting_s=max(r["request_end_time"] for r in done) - done[0]["request_start_time"],
        ttft_ms=tuple(request["time_to_first_token_ms"] for request in done),
        tpot_ms=tuple(request["inter_token_latency_ms"] for request in done),
    )


def aiperf(venv: Path, asked: Asked) -> PeerRun:
    """Run aiperf at a concurrency, as many requests as there are prompts."""
    with tempfile.TemporaryDirectory(prefix="autotune-aiperf-") as home:
        data, tokenizer, out = Path(home, "prompts.jsonl"), Path(home, "tokenizer"), Path(home, "out")
        data.write_text("".join(f"{json.dumps({'text': prompt})}\n" for prompt in asked.prompts), encoding="utf-8")
        write_tokenizer(tokenizer)
        words = {
            "--model": asked.model,
            "--url": asked.url,
            "--endpoint-type": "completions",
            "--input-file": str(data),
            "--custom-dataset-type": "single_turn",
            "--dataset-sampling-strategy": "sequential",
            "--concurrency": str(asked.concurrency),
            "--request-count": str(len(asked.prompts)),
            "--tokenizer": str(tokenizer),
            "--extra-inputs": json.dumps({"max_tokens": asked.tokens, "ignore_eos": True, "temperature": 0}),
            "--artifact-dir": str(out),
            "--export-level": "records",
            "--ui": "none",
        }
        argv = [str(venv / "bin/aiperf"), "profile", *(word for pair in words.items() for word in pair)]
        cpu_s = run([*argv, "--streaming", "--use-server-token-count"], asked.core)
        rows = [json.loads(line) for line in (out / "profile_export.jsonl").read_text(encoding="utf-8").splitlines()]
    done = sorted(rows, key=lambda row: row["metadata"]["request_start_ns"])
    first, *_ = done
    ended_ns = max(row["metadata"]["request_end_ns"] for row in done)
    metrics = [row["metrics"] for row in done]
    return PeerRun(
        cpu_s=cpu_s,
        output_tokens=sum(each["usage_completion_tokens"]["value"] for each in metrics),
        lasting_s=(ended_ns - first["metadata"]["request_start_ns"]) / 1e9,
        ttft_ms=tuple(each["time_to_first_token"]["value"] for each in metrics),
        tpot_ms=tuple(each["inter_token_latency"]["value"] for each in metrics),
    )


def write_tokenizer(folder: Path) -> None:
    """Write a tokenizer that knows no word: aiperf wants one, and takes the counts of the server all the same."""
    folder.mkdir()
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    whole = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
    for name, content in {"tokenizer.json": whole, "tokenizer_config.json": named}.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def run(argv: Sequence[str], core: int | None) -> float:
    """Run a program to its end; return the processor seconds that it and its children took."""
    env = {name: value for name, value in os.environ.items() if name not in OFFLINE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        if core is not None:
            native.pin(process.pid, core)
        said, _ = process.communicate(timeout=ALLOWED_S)
    assert process.returncode == 0, f"{argv[0]} ended with {process.returncode}: {said[-2000:]}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


PEERS: Mapping[str, Peer] = {"aiperf": aiperf, "guidellm": guidellm}
