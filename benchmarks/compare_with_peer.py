"""
The same engine under the same load, measured by us and by an independent tool, in turn.

    python -m benchmarks.compare_with_peer --aiperf VENV | --guidellm VENV [--url URL --model ID] [--rounds N]

Without a URL it serves the demo's model with llama.cpp on one core (needs `autotune fetch demo`); the clients have
another. Compared are medians over rounds. A round's latency is the mean over its requests: slots that fall in and out
of step have two kinds of times to first token, between which a median jumps. One difference in definitions is undone:
what both tools call ITL is our TPOT (see `peers`). One is left: their clock of a request starts before its bytes are
written, ours when they are. It ends with 1 if a figure differs by more than 3 %.
"""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import native
from benchmarks.peers import PEERS, Asked, Peer
from search_spaces import Workload, load, resolve
from trials.data import data_root, locate
from trials.deadline import Deadline
from trials.load.generator import Generator
from trials.load.metrics import tpot_ms, ttft_ms
from trials.load.workload import Session, sessions
from trials.serving import Launch, serving

WITHIN = 0.03
ALLOWED_S = 600.0
WAVES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An endpoint to be measured."""

    url: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One run's: output tokens a second from the first send to the last end, means of the two latencies."""

    output_tok_per_s: float
    ttft_ms: float
    tpot_ms: float


def main() -> None:
    """Measure in turn, print both sides, end with 1 if they disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peer = parser.add_mutually_exclusive_group(required=True)
    for name in PEERS:
        peer.add_argument(f"--{name}", type=Path, metavar="VENV", help=f"a virtual environment with {name}")
    parser.add_argument("--url", help="of a server that runs already, without /v1")
    parser.add_argument("--model", default="m", help="its model, with --url")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--input-tokens", type=int, default=64)
    parser.add_argument("--output-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=4)
    told = parser.parse_args()
    name, venv = next((name, venv) for name in PEERS if (venv := getattr(told, name)))
    workload = Workload(
        input_tokens=told.input_tokens, output_tokens=told.output_tokens, concurrency=(told.concurrency,)
    )
    running = contextlib.nullcontext(Served(url=told.url, model=told.model)) if told.url else demo(told.concurrency)
    with running as served:
        rounds = list(measure(served, workload, PEERS[name], venv, rounds=told.rounds))
    lines = list(compared(rounds, name))
    print("\n".join(line for line, _ in lines))
    sys.exit(any(apart > WITHIN for _, apart in lines))


@contextlib.contextmanager
def demo(concurrency: int) -> Iterator[Served]:
    """Serve the demo's model for the block, on a core of its own."""
    space = load("demo")
    recipe = resolve(space, {"threads": 1, "parallel": concurrency})
    serve = recipe.at(recipe.workload.concurrency[0])
    native.pin(os.getpid(), native.SERVER_CORE)  # the engine inherits it
    with tempfile.TemporaryDirectory(prefix="autotune-compare-") as folder:
        launch = Launch(
            engine=space.target.engine,
            model=space.target.model,
            args=serve.args,
            env=serve.env,
            files=locate(space.target.files, space_folder=space.folder, data_root=data_root()),
            data_root=data_root(),
            folder=Path(folder),
            ready_s=space.deadlines.ready_s,
            stop_s=space.deadlines.stop_s,
            request_s=space.deadlines.request_s,
        )
        with serving(launch) as endpoint:
            native.pin(os.getpid(), native.CLIENT_CORE)
            yield Served(url=endpoint.url, model=endpoint.model)


def measure(
    served: Served, workload: Workload, peer: Peer, venv: Path, *, rounds: int
) -> Iterator[tuple[Figures, Figures]]:
    """Yield our figures and the peer's, round by round, after a run that warms the engine up."""
    ours(served, workload, contents="warm-up")
    for number in range(rounds):
        yield ours(served, workload, contents=f"ours {number}"), theirs(served, workload, peer, venv, f"peer {number}")


def drawn(workload: Workload, contents: str) -> list[Session]:
    """Return a run's requests: the same lengths in every run, contents that none has sent before."""
    (concurrency,) = workload.concurrency
    return sessions(workload, concurrency=concurrency, waves=WAVES, seed="compare", contents=contents)


def ours(served: Served, workload: Workload, *, contents: str) -> Figures:
    """Return what our load generator measures."""
    (concurrency,) = workload.concurrency
    with Generator(
        served.url, served.model, concurrency=concurrency, processes=1, request_s=ALLOWED_S, stall_s=ALLOWED_S
    ) as generator:
        ran = generator.run(drawn(workload, contents), arrivals=None, deadline=Deadline("the run", ALLOWED_S))
    failed = next((timing.error for timing in ran.timings if timing.error), None)
    assert failed is None, failed
    tokens = sum(timing.completion_tokens or 0 for timing in ran.timings)
    return Figures(
        output_tok_per_s=tokens / (ran.ended_s - ran.begun_s),
        ttft_ms=statistics.fmean(ttft_ms(timing) or 0.0 for timing in ran.timings),
        tpot_ms=statistics.fmean(tpot_ms(timing) or 0.0 for timing in ran.timings),
    )


def theirs(served: Served, workload: Workload, peer: Peer, venv: Path, contents: str) -> Figures:
    """Return what the other tool measures."""
    (concurrency,) = workload.concurrency
    run = peer(
        venv,
        Asked(
            url=served.url,
            model=served.model,
            concurrency=concurrency,
            prompts=[str(planned.prompt) for (planned,) in drawn(workload, contents)],
            tokens=workload.output_tokens or 0,
        ),
    )
    return Figures(
        output_tok_per_s=run.output_tokens / run.lasting_s,
        ttft_ms=statistics.fmean(run.ttft_ms),
        tpot_ms=statistics.fmean(run.tpot_ms),
    )


def compared(rounds: Sequence[tuple[Figures, Figures]], name: str) -> Iterator[tuple[str, float]]:
    """Yield a line for each figure, and by how much the sides differ, of ours."""
    what: Mapping[str, str] = {
        "output_tok_per_s": "throughput, output tok/s",
        "ttft_ms": "TTFT, mean, ms",
        "tpot_ms": "TPOT, mean, ms",
    }
    for field, words in what.items():
        own, other = ([getattr(figures, field) for figures in side] for side in zip(*rounds, strict=True))
        apart = statistics.median(other) / statistics.median(own) - 1
        verdict = "agrees" if abs(apart) <= WITHIN else "differs"
        yield f"{words}: ours {spread(own)}, {name} {spread(other)}: {apart:+.1%}, {verdict}", abs(apart)


def spread(values: Sequence[float]) -> str:
    """Return the median of some rounds and their range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
