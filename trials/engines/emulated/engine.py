"""
The emulated engine at work: who is answered when, on the virtual clock.

The clock waits for the load, never the load for the clock. While a run of a synchronised load goes on, the clock moves
only when each of its slots has a request here, or has left; answers that end at one moment are sent one at a time, in
the order of their slots, each once the slot before has its next request here. So nothing depends on how fast anybody
is. Other requests are answered at once, and the clock then moves on by what they would have taken.
"""

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from trials.engines.emulated import api
from trials.engines.emulated.answers import Answers, Spoken, filler, spoken
from trials.engines.emulated.chance import Noise
from trials.engines.emulated.failures import LOADED_SHARE
from trials.engines.emulated.landscape import point
from trials.engines.emulated.simulation import Request, Simulation

CHUNK = 64
"""Tokens of a chunk; the first has one, so that its time is seen."""
SHORT_TRIAL = 3
"""Requests a slot of the shortest trial; an engine that runs out of memory under load survives 70 % of its load."""
QUESTION_S = 3.5 * 60 / 1319
"""What a question of the gate takes, asked beside many others."""

Death = Literal["oom_run", "flaky"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """
    One launch of the emulated engine.

    Attributes:
        seed: Of its noise.
        started_s: Virtual seconds that its start took.
        flaky_s: When it fails by chance, virtual seconds from its launch; None: it does not.
        dies_under_load: Whether it runs out of memory under load.
        rate: Of every request of a load, over the landscape's.
    """

    answers: Answers
    model: str
    max_model_len: int
    noise: Noise
    seed: str
    started_s: float
    flaky_s: float | None = None
    dies_under_load: bool = False
    rate: float = 1.0

    @property
    def loaded_s(self) -> float:
        """Virtual seconds of load after which it is dead."""
        if not self.dies_under_load:
            return math.inf
        landscape, chosen = self.answers.landscape, self.answers.config
        cycles = [point(landscape, chosen, concurrency).cycle_s for concurrency in landscape.concurrency]
        return LOADED_SHARE * SHORT_TRIAL * sum(cycles)

    def say(self, posted: api.Posted) -> Spoken:
        """Return the answer to a request: filler of its length to a load, words to anything else."""
        if posted.ignore_eos or posted.text is None:
            return filler(max(1, posted.max_tokens))
        return spoken(self.answers.text(posted.text), most=max(1, posted.max_tokens), stops=posted.stops)


@dataclass(slots=True)
class Counted:
    """What is counted for /metrics."""

    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter)

    def add(self, posted: api.Posted, said: Spoken) -> None:
        """Count an answer that has ended."""
        self.prompt_tokens += posted.prompt_tokens
        self.generation_tokens += said.tokens
        self.finished[said.finish] += 1


Reply = Callable[[bytes], None]
"""Sends an HTTP answer, whole or in part."""


@dataclass(slots=True, eq=False, kw_only=True)
class Asked:
    """A request that is here, and how to answer it."""

    posted: api.Posted
    place: api.Place
    number: int
    said: Spoken
    request: Request
    reply: Reply


@dataclass(slots=True, kw_only=True)
class _Run:
    """
    A run of a synchronised load.

    Attributes:
        begun_s: Its moment 0, on the engine's clock.
        present: Slots that have not left.
        here: What each slot waits for.
        ended: Answers that are to be sent, in order.
        served: Requests of each slot so far.
    """

    name: str
    number: int
    slots: int
    begun_s: float
    present: set[int]
    here: dict[int, Asked] = field(default_factory=dict)
    ended: deque[Asked] = field(default_factory=deque)
    served: Counter[int] = field(default_factory=Counter)


