"""What a client's stamps are compared with."""

import pytest

from trials.load.timing import RequestTiming
from trials.load.truth import Sent, Stamped, errors, lost, paired, seen, stamped

STEP_S = 0.02


def sent(number: int, *sent_s: float, received_s: float = 0.0) -> Sent:
    return Sent(number=number, received_s=received_s, sent_s=sent_s)


def own(number: int, *stamps_s: float, sent_s: float = 0.0) -> Stamped:
    return Stamped(number=number, sent_s=sent_s, stamps_s=stamps_s)


def test_a_client_that_stamps_at_the_instant_of_sending_is_never_wrong() -> None:
    times_s = (0.02, 0.04, 0.06)
    found = errors([(own(0, *times_s), sent(0, *times_s))], step_s=STEP_S)
    assert found.ttft_p99_ms == found.itl_p99_ms == found.drain_p99_s == found.late_p99_s == 0.0


def test_a_first_token_is_wrong_by_what_the_way_there_and_the_way_back_took() -> None:
    found = errors([(own(0, 0.024, sent_s=0.001), sent(0, 0.020, received_s=0.003))], step_s=STEP_S)
    assert found.ttft_p50_ms == pytest.approx(6.0)


def test_a_gap_that_is_read_too_short_is_as_wrong_as_one_too_long() -> None:
    found = errors([(own(0, 0.025, 0.040, 0.065), sent(0, 0.020, 0.040, 0.060))], step_s=STEP_S)
    assert found.itl_p50_ms == pytest.approx(5.0)


def test_a_step_is_drained_when_its_last_chunk_is_stamped() -> None:
    pairs = [
        (own(0, 0.021, 0.041), sent(0, 0.020, 0.040)),
        (own(1, 0.025, 0.045), sent(1, 0.022, 0.042)),
    ]
    found = errors(pairs, step_s=STEP_S)
    assert found.drain_p50_s == pytest.approx(0.005)
    assert found.late_p50_s == pytest.approx(0.003)


def test_streams_that_have_ended_leave_the_others_steps_apart() -> None:
    pairs = [(own(0, 0.021), sent(0, 0.020)), (own(1, 0.029, 0.041), sent(1, 0.021, 0.040))]
    found = errors(pairs, step_s=STEP_S)
    assert found.drain_p99_s == pytest.approx(0.009, rel=0.02)
    assert found.drain_p50_s == pytest.approx(0.005)


def test_answers_of_one_chunk_have_no_gap_to_be_wrong_about() -> None:
    assert errors([(own(0, 0.03), sent(0, 0.02))], step_s=STEP_S).itl_p50_ms == 0.0


def test_chunks_that_were_not_stamped_are_lost() -> None:
    assert lost([(own(0, 0.02), sent(0, 0.02, 0.04)), (own(1, 0.02, 0.04, 0.06), sent(1, 0.02, 0.04))]) == 2


def test_answers_are_paired_by_their_number() -> None:
    pairs = paired([own(7, 0.02), own(8, 0.04)], [sent(8, 0.04), sent(9, 0.06)])
    assert [(mine.number, true.number) for mine, true in pairs] == [(8, 8)]


def test_a_timing_tells_every_stamp_by_its_gaps() -> None:
    timing = RequestTiming(
        number=3,
        slot=0,
        due_s=1.0,
        sent_s=1.0,
        first_token_s=2.0,
        last_token_s=2.75,
        ended_s=3.0,
        asked_input_tokens=None,
        asked_output_tokens=3,
        prompt_tokens=1,
        completion_tokens=3,
        chunks=3,
        gaps_s=(0.25, 0.5),
    )
    assert stamped(timing, 30) == Stamped(number=30, sent_s=1.0, stamps_s=(2.0, 2.25, 2.75))


def test_what_a_server_tells_is_read_in_seconds() -> None:
    told = '{"peak": 2, "requests": [{"number": 5, "received_ns": 1000000000, "sent_ns": [2000000000, 2500000000]}]}'
    peak, answers = seen(told)
    assert peak == 2
    assert [(answer.number, answer.received_s, answer.sent_s) for answer in answers] == [(5, 1.0, (2.0, 2.5))]
