"""
Requests through the emulated engine, as a discrete-event simulation on a virtual clock. Pure: nothing here waits.

A batch decodes at the landscape's pace for as many as run now: a step, and the share of the prefills that all of them
bring along. A request's first token comes when the landscape says; the rest of its time is decoding, in all exactly as
long as the landscape's cycle, so that a closed loop has the landscape's throughput. The landscape counts the wait for
the first token a second time in its TPOT; here it is counted once, and a TPOT is lower by up to that share.
"""

import heapq
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field

from trials.engines.emulated.config import Config
from trials.engines.emulated.landscape import PREEMPTED, Landscape, first_token_ms, kv_tokens, prefill_ms, step_ms


@dataclass(slots=True, eq=False, kw_only=True)
class Request:
    """
    One request; what is said below the line is known once it runs.

    Attributes:
        order: Breaks ties between requests that arrive or end at one moment.
        rate: How much faster than the landscape it is.
        first_s: When its first token comes.
        begun: What the decode clock says then.
        token: Decode clock between two of its tokens.
        ended_s: When its last token has come; None before.
    """

    order: int
    prompt_tokens: int
    output_tokens: int
    arrival_s: float
    rate: float = 1.0
    first_s: float = 0.0
    begun: float = 0.0
    token: float = 0.0
    ended_s: float | None = None

    @property
    def last(self) -> float:
        """What the decode clock says at its last token."""
        return self.begun + (self.output_tokens - 1) * self.token


@dataclass(slots=True)
class Pace:
    """How fast a batch decodes now: one tick of the decode clock takes `tick_s`."""

    tick_s: float
    first_token_s: float


@dataclass(slots=True)
class _Marks:
    """The decode clock's past: from each moment on, what it said then and how fast it has ticked since."""

    at_s: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    tick_s: list[float] = field(default_factory=list)

    def add(self, at_s: float, clock: float, tick_s: float) -> None:
        """Note a change of pace."""
        self.at_s.append(at_s)
        self.clock.append(clock)
        self.tick_s.append(tick_s)

    def when(self, clock: float) -> float:
        """Return when the decode clock said so."""
        at = max(0, bisect_right(self.clock, clock) - 1)
        return self.at_s[at] + (clock - self.clock[at]) * self.tick_s[at]


