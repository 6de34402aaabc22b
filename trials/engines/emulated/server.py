"""
A server that takes the command line and environment of `vllm serve` and behaves as the landscape says.

A program, `python -m trials.engines.emulated.server [options] serve MODEL [flags of vllm serve]`; a variable
`AUTOTUNE_EMULATED_SEED` is as good as `--seed`, and so for all its options. It refuses what vLLM
refuses, fails as the landscape fails, and otherwise serves, on a virtual clock that no start and no load has to wait
for; with `--paced RATE` on the wall's. What would take minutes is counted and not waited: a start that is stuck ends at
once and says so.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from trials.engines.emulated import api, chance, log
from trials.engines.emulated.answers import Answers, Solutions, read_solutions
from trials.engines.emulated.chance import Noise
from trials.engines.emulated.engine import Asked, Death, Engine, Launched
from trials.engines.emulated.failures import Failure, failure
from trials.engines.emulated.flags import Refused
from trials.engines.emulated.from_recipe import Command, command
from trials.engines.emulated.images import Image, image
from trials.engines.emulated.landscape import NAMES, Landscape, kv_tokens, load
from trials.engines.emulated.paced import Paced

PREFIX = "AUTOTUNE_EMULATED_"
REFUSED_S = 20.0
"""What it takes vLLM to import what it needs before it reads its flags."""
CONTEXT_MINUTES = 5.0
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
BACKLOG = 2048
NEW_LOOP: Callable[[], asyncio.AbstractEventLoop] | None = None
with contextlib.suppress(ImportError):
    import uvloop

    NEW_LOOP = uvloop.new_event_loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    How to emulate.

    Attributes:
        seed: Of all that is random in this launch.
        noise: Standard deviation of throughput between launches; 0 for none at all.
        flaky: Share of launches that fail by chance.
        paced: Virtual seconds a second on the wall clock; None: the virtual clock.
        answers: GSM8K's questions and solutions, JSON lines.
        image: What it is said to run in; None: in none.
    """

    landscape: str
    seed: str
    noise: float
    flaky: float
    paced: float | None
    answers: Path | None
    image: str | None = None


def options(argv: Sequence[str], env: Mapping[str, str]) -> tuple[Options, list[str]]:
    """Return our own options, from the command line or the environment, and what stands after `serve`."""
    parser = argparse.ArgumentParser(prog="emulated", epilog=f"Each option may be a variable, as {PREFIX}SEED.")
    parser.add_argument("--landscape", choices=NAMES, default=env.get(f"{PREFIX}LANDSCAPE", "L0"))
    parser.add_argument("--seed", default=env.get(f"{PREFIX}SEED", "0"), help="of noise, flaky failures and times")
    noise, flaky = env.get(f"{PREFIX}NOISE", chance.LAUNCH), env.get(f"{PREFIX}FLAKY", chance.FLAKY)
    parser.add_argument("--noise", type=float, default=noise, help="between launches; 0 for none at all")
    parser.add_argument("--flaky", type=float, default=flaky, help="share of launches that fail by chance")
    parser.add_argument(
        "--paced", type=float, default=env.get(f"{PREFIX}PACED"), help="on the wall clock, at this rate"
    )
    parser.add_argument("--answers", type=Path, default=env.get(f"{PREFIX}ANSWERS"), help="GSM8K, JSON lines")
    parser.add_argument("--image", default=env.get(f"{PREFIX}IMAGE"), help="as images.py reads it")
    parser.add_argument("--version", action="version", version=f"{api.VERSION} (emulated)")
    parser.add_argument("serve", choices=["serve"])
    parser.add_argument("args", nargs=argparse.REMAINDER)
    read = vars(parser.parse_args(argv))
    args = list(read.pop("args"))
    del read["serve"]
    return Options(**read), args


