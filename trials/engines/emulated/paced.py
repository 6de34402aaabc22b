"""
The emulated engine on the wall clock: tokens come when they would, `rate` times as fast.

For tests of the path that a real engine takes. Nothing is synchronised and no answer says a virtual time, so that what
is measured is the real clients' and the real network's.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from trials.engines.emulated import api
from trials.engines.emulated.answers import Spoken
from trials.engines.emulated.engine import Asked, Counted, Death, Launched, Reply
from trials.engines.emulated.simulation import Request, Simulation

TICK_S = 0.002


@dataclass(slots=True)
class _Stream:
    """
    An answer on its way.

    Attributes:
        sent: Tokens that have been.
    """

    asked: Asked
    events: api.Events
    sent: int = 0


@dataclass(slots=True)
class Paced:
    """
    The engine at a rate.

    Attributes:
        rate: Virtual seconds a second.
        died: Is called once if it dies.
    """

    launched: Launched
    rate: float
    died: Callable[[Death], None]
    counted: Counted = field(default_factory=Counted)
    dead: bool = False
    _begun_s: float = field(default_factory=time.monotonic)
    _streams: dict[Request, _Stream] = field(default_factory=dict)
    _requests: int = 0
    _simulation: Simulation = field(init=False)

    def __post_init__(self) -> None:
        """Begin right after the start."""
        answers = self.launched.answers
        self._simulation = Simulation(answers.landscape, answers.config, now_s=self.launched.started_s)

    @property
    def now_s(self) -> float:
        """Virtual seconds since the launch."""
        return self.launched.started_s + (time.monotonic() - self._begun_s) * self.rate

    @property
    def running(self) -> int:
        """How many requests run."""
        return self._simulation.running

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._simulation.waiting

    def ask(self, posted: api.Posted, reply: Reply) -> Asked | None:
        """Take a request; its tokens are sent as they come."""
        self._requests += 1
        said = self.launched.say(posted)
        request = Request(
            order=self._requests,
            prompt_tokens=posted.prompt_tokens,
            output_tokens=said.tokens,
            arrival_s=self.now_s,
            rate=self.launched.noise.factor(self.launched.seed, 0),
        )
        place = api.Place(run="", slot=0, slots=1)
        asked = Asked(posted=posted, place=place, number=self._requests, said=said, request=request, reply=reply)
        self._streams[request] = _Stream(asked, api.Events(self.launched.model, posted, self._requests))
        self._simulation.add(request)
        return asked

    def leave(self, place: api.Place) -> None:
        """Do nothing: nobody is waited for."""

    def gone(self, asked: Asked) -> None:
        """Forget a request whose client has gone."""
        if self._streams.pop(asked.request, None):
            self._simulation.remove(asked.request)

    async def run(self) -> None:
        """Send what is due, again and again, until it dies."""
        while not self.dead:
            self._simulation.advance(self.now_s)
            for stream in list(self._streams.values()):
                self._send(stream)
            if self.launched.flaky_s is not None and self.now_s >= self.launched.flaky_s:
                self.die("flaky")
            await asyncio.sleep(TICK_S)

    def die(self, why: Death) -> None:
        """End: what is in flight fails."""
        self.dead = True
        for stream in self._streams.values():
            if not stream.sent:
                stream.asked.reply(api.response(500, api.DEAD))
        self.died(why)

    def _send(self, stream: _Stream) -> None:
        """Send the tokens of an answer that have come since the last time."""
        asked, said = stream.asked, stream.asked.said
        due = self._simulation.tokens(asked.request)
        whole = due == said.tokens
        if whole:
            del self._streams[asked.request]
            self.counted.add(asked.posted, said)
        if not asked.posted.stream:
            if whole:
                asked.reply(api.response(200, self._body(asked, said)))
            return
        if due > stream.sent:
            head = b"" if stream.sent else api.STREAM_HEAD
            text = said.piece(stream.sent, due)
            event = stream.events.chunk(text, finish=said.finish if whole else None, at_ns=None)
            end = api.framed(stream.events.end(said.tokens)) + api.STREAM_END if whole else b""
            asked.reply(head + api.framed(event) + end)
            stream.sent = due

    def _body(self, asked: Asked, said: Spoken) -> bytes:
        return api.whole(
            self.launched.model,
            asked.posted,
            said.piece(0, said.tokens),
            said.tokens,
            finish=said.finish,
            number=asked.number,
            at_ns=None,
        )