class Simulation:
    """
    An engine with one config.

    Attributes:
        now_s: The virtual time, seconds.
        preempted: How many requests have been.
    """

    def __init__(self, landscape: Landscape, chosen: Config, *, now_s: float = 0.0) -> None:
        """Begin idle."""
        self._landscape, self._config = landscape, chosen
        self._kv_tokens = kv_tokens(landscape, chosen)
        self.now_s = now_s
        self._arriving: list[tuple[float, int, Request]] = []
        self._waiting: deque[Request] = deque()
        self._prefilling: list[tuple[float, int, Request]] = []
        self._decoding: list[tuple[float, int, Request]] = []
        self._running: set[Request] = set()
        self._clock = 0.0
        self._tick_s = 1.0
        self._marks = _Marks()
        self._paces: dict[tuple[int, int, int, int, int], Pace] = {}

    @property
    def running(self) -> int:
        """How many requests run now."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many have arrived and wait for a place."""
        return len(self._waiting)

    def add(self, request: Request) -> None:
        """Let a request arrive when it says, or now if that is past."""
        request.arrival_s = max(request.arrival_s, self.now_s)
        heapq.heappush(self._arriving, (request.arrival_s, request.order, request))

    def remove(self, request: Request) -> None:
        """Forget a request whose client has gone."""
        for queue in (self._arriving, self._prefilling, self._decoding):
            queue[:] = [entry for entry in queue if entry[2] is not request]
            heapq.heapify(queue)
        if request in self._waiting:
            self._waiting.remove(request)
        if request in self._running:
            self._running.remove(request)
            self._admit()

    def next_s(self) -> float | None:
        """Return when something happens next; None if nothing will."""
        moments = [queue[0][0] for queue in (self._arriving, self._prefilling) if queue]
        if self._decoding:
            moments.append(self.now_s + max(0.0, self._decoding[0][0] - self._clock) * self._tick_s)
        return min(moments, default=None)

    def step(self) -> list[Request]:
        """Go to the next event; return the requests that end there, in order."""
        next_s = self.next_s()
        if next_s is None:
            return []
        self._pass(next_s)
        self._begin_decoding()
        ended = self._end()
        arrived = self._arrive()
        if ended or arrived:
            self._admit()
        return sorted(ended, key=lambda request: request.order)

    def advance(self, to_s: float) -> list[Request]:
        """Go to a moment; return the requests that end until then, in the order in which they do."""
        ended: list[Request] = []
        while (next_s := self.next_s()) is not None and next_s <= to_s:
            ended += self.step()
        self._pass(max(to_s, self.now_s))
        return ended

    def skip(self, seconds: float) -> None:
        """Let time pass in which the engine is idle, or does what is not simulated."""
        self.now_s += seconds
        if self._marks.at_s:
            self._marks.add(self.now_s, self._clock, self._tick_s)

    def token_s(self, request: Request, number: int) -> float:
        """Return when a token of a request came, the first being number 1; only for what has come by now."""
        if number <= 1:
            return request.first_s
        if number == request.output_tokens and request.ended_s is not None:
            return request.ended_s
        return self._marks.when(request.begun + (number - 1) * request.token)

    def tokens(self, request: Request) -> int:
        """Return how many tokens of a request have come by now."""
        if request.ended_s is not None:
            return request.output_tokens
        if request not in self._running or self.now_s < request.first_s or not request.token:
            return 0
        return min(request.output_tokens, 1 + int((self._clock - request.begun) / request.token + 1e-9))

    def _pass(self, to_s: float) -> None:
        """Let the clocks run."""
        if self._decoding:
            target = self._decoding[0][0]
            ran = self._clock + (to_s - self.now_s) / self._tick_s
            # the end of a stretch is exactly what it was computed from: requests in lockstep end together
            self._clock = target if abs(ran - target) * self._tick_s < 1e-9 else ran  # noqa: PLR2004 a nanosecond
        else:
            self._clock += (to_s - self.now_s) / self._tick_s
        self.now_s = to_s

    def _arrive(self) -> bool:
        """Queue what has arrived."""
        before = len(self._waiting)
        if not before and not self._running and self._arriving and self._arriving[0][0] <= self.now_s:
            self._marks = _Marks()  # whoever ran before has been answered
        while self._arriving and self._arriving[0][0] <= self.now_s:
            self._waiting.append(heapq.heappop(self._arriving)[2])
        return len(self._waiting) > before

    def _begin_decoding(self) -> None:
        while self._prefilling and self._prefilling[0][0] <= self.now_s:
            request = heapq.heappop(self._prefilling)[2]
            request.begun = self._clock
            heapq.heappush(self._decoding, (request.last, request.order, request))

    def _end(self) -> list[Request]:
        ended = []
        while self._decoding and self._decoding[0][0] <= self._clock:
            request = heapq.heappop(self._decoding)[2]
            request.ended_s = self.now_s
            self._running.remove(request)
            ended.append(request)
        return ended

    def _admit(self) -> None:
        """Let as many run as fit, and set the pace for them."""
        admitted = []
        while self._waiting and len(self._running) < self._places():
            request = self._waiting.popleft()
            self._running.add(request)
            admitted.append(request)
        if not self._running:
            return
        pace = self._pace()
        self._tick_s = pace.tick_s
        self._marks.add(self.now_s, self._clock, pace.tick_s)
        for request in admitted:
            self._start(request, pace)

    def _start(self, request: Request, pace: Pace) -> None:
        """Give a request its first token's time, and to decoding what is left of its cycle."""
        request.first_s = self.now_s + pace.first_token_s / request.rate
        more = request.output_tokens - 1
        left_s = request.output_tokens * pace.tick_s - pace.first_token_s
        request.token = max(left_s, 0.0) / (more * pace.tick_s) / request.rate if more else 0.0
        heapq.heappush(self._prefilling, (request.first_s, request.order, request))

    def _places(self) -> int:
        """Return how many may run: as many as a batch takes, and as the KV cache holds."""
        return max(1, min(self._config.mns, int(self._fit())))

    def _fit(self) -> float:
        """Return how many sequences of the present mean length the KV cache holds."""
        there = [*self._running, *self._waiting]
        tokens = sum(request.prompt_tokens + request.output_tokens for request in there) / max(1, len(there))
        return PREEMPTED * self._kv_tokens / max(1.0, tokens)

    def _pace(self) -> Pace:
        """Return the pace of those that run, remembered by all that it depends on."""
        prompts = sum(request.prompt_tokens for request in self._running)
        outputs = sum(request.output_tokens for request in self._running)
        key = (len(self._running), prompts, outputs, len(self._waiting), int(self._fit() * 1e6))
        if key not in self._paces:
            self._paces[key] = self._computed(prompts, outputs)
        return self._paces[key]

    def _computed(self, prompts: int, outputs: int) -> Pace:
        running, there = len(self._running), len(self._running) + len(self._waiting)
        isl, osl = prompts / running, outputs / running
        wanted, fits = min(there, self._config.mns), self._fit()
        batch, factor = float(running), 1.0
        if wanted > fits:
            batch, factor = fits, (1 + 0.25 * (wanted / fits - 1)) * running / fits
        prefill = prefill_ms(self._landscape, self._config, isl, waiting_tokens=there * isl)
        step = step_ms(self._landscape, self._config, batch, isl + osl / 2)
        return Pace(
            tick_s=(step + batch * prefill / osl) * factor / 1e3,
            first_token_s=first_token_ms(prefill, batch) / 1e3,
        )
