"""Requests through the simulated engine: a closed loop has what the landscape's pure function says."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import pytest

from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import Landscape, load, point
from trials.engines.emulated.simulation import Request, Simulation

L0, L2 = load("L0"), load("L2")


@dataclass
class Loop:
    """A closed loop; lengths are drawn between `ratio` of the landscape's and those."""

    landscape: Landscape
    config: Config
    concurrency: int
    waves: int = 4
    ratio: float = 1.0
    done: list[Request] = field(default_factory=list)

    def run(self) -> "Loop":
        """Send all requests."""
        simulation, requests = Simulation(self.landscape, self.config), self.requests()
        for slot in range(self.concurrency):
            simulation.add(next(requests)(slot, 0.0))
        while simulation.next_s() is not None:
            for ended in simulation.step():
                assert ended.ended_s is not None
                self.done.append(ended)
                if make := next(requests, None):
                    simulation.add(make(ended.order, ended.ended_s))
        return self

    def requests(self) -> Iterator["Make"]:
        """Yield what makes each request of the loop."""
        draw = random.Random(1)  # noqa: S311 lengths
        for _ in range(self.waves * self.concurrency):
            isl, osl = self.landscape.isl, self.landscape.osl
            yield Make(draw.randint(int(isl * self.ratio), isl), draw.randint(int(osl * self.ratio), osl))

    def tok_per_s_per_gpu(self) -> float:
        """Return the rate between the first wave's end and the last wave's beginning."""
        ends = sorted(request.ended_s or 0.0 for request in self.done)
        begin_s, end_s = ends[self.concurrency - 1], ends[-self.concurrency]
        tokens = 0.0
        for request in self.done:
            took_s = (request.ended_s or 0.0) - request.arrival_s
            inside_s = min(request.ended_s or 0.0, end_s) - max(request.arrival_s, begin_s)
            tokens += max(0.0, inside_s / took_s) * (request.prompt_tokens + request.output_tokens)
        return tokens / (end_s - begin_s) / self.config.tp


@dataclass(frozen=True)
class Make:
    """A request without its place."""

    isl: int
    osl: int

    def __call__(self, slot: int, arrival_s: float) -> Request:
        """Return the request of a slot."""
        return Request(order=slot, prompt_tokens=self.isl, output_tokens=self.osl, arrival_s=arrival_s)


@pytest.mark.parametrize("concurrency", [1, 4, 16, 64, 128])
@pytest.mark.parametrize("landscape", [L0, L2])
@pytest.mark.parametrize("which", ["baseline", "best"])
def test_a_closed_loop_has_the_landscapes_numbers(landscape: Landscape, concurrency: int, which: str) -> None:
    config: Config = getattr(landscape, which)
    loop, pure = Loop(landscape, config, concurrency).run(), point(landscape, config, concurrency)
    later = loop.done[concurrency:]
    assert loop.tok_per_s_per_gpu() == pytest.approx(pure.total_tok_per_s_per_gpu, rel=1e-6)
    ttft_ms = fmean(1e3 * (request.first_s - request.arrival_s) for request in later)
    assert ttft_ms == pytest.approx(pure.ttft_ms, rel=1e-6)
    spans = [((request.ended_s or 0.0) - request.first_s) / (request.output_tokens - 1) for request in later]
    assert 1e3 * fmean(spans) == pytest.approx(pure.tpot_ms, rel=0.03)


@pytest.mark.parametrize("concurrency", [4, 64])
def test_lengths_that_differ_change_little(concurrency: int) -> None:
    loop = Loop(L0, L0.baseline, concurrency, waves=8, ratio=0.8).run()
    pure = point(L0, L0.baseline, concurrency, isl=0.9 * L0.isl, osl=0.9 * L0.osl)
    assert loop.tok_per_s_per_gpu() == pytest.approx(pure.total_tok_per_s_per_gpu, rel=0.03)


@pytest.mark.parametrize("config", [L0.baseline._replace(mns=64), L0.baseline._replace(gmu=0.62)])
def test_a_batch_or_a_kv_cache_that_is_too_small_queues(config: Config) -> None:
    loop, pure = Loop(L0, config, 128, waves=6).run(), point(L0, config, 128)
    assert loop.tok_per_s_per_gpu() == pytest.approx(pure.total_tok_per_s_per_gpu, rel=0.03)


def test_requests_in_lockstep_end_at_one_moment_and_in_order() -> None:
    simulation = Simulation(L0, L0.baseline, now_s=553.078422136497)
    for slot in (3, 1, 2, 0):
        simulation.add(Request(order=slot, prompt_tokens=8192, output_tokens=1024, arrival_s=0.0))
    ended: list[Request] = []
    while not ended:
        ended = simulation.step()
    assert [request.order for request in ended] == [0, 1, 2, 3]
    assert len({request.ended_s for request in ended}) == 1


def test_tokens_come_evenly_between_the_first_and_the_last() -> None:
    simulation = Simulation(L0, L0.baseline)
    request = Request(order=0, prompt_tokens=100, output_tokens=11, arrival_s=1.0)
    simulation.add(request)
    (ended,) = simulation.advance(1000.0)
    assert ended is request
    times = [simulation.token_s(request, number) for number in range(1, 12)]
    assert times[0] == request.first_s
    assert times[-1] == request.ended_s
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == pytest.approx([gaps[0]] * 10)


def test_tokens_are_counted_as_they_come() -> None:
    simulation = Simulation(L0, L0.baseline)
    request = Request(order=0, prompt_tokens=100, output_tokens=5, arrival_s=0.0)
    simulation.add(request)
    assert simulation.tokens(request) == 0
    simulation.advance(0.0)
    simulation.advance(request.first_s)
    assert simulation.tokens(request) == 1
    simulation.advance(1e6)
    assert simulation.tokens(request) == 5


def test_a_request_that_arrives_later_waits_for_its_time() -> None:
    simulation = Simulation(L0, L0.baseline)
    simulation.add(Request(order=0, prompt_tokens=100, output_tokens=1, arrival_s=50.0))
    assert simulation.next_s() == 50.0
    assert simulation.advance(49.0) == []
    (ended,) = simulation.advance(60.0)
    assert ended.ended_s == ended.first_s > 50.0


def test_a_request_that_is_removed_leaves_its_place_to_another() -> None:
    simulation = Simulation(L0, L0.baseline._replace(mns=1))
    first, second = (Request(order=n, prompt_tokens=9, output_tokens=9, arrival_s=0.0) for n in range(2))
    simulation.add(first)
    simulation.add(second)
    simulation.advance(0.0)
    assert (simulation.running, simulation.waiting) == (1, 1)
    simulation.remove(first)
    assert simulation.advance(1e6) == [second]


def test_a_faster_request_is_faster_all_along() -> None:
    ended = []
    for rate in (1.0, 2.0):
        simulation = Simulation(L0, L0.baseline)
        simulation.add(Request(order=0, prompt_tokens=800, output_tokens=90, arrival_s=0.0, rate=rate))
        ended += simulation.advance(1e6)
    assert ended[0].ended_s == pytest.approx(2 * (ended[1].ended_s or 0.0))
