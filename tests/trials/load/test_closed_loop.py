"""A closed loop against a real server: how many are in flight, what a window holds, and how it ends."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from tests.fakes.running import running, seen
from trials.load.closed_loop import WHOLE_REQUESTS, Loaded, Point, run
from trials.load.metrics import RequestTiming

POINT = Point(
    concurrency=3,
    input_tokens=4,
    output_tokens=3,
    warmup_s=0.1,
    window_s=0.2,
    windows=2,
    request_s=30.0,
    stall_s=30.0,
    load_s=60.0,
    seed="seed",
)
FOREVER = replace(POINT, warmup_s=0.0, window_s=1e6)


def timing(sent_s: float, ended_s: float) -> RequestTiming:
    """Return a request without trouble."""
    return RequestTiming(
        slot=0, sent_s=sent_s, first_token_s=None, ended_s=ended_s, prompt_tokens=1, completion_tokens=1
    )


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_loop_keeps_its_concurrency_in_flight_on_as_many_connections(concurrency: int) -> None:
    with running("--token-s", "0.01") as url:
        run(url, "m", replace(POINT, concurrency=concurrency))
        assert (seen(url).peak, seen(url).connections) == (concurrency, concurrency)


def test_every_request_ends_well_and_no_prompt_comes_twice() -> None:
    with running("--token-s", "0.01") as url:
        loaded = run(url, "m", POINT)
        prompts = seen(url).prompts
    assert {timing.error for timing in loaded.timings} == {None}
    assert {(timing.prompt_tokens, timing.completion_tokens) for timing in loaded.timings} == {(4, 3)}
    assert len(set(prompts)) == len(prompts) == len(loaded.timings)


def test_a_slot_sends_its_next_request_when_the_last_one_has_ended() -> None:
    with running("--token-s", "0.01") as url:
        loaded = run(url, "m", POINT)
    for slot in range(POINT.concurrency):
        own = [timing for timing in loaded.timings if timing.slot == slot]
        assert all(one.ended_s <= other.sent_s for one, other in itertools.pairwise(own))


def test_a_window_lasts_until_every_slot_has_its_whole_requests() -> None:
    with running("--token-s", "0.03") as url:
        loaded = run(url, "m", replace(POINT, warmup_s=0.0, window_s=0.001))
    for window in loaded.windows():
        whole = Counter(timing.slot for timing in window)
        assert all(whole[slot] >= WHOLE_REQUESTS for slot in range(POINT.concurrency))


def test_windows_follow_the_warm_up_and_do_not_overlap() -> None:
    with running("--token-s", "0.01") as url:
        loaded = run(url, "m", POINT)
    first, second = loaded.edges_s
    assert first[0] - min(timing.sent_s for timing in loaded.timings) >= POINT.warmup_s
    assert first[1] - first[0] >= POINT.window_s
    assert first[1] <= second[0]
    assert second[1] - second[0] >= POINT.window_s


def test_a_row_says_which_window_a_request_is_in() -> None:
    with running("--token-s", "0.01") as url:
        loaded = run(url, "m", POINT)
    rows = list(loaded.rows())
    assert [timing for _, timing in rows] == list(loaded.timings)
    for number, window in enumerate(loaded.windows(), 1):
        assert [timing for at, timing in rows if at == number] == window
    assert {at for at, _ in rows} == {0, 1, 2}


def test_warm_up_and_requests_over_an_edge_are_in_no_window() -> None:
    timings = (timing(0.0, 1.0), timing(1.0, 2.5), timing(2.5, 3.5), timing(3.5, 4.5), timing(4.5, 6.0))
    loaded = Loaded(timings, edges_s=((2.0, 4.0), (4.0, 5.0)))
    assert [at for at, _ in loaded.rows()] == [0, 0, 1, 0, 0]
    assert loaded.windows() == [[timings[2]], []]


def test_equal_seeds_send_equal_prompts_and_each_concurrency_its_own() -> None:
    with running() as url:
        points = [POINT, POINT, replace(POINT, concurrency=1)]
        ends = list(itertools.accumulate((len(run(url, "m", point).timings) for point in points), initial=0))
        first, again, other = (set(seen(url).prompts[start:end]) for start, end in itertools.pairwise(ends))
    fewest = POINT.concurrency * (1 + POINT.windows * WHOLE_REQUESTS)
    assert len(first & again) >= fewest
    assert not first & other


def test_an_error_ends_the_loop_long_before_its_window() -> None:
    with running("--stream", "error") as url:
        loaded = run(url, "m", FOREVER)
    errors = [timing.error for timing in loaded.timings]
    assert len(errors) == FOREVER.concurrency
    assert all(error and "out of slots" in error for error in errors)
    assert loaded.windows() == [[], []]


def test_an_engine_that_hangs_ends_the_loop_when_its_requests_are_out_of_time() -> None:
    with running("--stream", "stall") as url:
        loaded = run(url, "m", replace(FOREVER, request_s=0.3))
    assert [timing.timed_out for timing in loaded.timings] == [True] * FOREVER.concurrency


def test_a_stall_of_every_stream_ends_the_loop_before_its_requests_are_out_of_time() -> None:
    with running("--stream", "stall") as url:
        loaded = run(url, "m", replace(FOREVER, stall_s=0.3))
    assert [timing.error for timing in loaded.timings] == ["no token for 0.3 s"] * FOREVER.concurrency
    assert all(timing.timed_out for timing in loaded.timings)


def test_an_engine_that_never_brings_a_token_stalls() -> None:
    with running("--stream", "silence") as url:
        loaded = run(url, "m", replace(FOREVER, stall_s=0.3))
    assert {timing.error for timing in loaded.timings} == {"no token for 0.3 s"}


def test_requests_longer_than_the_stall_are_none_while_tokens_come() -> None:
    with running("--token-s", "0.1") as url:
        loaded = run(url, "m", replace(POINT, output_tokens=6, warmup_s=0.0, windows=1, stall_s=0.5))
    assert {timing.error for timing in loaded.timings} == {None}


def test_a_point_that_takes_too_long_ends_at_its_deadline_and_keeps_what_it_measured() -> None:
    with running("--token-s", "0.02") as url:
        loaded = run(url, "m", replace(FOREVER, load_s=0.5))
    errors = [timing.error for timing in loaded.timings]
    assert errors[0] is None
    assert set(errors[-FOREVER.concurrency :]) == {"the load took longer than its 0.5 s"}


def test_an_engine_that_dies_ends_the_loop() -> None:
    with running("--token-s", "0.01", "--exit-on-completion", "10") as url:
        loaded = run(url, "m", FOREVER)
    assert loaded.timings[-1].error is not None
    assert loaded.timings[0].error is None