class Server:
    """The HTTP side: one engine behind vLLM's routes."""

    def __init__(self, recipe: Command, launched: Launched, said: log.Log, opts: Options) -> None:
        """Serve nothing yet."""
        self.recipe, self.launched, self.options = recipe, launched, opts
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._log = said
        self.engine: Engine | Paced = (
            Engine(launched, self._died) if opts.paced is None else Paced(launched, opts.paced, self._died)
        )

    def get(self, path: str) -> bytes:
        """Answer a question about the server."""
        match path:
            case "/health":
                return api.response(503 if self.engine.dead else 200, b"")
            case "/version":
                return api.response(200, json.dumps({"version": api.VERSION, "emulated": True}).encode())
            case "/v1/models":
                recipe = self.recipe
                return api.response(
                    200, api.models(recipe.served, recipe.model, recipe.max_model_len, self._declared())
                )
            case "/emulated":
                config = self.recipe.config._asdict()
                state = {**self._declared(), "virtual_s": self.engine.now_s, "config": config}
                return api.response(200, json.dumps(state).encode())
            case "/metrics":
                return api.response(200, self._metrics(), "text/plain; version=1.0.0; charset=utf-8")
            case _:
                return api.response(404, b'{"detail":"Not Found"}')

    def post(self, path: str, body: bytes, reply: Callable[[bytes], None]) -> Asked | None:
        """Take a request; return it while its answer is still to come."""
        try:
            if self.engine.dead:
                reply(api.response(500, api.DEAD))
            elif path == "/emulated/leave":
                place = api.leaving(body)
                reply(api.response(200, b"{}"))
                self.engine.leave(place)
            elif path in {api.COMPLETIONS, api.CHAT}:
                model, longest = self.recipe.served, self.recipe.max_model_len
                return self.engine.ask(api.posted(path, body, model=model, max_model_len=longest), reply)
            else:
                reply(api.response(404, b'{"detail":"Not Found"}'))
        except api.BadRequest as error:
            reply(api.response(error.status, error.body))
        return None

    def stop(self) -> None:
        """End because somebody asks."""
        if not self.ended.done():
            say(log.stopped(self._log))
            self.ended.set_result(0)

    def _died(self, why: Death) -> None:
        say(log.died(self._log, out_of_memory=why == "oom_run"))
        if not self.ended.done():
            self.ended.set_result(1)

    def _declared(self) -> dict[str, object]:
        """Return what says that all of this is emulated, and on which clock."""
        clock = "virtual" if self.options.paced is None else "wall"
        return {
            "emulated": True,
            "landscape": self.options.landscape,
            "clock": clock,
            "rate": self.options.paced,
            "seed": self.options.seed,
        }

    def _metrics(self) -> bytes:
        counted, config = self.engine.counted, self.recipe.config
        cache = {"block_size": config.block, "cache_dtype": config.kv, "gpu_memory_utilization": config.gmu}
        values = {
            "vllm:num_requests_running": self.engine.running,
            "vllm:num_requests_waiting": self.engine.waiting,
            "vllm:kv_cache_usage_perc": 0.0,
            "vllm:prefix_cache_queries_total": counted.prompt_tokens if config.prefix else 0,
            "vllm:prefix_cache_hits_total": 0,
            "vllm:num_preemptions_total": 0,
            "vllm:prompt_tokens_total": counted.prompt_tokens,
            "vllm:generation_tokens_total": counted.generation_tokens,
        }
        return api.metrics(self.recipe.served, values, sorted(counted.finished.items()), cache)