class Engine:
    """The engine on its virtual clock."""

    def __init__(self, launched: Launched, died: Callable[[Death], None]) -> None:
        """
        Begin right after the start.

        Args:
            died: Is called once if it dies.
        """
        self.launched = launched
        self.counted = Counted()
        self.dead = False
        self._died = died
        self._simulation = Simulation(launched.answers.landscape, launched.answers.config, now_s=launched.started_s)
        self._run: _Run | None = None
        self._runs = self._requests = 0
        self._loaded_s, self._most_s = 0.0, launched.loaded_s

    @property
    def now_s(self) -> float:
        """Virtual seconds since the launch."""
        return self._simulation.now_s

    @property
    def running(self) -> int:
        """How many requests run."""
        return self._simulation.running

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._simulation.waiting

    def ask(self, posted: api.Posted, reply: Reply) -> Asked | None:
        """
        Take a request; its answer is sent at once, or when the clock has come to it.

        Raises:
            BadRequest: Its place in a load makes no sense.
        """
        self._requests += 1
        said = self.launched.say(posted)
        if posted.place is None:
            self._answer_alone(posted, said, reply)
            return None
        run = self._joined(posted.place)
        if posted.place.slot in run.here or posted.place.slot not in run.present:
            raise api.BadRequest(f"slot {posted.place.slot} of run {run.name} has a request here or has left")
        asked = Asked(
            posted=posted,
            place=posted.place,
            number=self._requests,
            said=said,
            request=self._request(run, posted, posted.place, said),
            reply=reply,
        )
        run.here[posted.place.slot] = asked
        self._simulation.add(asked.request)
        self._go_on()
        return asked

    def leave(self, place: api.Place) -> None:
        """Wait for a slot no more."""
        self._left(self._joined(place), place.slot)

    def gone(self, asked: Asked) -> None:
        """Forget a request whose client has gone, and its slot."""
        if self._run is not None and self._run.here.get(asked.place.slot) is asked:
            self._simulation.remove(asked.request)
            self._left(self._run, asked.place.slot)

    def _joined(self, place: api.Place) -> _Run:
        """Return the run of a place; a new name begins a new one, and ends the one before whoever is still in it."""
        if self._run is None or self._run.name != place.run:
            for left in self._run.here.values() if self._run else ():
                self._simulation.remove(left.request)
            self._runs += 1
            self._run = _Run(
                name=place.run,
                number=self._runs,
                slots=place.slots,
                begun_s=self.now_s,
                present=set(range(place.slots)),
            )
        if self._run.slots != place.slots:
            raise api.BadRequest(f"run {place.run} has {self._run.slots} slots, not {place.slots}", param="emulated")
        return self._run

    def _request(self, run: _Run, posted: api.Posted, place: api.Place, said: Spoken) -> Request:
        noise, seed = self.launched.noise, self.launched.seed
        cycle = run.served[place.slot]
        run.served[place.slot] += 1
        return Request(
            order=place.slot,
            prompt_tokens=posted.prompt_tokens,
            output_tokens=said.tokens,
            arrival_s=run.begun_s + place.arrival_ns / 1e9,
            rate=self.launched.rate
            * noise.factor(seed, run.slots)
            * noise.cycle_factor(seed, run.slots, run.number, cycle),
        )

    def _left(self, run: _Run, slot: int) -> None:
        run.present.discard(slot)
        run.here.pop(slot, None)
        run.ended = deque(asked for asked in run.ended if asked.place.slot != slot)
        self._go_on()

    def _go_on(self) -> None:
        """Let the clock run while every slot waits for it; answer one request, whose slot is then waited for."""
        run = self._run
        while run and run.present and not self.dead and run.here.keys() >= run.present:
            if run.ended:
                self._answer(run, run.ended.popleft())
            elif death := self._death():
                self.die(death)
            else:
                before_s = self.now_s
                ended = set(self._simulation.step())
                self._loaded_s += self.now_s - before_s
                done = [asked for asked in run.here.values() if asked.request in ended]
                run.ended.extend(sorted(done, key=lambda asked: asked.place.slot))

    def _death(self) -> Death | None:
        """Return what kills the engine before anything else happens."""
        next_s = self._simulation.next_s() or self.now_s
        if self.launched.flaky_s is not None and next_s >= self.launched.flaky_s:
            return "flaky"
        return "oom_run" if self._loaded_s + next_s - self.now_s >= self._most_s else None

    def die(self, why: Death) -> None:
        """End, as vLLM does whose core has died: what is in flight fails."""
        self.dead = True
        for asked in self._run.here.values() if self._run else ():
            asked.reply(api.response(500, api.DEAD))
        self._died(why)

    def _answer(self, run: _Run, asked: Asked) -> None:
        """Send an answer with all its tokens' times."""
        del run.here[asked.place.slot]
        self.counted.add(asked.posted, asked.said)
        request = asked.request

        def at_ns(token: int) -> int:
            return round((self._simulation.token_s(request, token) - run.begun_s) * 1e9)

        asked.reply(self._bytes(asked.posted, asked.said, asked.number, at_ns))

    def _answer_alone(self, posted: api.Posted, said: Spoken, reply: Reply) -> None:
        """Answer a request outside of any synchronised load, and let pass what it takes, unless such a load runs."""
        begun_s, seconds = self.now_s, self._alone_s(posted, said)
        if self._run is None or not self._run.present:
            if self.launched.flaky_s is not None and begun_s + seconds >= self.launched.flaky_s:
                self.die("flaky")
                reply(api.response(500, api.DEAD))
                return
            self._simulation.skip(seconds)
        self.counted.add(posted, said)

        def at_ns(token: int) -> int:
            return round((begun_s + seconds * token / said.tokens) * 1e9)

        reply(self._bytes(posted, said, self._requests, at_ns))

    def _alone_s(self, posted: api.Posted, said: Spoken) -> float:
        if not posted.ignore_eos:
            return QUESTION_S
        landscape, chosen = self.launched.answers.landscape, self.launched.answers.config
        alone = point(landscape, chosen, 1, isl=posted.prompt_tokens, osl=said.tokens)
        return alone.cycle_s

    def _bytes(self, posted: api.Posted, said: Spoken, number: int, at_ns: Callable[[int], int]) -> bytes:
        """Return a whole answer as HTTP has it."""
        if not posted.stream:
            text, last_ns = said.piece(0, said.tokens), at_ns(said.tokens)
            body = api.whole(
                self.launched.model, posted, text, said.tokens, finish=said.finish, number=number, at_ns=last_ns
            )
            return api.response(200, body)
        events = api.Events(self.launched.model, posted, number)
        ends = [1, *range(1 + CHUNK, said.tokens, CHUNK), *([said.tokens] if said.tokens > 1 else [])]
        parts = [
            events.chunk(said.piece(begin, end), finish=said.finish if end == said.tokens else None, at_ns=at_ns(end))
            for begin, end in zip([0, *ends], ends, strict=False)
        ]
        return api.STREAM_HEAD + api.framed(b"".join([*parts, events.end(said.tokens)])) + api.STREAM_END
