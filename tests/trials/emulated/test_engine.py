"""The virtual clock of the engine: it waits for every slot of a load, and nothing depends on who is fast."""

import random
import re
from dataclasses import dataclass, field

import pytest

from trials.engines.emulated import api
from trials.engines.emulated.answers import Answers
from trials.engines.emulated.chance import Noise
from trials.engines.emulated.config import Config
from trials.engines.emulated.engine import CHUNK, QUESTION_S, Death, Engine, Launched
from trials.engines.emulated.failures import gate_minutes
from trials.engines.emulated.landscape import load

L0 = load("L0")
STAMP = re.compile(rb'"emulated_ns":(\d+)')


def launched(
    config: Config = L0.baseline, *, noise: float = 0.0, flaky_s: float | None = None, dies_under_load: bool = False
) -> Launched:
    """Return a launch that is ready after 500 virtual seconds."""
    return Launched(
        answers=Answers(L0, config),
        model="kimi",
        max_model_len=9472,
        noise=Noise.scaled(noise),
        seed="7",
        started_s=500.0,
        flaky_s=flaky_s,
        dies_under_load=dies_under_load,
    )


def posted(place: api.Place | None, *, tokens: int = 130, ids: int = 100) -> api.Posted:
    """Return a request of a load."""
    return api.Posted(
        chat=False,
        text=None,
        prompt_tokens=ids,
        max_tokens=tokens,
        ignore_eos=True,
        stream=True,
        usage=True,
        stops=(),
        place=place,
    )


@dataclass
class Bench:
    """An engine, and clients whose answers come in some order."""

    launched: Launched
    answers: dict[int, bytes] = field(default_factory=dict)
    deaths: list[Death] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the engine."""
        self.engine = Engine(self.launched, self.deaths.append)

    def send(self, slot: int, slots: int, arrival_ns: int = 0, *, run: str = "r", tokens: int = 130) -> None:
        """Send a slot's next request."""
        place = api.Place(run=run, slot=slot, slots=slots, arrival_ns=arrival_ns)

        def reply(data: bytes) -> None:
            self.answers[slot] = data

        self.engine.ask(posted(place, tokens=tokens), reply)

    def taken(self) -> dict[int, bytes]:
        """Take the answers that have come."""
        taken, self.answers = self.answers, {}
        return taken


def ended_ns(answer: bytes) -> int:
    """Return when an answer's last token came."""
    return int(STAMP.findall(answer)[-1])


def run(bench: Bench, slots: int, waves: int, *, seed: int, name: str = "r") -> list[tuple[int, int]]:
    """Run a closed loop whose clients are fast and slow at random; return who got an answer, and its end, in order."""
    draw = random.Random(seed)  # noqa: S311 who is fast
    left = dict.fromkeys(range(slots), waves)
    due = [(slot, 0) for slot in range(slots)]
    seen: list[tuple[int, int]] = []
    while due:
        slot, arrival_ns = due.pop(draw.randrange(len(due)))
        if left[slot]:
            left[slot] -= 1
            bench.send(slot, slots, arrival_ns, run=name, tokens=100 + 7 * slot)
        else:
            bench.engine.leave(api.Place(run=name, slot=slot, slots=slots))
        for answered, data in bench.taken().items():
            seen.append((answered, ended_ns(data)))
            due.append((answered, ended_ns(data)))
    return seen


def test_nothing_is_answered_before_every_slot_has_asked() -> None:
    bench = Bench(launched())
    bench.send(0, 2)
    assert bench.taken() == {}
    bench.send(1, 2)
    assert list(bench.taken()) == [0]


def test_answers_of_one_moment_come_one_by_one_in_the_order_of_their_slots() -> None:
    bench = Bench(launched())
    for slot in (2, 0, 1):
        bench.send(slot, 3)
    first = bench.taken()
    assert list(first) == [0]
    bench.send(0, 3, ended_ns(first[0]))
    second = bench.taken()
    assert list(second) == [1]
    assert ended_ns(second[1]) == ended_ns(first[0])
    bench.engine.leave(api.Place(run="r", slot=1, slots=3))
    assert list(bench.taken()) == [2]


def test_nothing_depends_on_who_is_fast() -> None:
    runs = [run(Bench(launched(noise=0.015)), 8, 3, seed=seed) for seed in range(5)]
    assert len(runs[0]) == 24
    assert all(each == runs[0] for each in runs)


