"""
Clients of a stream, each a program of its own so that its processor time can be told apart.

    python -m benchmarks.contenders NAME URL STREAMS REQUESTS TOKENS...

For each TOKENS a client sends REQUESTS requests of so many tokens in a closed loop of STREAMS. Printed is one JSON list
of runs: the processor seconds, with those of child processes, and of every request the number that its prompt begins
with, when it was sent, and the stamp of each chunk. `native/client.c` prints the same.
"""

import argparse
import asyncio
import json
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any

import httpx
import psutil

from trials.deadline import Deadline
from trials.load import truth
from trials.load.generator import Generator
from trials.load.workload import Planned

ALLOWED_S = 300.0
CPUCLOCK_SCHED = 2  # linux/posix-timers.h: all threads of a process, in nanoseconds; /proc has hundredths of a second

Run = dict[str, Any]
Ask = Callable[[str, dict[str, Any]], Awaitable[tuple[int, list[int]]]]


def main() -> None:
    """Run one client."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=CONTENDERS)
    parser.add_argument("url")
    parser.add_argument("streams", type=int)
    parser.add_argument("requests", type=int)
    parser.add_argument("tokens", type=int, nargs="+")
    told = parser.parse_args()
    print(json.dumps(CONTENDERS[told.name](told.url, told.streams, told.requests, told.tokens)))


def cpu_s() -> float:
    """Return the processor seconds of this process and of its living children."""
    pids = [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    return sum(time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED) for pid in pids)


def prompt(number: int) -> str:
    """Return a short prompt by which a request is known."""
    return f"{number} words of a prompt"


def ours(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    """Run the load generator in one process; what it parses and hands over after a run is in its time."""
    runs, numbers = [], count()
    with Generator(url, "m", concurrency=streams, processes=1, request_s=ALLOWED_S, stall_s=ALLOWED_S) as generator:
        for tokens in lengths:
            own = [next(numbers) for _ in range(requests)]
            load = [(Planned(prompt=prompt(n), input_tokens=None, output_tokens=tokens),) for n in own]
            begun_s = cpu_s()
            ran = generator.run(load, arrivals=None, deadline=Deadline("the run", ALLOWED_S))
            spent_s = cpu_s() - begun_s
            answers = [truth.stamped(timing, own[timing.number]) for timing in ran.timings]
            rows = [_row(a.number, _ns(a.sent_s), [_ns(stamp) for stamp in a.stamps_s]) for a in answers]
            runs.append({"cpu_s": spent_s, "requests": rows})
    return runs


def as_aiohttp(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    """Run aiohttp the way of `vllm bench serve`: one session, a semaphore, each chunk decoded, split and parsed."""
    return asyncio.run(_aiohttp(url, streams, requests, lengths))


def as_aiohttp_uvloop(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    """Run the same on uvloop, which that tool does not use."""
    import uvloop  # noqa: PLC0415 one contender of several

    return uvloop.run(_aiohttp(url, streams, requests, lengths))


def as_httpx(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    """Run plain httpx, lines and json; a client for each stream, since a shared pool takes seconds at 512."""
    return asyncio.run(_httpx(url, streams, requests, lengths))


async def _aiohttp(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    import aiohttp  # noqa: PLC0415 one contender of several

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=streams), timeout=aiohttp.ClientTimeout(total=ALLOWED_S)
    ) as session:

        async def ask(path: str, body: dict[str, Any]) -> tuple[int, list[int]]:
            sent_ns, stamps, held = time.perf_counter_ns(), [], ""
            async with session.post(path, json=body) as response:
                async for data in response.content.iter_any():
                    *events, held = (held + data.decode()).split("\n\n")
                    stamps += [time.perf_counter_ns() for event in events if has_content(event)]
            return sent_ns, stamps

        return await _runs([ask] * streams, url, requests, lengths)


async def _httpx(url: str, streams: int, requests: int, lengths: Sequence[int]) -> list[Run]:
    def asking(client: httpx.AsyncClient) -> Ask:
        async def ask(path: str, body: dict[str, Any]) -> tuple[int, list[int]]:
            sent_ns = time.perf_counter_ns()
            async with client.stream("POST", path, json=body) as response:
                return sent_ns, [time.perf_counter_ns() async for line in response.aiter_lines() if has_content(line)]

        return ask

    no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    clients = [httpx.AsyncClient(verify=no_tls, trust_env=False, timeout=ALLOWED_S) for _ in range(streams)]
    try:
        return await _runs([asking(client) for client in clients], url, requests, lengths)
    finally:
        for client in clients:
            await client.aclose()


def has_content(event: str) -> bool:
    """Return whether a server-sent event has text, by parsing it as these clients do."""
    data = event.strip().removeprefix("data:").strip()
    if not data or data == "[DONE]":
        return False
    choices = json.loads(data)["choices"]
    return bool(choices and choices[0]["text"])


async def _runs(asks: Sequence[Ask], url: str, requests: int, lengths: Sequence[int]) -> list[Run]:
    runs, numbers = [], count()
    for tokens in lengths:
        begun_s = cpu_s()
        rows = await _run(asks, url, [next(numbers) for _ in range(requests)], tokens)
        runs.append({"cpu_s": cpu_s() - begun_s, "requests": rows})
    return runs


async def _run(asks: Sequence[Ask], url: str, numbers: Sequence[int], tokens: int) -> list[Run]:
    """Send each number's request, as many at once as there are ways to ask."""
    left = iter(numbers)

    async def slot(ask: Ask) -> list[Run]:
        return [_row(number, *await ask(f"{url}/v1/completions", body(number, tokens))) for number in left]

    return [row for rows in await asyncio.gather(*(slot(ask) for ask in asks)) for row in rows]


def body(number: int, tokens: int) -> dict[str, Any]:
    """Return the body of a request, as the load generator's."""
    return {
        "model": "m",
        "prompt": prompt(number),
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _row(number: int, sent_ns: int, stamps_ns: list[int]) -> Run:
    return {"number": number, "sent_ns": sent_ns, "stamps_ns": stamps_ns}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


CONTENDERS: Mapping[str, Callable[[str, int, int, Sequence[int]], list[Run]]] = {
    "ours": ours,
    "aiohttp": as_aiohttp,
    "aiohttp-uvloop": as_aiohttp_uvloop,
    "httpx": as_httpx,
}


if __name__ == "__main__":
    main()
