"""What voids a run, whose fault it is, and what a busy host may do without voiding it."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from search_spaces import Workload
from tests.loops import IDLE, closed_loop, moved, ran, request
from trials.load.counters import Counters
from trials.load.guards import Fault, failed, faults, hit_share, idle_share
from trials.load.point import Point
from trials.load.timing import ClientUse, RequestTiming

Change = Callable[[RequestTiming], RequestTiming]


def point(concurrency: int = 2, *, stall_s: float = 5.0, **keys: Any) -> Point:  # noqa: ANN401 fields
    """Return a point of requests of 10 tokens in and 20 out."""
    lengths = {} if "shape" in keys else {"input_tokens": 10, "output_tokens": 20}
    load = Workload.model_validate({**lengths, "concurrency": [concurrency], **keys})
    return Point(workload=load, concurrency=concurrency, seed="7", request_s=10.0, stall_s=stall_s, load_s=100.0)


def loop(concurrency: int = 2, waves: int = 10, *, seconds: float = 0.2) -> list[RequestTiming]:
    """Return a loop without trouble: steps of 9.5 ms, 10 tokens in and 20 out."""
    timings = [
        request(wave * concurrency + slot, slot, wave * seconds, seconds)
        for wave in range(waves)
        for slot in range(concurrency)
    ]
    return [replace(timing, asked_input_tokens=10, prompt_tokens=10) for timing in timings]


def reasons(
    timings: list[RequestTiming],
    asked: Point | None = None,
    *,
    client: ClientUse = IDLE,
    counted: Counters | None = None,
) -> list[tuple[str, str]]:
    """Return whose fault and why, of each fault of a run."""
    found = faults(ran(timings, client), asked or point(), counted)
    return [(fault.whose, fault.reason) for fault in found]


def with_one(change: Change, *, at: int = 7) -> list[RequestTiming]:
    """Return the loop with one request changed."""
    return [change(timing) if timing.number == at else timing for timing in loop()]


def test_a_run_without_trouble_has_no_fault() -> None:
    counted = Counters(prompt_tokens=200, generation_tokens=400, prefix_query_tokens=200, prefix_hit_tokens=0)
    assert reasons(loop(), counted=counted) == []
    assert reasons(loop()) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"error": "HTTP 429: slow down"}, "HTTP 429: slow down"),
        ({"completion_tokens": 19}, "answered 19 of 20 tokens asked with ignore_eos"),
        ({"completion_tokens": 21}, "answered 21 of 20 tokens asked with ignore_eos"),
        ({"completion_tokens": None}, "the stream ended without usage: nobody knows how many tokens it had"),
        ({"prompt_tokens": None}, "the stream ended without usage: nobody knows how many tokens it had"),
        (
            {"finish_reason": "stop"},
            "an answer asked with ignore_eos ended with finish_reason 'stop' in place of 'length'",
        ),
        ({"prompt_tokens": 13}, "sent 10 ids and the server counted 13 prompt tokens, more than 2 apart"),
        ({"prompt_tokens": 7}, "sent 10 ids and the server counted 7 prompt tokens, more than 2 apart"),
    ],
)
def test_one_wrong_answer_voids_a_run(changed: dict[str, Any], reason: str) -> None:
    timings = with_one(lambda timing: replace(timing, **changed))
    assert reasons(timings) == [("engine", reason)]
    assert failed(ran(timings)) == (Fault(whose="engine", reason=reason),)


def test_several_wrong_answers_are_counted() -> None:
    timings = [replace(timing, completion_tokens=3) for timing in loop()]
    assert reasons(timings) == [
        ("engine", "answered 3 of 20 tokens asked with ignore_eos (20 of 20 requests)"),
    ]


@pytest.mark.parametrize("changed", [{"prompt_tokens": 12}, {"prompt_tokens": 9}, {"finish_reason": None}])
def test_ids_of_its_own_and_an_end_without_a_word_are_a_servers_right(changed: dict[str, Any]) -> None:
    assert reasons([replace(timing, **changed) for timing in loop()]) == []


def test_what_a_text_counts_for_is_the_servers_to_say() -> None:
    assert reasons([replace(timing, asked_input_tokens=None, prompt_tokens=40) for timing in loop()]) == []


def test_words_that_are_missing_in_the_servers_count_are_prompts_that_were_cut() -> None:
    text = [replace(timing, asked_input_tokens=None) for timing in loop()]
    assert reasons([replace(timing, prompt_tokens=9) for timing in text]) == []
    cut = [replace(timing, prompt_tokens=8) for timing in text]
    said = "prompts of 10.0 words on average are 8.0 tokens to the server: it cuts them"
    assert reasons(cut) == [("engine", said)]
    assert reasons(cut, point(token_ids=[1000, 9999])) == []


def test_a_run_that_never_came_to_its_concurrency_says_so() -> None:
    assert reasons(loop(waves=1)) == [("client", "2 requests never kept 2 slots busy: send more waves")]


def test_a_stream_that_stood_still_voids_a_run() -> None:
    timings = with_one(lambda timing: replace(timing, gaps_s=(*timing.gaps_s, 6.0)))
    assert reasons(timings) == [("engine", "one stream stood still for 6 s, over 5 s")]


def test_answers_without_content_void_a_run() -> None:
    silent = [replace(timing, first_token_s=None, last_token_s=None, chunks=0, gaps_s=()) for timing in loop()]
    assert reasons(silent) == [("engine", "100.0% of the answers had no visible content, over 1%")]


def test_answers_that_come_at_one_moment_void_a_run() -> None:
    buffered = [replace(timing, first_token_s=timing.last_token_s, gaps_s=(0.0,)) for timing in loop()]
    assert reasons(buffered) == [
        ("engine", "every answer came at one moment: there is no time per token; the server must stream")
    ]


def test_a_client_that_stamps_late_makes_no_stream_stand_still() -> None:
    slow, late = replace(IDLE, drain_p99_s=6.0), "the client took 6e+03 ms to stamp what came at once (p99), over 5 ms"
    stalled = with_one(lambda timing: replace(timing, gaps_s=(*timing.gaps_s, 6.0)))
    at_once = [replace(timing, first_token_s=timing.last_token_s, gaps_s=(0.0,)) for timing in loop()]
    assert reasons(stalled, client=slow) == reasons(at_once, client=slow) == [("client", late)]


def test_times_out_of_order_are_a_broken_clock() -> None:
    [(whose, reason)] = reasons(with_one(lambda timing: replace(timing, first_token_s=timing.sent_s - 1e-3)))
    assert whose == "client"
    assert reason.startswith("request 7 has times out of order: due, sent, first, last, ended [")


def test_more_chunks_than_tokens_are_tokens_that_nobody_counts() -> None:
    assert reasons(with_one(lambda timing: replace(timing, chunks=22))) == []
    assert reasons(with_one(lambda timing: replace(timing, chunks=23))) == [
        ("engine", "an answer had 3 chunks more than the tokens its usage counts, over 2")
    ]


def test_twenty_tokens_a_chunk_are_no_fault() -> None:
    bundled = [replace(t, chunks=2, gaps_s=t.gaps_s[:1]) for t in loop()]
    assert reasons(bundled) == []


def test_garbage_faster_than_any_engine_is_no_measurement() -> None:
    hasty = loop(seconds=0.0004)
    assert ("engine", "an answer comes at 50,000 tok/s, over 20,000: no engine writes so fast") in reasons(hasty)


def test_slots_that_wait_for_the_client_void_a_run() -> None:
    late = [moved(timing, 0.03 * (timing.number // 2), due=True) for timing in loop(waves=20)]
    late = [replace(timing, due_s=timing.sent_s - 0.03) for timing in late]
    assert reasons(late) == [("client", "the client kept 88.5% of concurrency 2 active, under 95%")]


def test_a_turn_of_a_millisecond_and_one_stall_of_the_host_void_nothing() -> None:
    """A short step on a laptop: the stall is one gap, however long, and says nothing about the rest."""
    late = [replace(timing, due_s=timing.sent_s - 0.002) for timing in loop(waves=4, seconds=0.03)]
    late[5] = replace(late[5], due_s=late[5].sent_s - 0.02)
    assert idle_share(late, (0.03, 0.12), 2) == pytest.approx(0.0, abs=1e-9)
    assert reasons(late) == []


def test_what_waits_for_a_slot_at_a_request_rate_is_no_fault_of_the_client() -> None:
    late = [replace(timing, due_s=timing.sent_s - 0.05) for timing in loop()]
    assert reasons(late, point(request_rate=5.0)) == []


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (replace(IDLE, cpu_share=0.51), "the client took 51% of a core, over 50%: give it more processes or cores"),
        (replace(IDLE, lag_p99_s=0.026), "the client's loop was 26 ms late (p99), over 25 ms"),
        (replace(IDLE, drain_p99_s=0.006), "the client took 6 ms to stamp what came at once (p99), over 5 ms"),
    ],
)
def test_a_client_too_slow_for_its_step_voids_a_run(client: ClientUse, reason: str) -> None:
    assert reasons(loop(), client=client) == [("client", reason)]


def test_a_slow_step_leaves_the_client_more_time() -> None:
    slow = loop(seconds=2.0)  # steps of 95 ms
    assert reasons(slow, client=replace(IDLE, lag_p99_s=0.09, drain_p99_s=0.023)) == []
    assert len(reasons(slow, client=replace(IDLE, lag_p99_s=0.096, drain_p99_s=0.024))) == 2


def test_a_stall_of_the_host_is_not_the_client_being_slow() -> None:
    """A run of under two seconds has fewer than 20 timers: its 99th percentile is its worst moment."""
    busy = replace(IDLE, lag_p99_s=0.05, lag_max_s=0.05)
    assert reasons(loop(waves=4), client=busy) == []
    assert reasons(loop(waves=10), client=replace(IDLE, lag_p99_s=0.02, lag_max_s=0.3)) == []


@pytest.mark.parametrize(
    ("counted", "whose", "reason"),
    [
        (
            390,
            "engine",
            "the server counted 390 tokens and its answers have 400, -2.5% and over 0.5% apart: its usage is wrong",
        ),
        (
            440,
            "client",
            "the server counted 440 tokens and its answers have 400, +10.0% and over 0.5% apart: somebody else uses it",
        ),
    ],
)
def test_a_server_that_counts_otherwise_voids_a_run(counted: int, whose: str, reason: str) -> None:
    assert reasons(loop(), counted=Counters(generation_tokens=counted)) == [(whose, reason)]


def test_counters_may_be_half_a_percent_apart_or_absent() -> None:
    assert reasons(loop(), counted=Counters(generation_tokens=402)) == []
    assert reasons(loop(), counted=Counters()) == []


def cached(tokens: int) -> list[RequestTiming]:
    """Return the loop where each answer says how many prompt tokens came from the cache, of 100."""
    return [replace(t, asked_input_tokens=100, prompt_tokens=100, cached_tokens=tokens) for t in loop()]


def test_prompts_from_the_cache_that_should_be_new_void_a_run() -> None:
    assert reasons(cached(2)) == []
    assert reasons(cached(16)) == [
        ("engine", "16.0% of the prompts' tokens came from the prefix cache, over 2.0%: the load means 0.0%")
    ]


def test_a_shared_prefix_may_be_served_and_no_more() -> None:
    shape = {"kind": "shared_prefix", "prefix_tokens": 80, "input_tokens": 20, "output_tokens": 20}
    assert reasons(cached(80), point(shape=shape)) == []
    assert [whose for whose, _ in reasons(cached(90), point(shape=shape))] == ["engine"]


def test_a_cache_that_serves_less_is_what_a_config_may_choose() -> None:
    shape = {"kind": "shared_prefix", "prefix_tokens": 80, "input_tokens": 20, "output_tokens": 20}
    assert reasons(cached(0), point(shape=shape)) == []


def test_a_users_own_prompts_share_what_they_share() -> None:
    shape = {"kind": "prompts", "file": {"space": "a.jsonl"}, "nonce": False}
    assert reasons(cached(60), point(shape=shape)) == []


def test_the_beginning_of_text_in_a_short_prompt_is_no_hit() -> None:
    """Two tokens of ten are 20 %, and every server may know those that it puts before each prompt."""
    assert reasons([replace(timing, prompt_tokens=12, cached_tokens=2) for timing in loop()]) == []


def test_counters_say_more_of_the_cache_than_usage_does() -> None:
    counted = Counters(prefix_query_tokens=2000, prefix_hit_tokens=500)
    assert hit_share(cached(0), counted) == 0.25
    assert hit_share(cached(10), Counters()) == 0.1
    assert hit_share([replace(timing, cached_tokens=None) for timing in loop()], None) is None


def test_a_rate_that_goes_on_falling_voids_a_run() -> None:
    timings, now_s = [], [0.0, 0.0]
    for number in range(40):
        slot = number % 2
        lasting_s = 0.2 * (1 + 0.02 * (number // 2))
        timings.append(request(number, slot, now_s[slot], lasting_s))
        now_s[slot] += lasting_s
    [(whose, reason)] = reasons(timings)
    assert whose == "client"
    assert reason.startswith("tok/s changed by -")
    assert reason.endswith("%: the engine or its host was unsteady")


def test_a_steep_slope_needs_no_straight_line() -> None:
    """A rate that doubles halfway, as when the host's other job ends, is 4.4 standard errors of a line."""
    timings = [request(n, 0, 2.0 * n, 2.0) for n in range(11)]
    timings += [request(11 + n, 0, 22.0 + n, 1.0) for n in range(20)]
    [(whose, reason)] = reasons(timings, point(1))
    assert whose == "client"
    assert "over 10% and 3 standard errors" in reason


def test_a_loop_as_noisy_as_a_laptop_is_seldom_void() -> None:
    voided = 0
    for seed in range(50):
        draw = random.Random(seed)  # noqa: S311 a simulation, not a secret
        timings = closed_loop(4, 10, draw, lambda d: 0.3 * d.gauss(1.0, 0.05))
        timings = [replace(timing, asked_output_tokens=20, completion_tokens=20) for timing in timings]
        voided += bool(reasons(timings, point(4)))
    assert voided <= 2