def test_a_slot_that_leaves_or_is_gone_is_not_waited_for() -> None:
    bench = Bench(launched())
    bench.engine.leave(api.Place(run="r", slot=2, slots=3))
    gone = bench.engine.ask(posted(api.Place(run="r", slot=1, slots=3)), lambda _: None)
    assert gone is not None
    bench.engine.gone(gone)
    bench.send(0, 3)
    assert list(bench.taken()) == [0]


def test_every_run_begins_at_0_and_the_engines_clock_goes_on() -> None:
    bench = Bench(launched())
    first = run(bench, 4, 2, seed=1, name="a")
    after_s = bench.engine.now_s
    assert run(bench, 4, 2, seed=2, name="b") == first
    assert bench.engine.now_s - after_s == pytest.approx(after_s - 500.0)


def test_a_new_run_ends_one_that_its_client_has_abandoned() -> None:
    bench = Bench(launched())
    bench.send(0, 2, run="dead")
    assert run(bench, 2, 1, seed=1, name="alive")
    assert bench.engine.running == bench.engine.waiting == 0


def test_an_answer_says_when_the_first_token_came_and_then_every_64th() -> None:
    bench = Bench(launched())
    bench.send(0, 1, tokens=1 + 2 * CHUNK + 5)
    (answer,) = bench.taken().values()
    stamps = [int(stamp) for stamp in STAMP.findall(answer)]
    assert len(stamps) == 4
    assert stamps == sorted(stamps)
    step = (stamps[-1] - stamps[0]) / (2 * CHUNK + 5)
    assert stamps[1] - stamps[0] == pytest.approx(CHUNK * step, rel=1e-6)


def test_a_place_twice_or_in_another_load_is_refused() -> None:
    bench = Bench(launched())
    bench.send(0, 2)
    with pytest.raises(api.BadRequest, match="slot 0 of run r has a request here"):
        bench.send(0, 2)
    with pytest.raises(api.BadRequest, match="has 2 slots, not 3"):
        bench.send(1, 3)


def test_other_requests_are_answered_at_once_and_take_their_time() -> None:
    bench = Bench(launched())
    answers: list[bytes] = []
    bench.engine.ask(posted(None), answers.append)
    assert len(answers) == 1
    asked_s = bench.engine.now_s
    assert asked_s > 500.0
    question = api.Posted(
        chat=True,
        text="Why?",
        prompt_tokens=9,
        max_tokens=99,
        ignore_eos=False,
        stream=False,
        usage=False,
        stops=(),
        place=None,
    )
    bench.engine.ask(question, answers.append)
    assert bench.engine.now_s - asked_s == pytest.approx(QUESTION_S)
    assert gate_minutes(1319) == pytest.approx(0.5 + 1319 * QUESTION_S / 60)
    assert b"#### " in answers[1]


def test_an_engine_that_runs_out_of_memory_dies_under_load() -> None:
    bench = Bench(launched(dies_under_load=True))
    arrival_ns, answer = 0, b""
    while not bench.deaths:
        bench.send(0, 1, arrival_ns)
        (answer,) = bench.taken().values()
        arrival_ns = 0 if bench.deaths else ended_ns(answer)
    assert bench.deaths == ["oom_run"]
    assert answer == api.response(500, api.DEAD)
    assert bench.engine.now_s - 500.0 < bench.launched.loaded_s


def test_a_flaky_launch_dies_at_its_moment_whatever_it_does() -> None:
    bench = Bench(launched(flaky_s=510.0))
    answers: list[bytes] = []
    while not bench.deaths:
        bench.engine.ask(posted(None, tokens=500), answers.append)
    assert answers[-1].startswith(b"HTTP/1.1 500")
    assert bench.engine.now_s < 510.0


def test_noise_changes_a_launch_and_not_its_repetition() -> None:
    quiet = run(Bench(launched()), 2, 2, seed=1)
    noisy = [run(Bench(launched(noise=0.015)), 2, 2, seed=1) for _ in range(2)]
    assert noisy[0] == noisy[1] != quiet


def test_what_was_answered_is_counted() -> None:
    bench = Bench(launched())
    run(bench, 2, 3, seed=1)
    assert bench.engine.counted.prompt_tokens == 600
    assert bench.engine.counted.generation_tokens == 3 * (100 + 107)
    assert bench.engine.counted.finished == {"length": 6}