class Connection(asyncio.Protocol):
    """A client: its requests one after the other."""

    def __init__(self, server: Server) -> None:
        """Hear nothing yet."""
        self._server = server
        self._held = bytearray()
        self._asked: Asked | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        """Take what comes, and every request that is whole."""
        self._held += data
        while (request := self._next()) is not None:
            method, path, body = request
            if method == "GET":
                self._transport.write(self._server.get(path))
            else:
                self._asked = self._server.post(path, body, self._transport.write)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 the protocol's
        """Forget what it asked for."""
        if self._asked is not None:
            self._server.engine.gone(self._asked)

    def _next(self) -> tuple[str, str, bytes] | None:
        """Take the next request, method, path and body; None while it is not whole."""
        end = self._held.find(HEAD_END)
        if end < 0:
            return None
        head = bytes(self._held[:end])
        at = head.lower().find(LENGTH)
        length = int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        begin = end + len(HEAD_END)
        if len(self._held) < begin + length:
            return None
        body = bytes(self._held[begin : begin + length])
        del self._held[: begin + length]
        method, path, _ = head.split(b" ", 2)
        return method.decode(), path.decode(), body


def say(lines: Iterable[str]) -> None:
    """Write lines to the log."""
    for line in lines:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def start_failure(landscape: Landscape, recipe: Command) -> Failure | None:
    """Return how a start fails, if it does; the landscape's failures and a context that the KV cache can't hold."""
    found = failure(landscape, recipe.config)
    if found is None and recipe.max_model_len > kv_tokens(landscape, recipe.config):
        return Failure("oom_start", CONTEXT_MINUTES)
    return found


async def serve(recipe: Command, launched: Launched, said: log.Log, opts: Options) -> tuple[int, float]:
    """Serve until somebody ends it or it dies; return the exit code and how long it was, virtually."""
    loop = asyncio.get_running_loop()
    server = Server(recipe, launched, said, opts)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    listening = await loop.create_server(lambda: Connection(server), recipe.host, recipe.port, backlog=BACKLOG)
    say(log.serving(said, recipe, os.getpid()))
    pacing = asyncio.create_task(server.engine.run()) if isinstance(server.engine, Paced) else None
    code = await server.ended
    if pacing:
        pacing.cancel()
    listening.close()
    await asyncio.sleep(0)  # what was written last has gone out
    return code, server.engine.now_s


def main(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Read the command line, start, serve; return the exit code."""
    opts, args = options(argv, env)
    code, virtual_s = _launch(opts, args, env)
    say([log.ended(virtual_s)])
    return code


def _launch(opts: Options, args: Sequence[str], env: Mapping[str, str]) -> tuple[int, float]:
    said, landscape = log.Log(os.getpid()), load(opts.landscape)
    runs_in = image(opts.image) if opts.image else Image()
    try:
        recipe = command(args, {**runs_in.env, **env})
    except Refused as refusal:
        say([str(refusal)])
        return refusal.code, REFUSED_S
    say(log.configured(said, recipe, landscape))
    say([f"{log.MARK}: image {opts.image}"] if opts.image else ())
    started_s = chance.start_seconds(recipe.config, seed=opts.seed)
    flaky = chance.flaky_minutes(opts.seed, share=opts.flaky)
    found = start_failure(landscape, recipe)
    if found is not None and found.minutes is not None:
        say(log.failed(said, found.kind, recipe, landscape))
        return 1, 60 * found.minutes
    if flaky is not None and 60 * flaky < started_s:
        say(log.failed(said, "crash_start", recipe, landscape))
        return 1, 60 * flaky
    say(log.loaded(said, recipe, landscape, seconds=started_s))
    launched = Launched(
        answers=Answers(landscape, recipe.config, read_solutions(opts.answers) if opts.answers else Solutions()),
        model=recipe.served,
        max_model_len=recipe.max_model_len,
        noise=Noise.scaled(opts.noise),
        seed=opts.seed,
        started_s=started_s,
        flaky_s=None if flaky is None else 60 * flaky,
        dies_under_load=found is not None,
        rate=runs_in.rate,
    )
    with asyncio.Runner(loop_factory=NEW_LOOP) as runner:
        try:
            return runner.run(serve(recipe, launched, said, opts))
        except OSError as error:
            say([said.server(f"OSError: [Errno {error.errno}] {os.strerror(error.errno or 0)}")])
            return 1, REFUSED_S


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
