"""The self-test: what it concludes from figures, and a real try of a few streams."""

from dataclasses import replace
from pathlib import Path

import pytest

from search_spaces import Workload
from trials.load.selftest import Figures, SelfTest, advice, faults, selftest

GOOD = Figures(
    concurrency=512,
    tokens_per_s_per_user=50.0,
    processes=2,
    peak=512,
    failed=None,
    rate=1.0,
    server_rate=1.0,
    late=0.1,
    cpu=0.2,
    ttft_error_ms=2.0,
    lag_ms=1.0,
)


def test_good_figures_have_no_fault() -> None:
    assert faults(GOOD) == ()
    assert SelfTest(figures=GOOD, faults=(), advice=()).fit


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (replace(GOOD, peak=100), "the server saw 100 requests at once, not 512"),
        (replace(GOOD, rate=0.97), "throughput is 97.0% of what was asked"),
        (replace(GOOD, rate=1.03), "throughput is 103.0% of what was asked"),
        (replace(GOOD, late=0.3), "a step has been read 0.30 of its time after it was sent"),
        (replace(GOOD, cpu=0.5), "a process of the client takes 50% of a core"),
        (replace(GOOD, ttft_error_ms=7.0), "time to first token is wrong by 7.0 ms"),
    ],
)
def test_each_figure_beyond_its_limit_is_one_fault(figures: Figures, said: str) -> None:
    (fault,) = faults(figures)
    assert said in fault
    assert not SelfTest(figures=figures, faults=(fault,), advice=()).fit


def test_a_server_that_fell_behind_is_blamed_and_not_the_client() -> None:
    found = faults(replace(GOOD, server_rate=0.9, rate=0.9))
    assert found == ("the calibrated server itself kept only 90.0% of its rate",)


def test_a_failed_request_is_the_only_thing_said() -> None:
    figures = replace(GOOD, failed="dropped", late=None, ttft_error_ms=None, rate=0.0)
    assert faults(figures) == ("a request failed: dropped",)


def test_programs_that_use_the_cores_are_named_the_busiest_first() -> None:
    others = {"idle 1": 0.01, "python 2": 0.4, "cc1 3": 0.9}
    (told,) = advice(GOOD, cores=8, uvloop=True, others=others)
    assert told == "end other programs that use the 8 cores: cc1 3 (0.9 of a core), python 2 (0.4 of a core)"


def test_uvloop_is_asked_for_where_it_is_missing() -> None:
    (told,) = advice(GOOD, cores=8, uvloop=False, others={})
    assert "pip install uvloop" in told


def test_more_cores_are_asked_for_when_every_one_has_its_process() -> None:
    (told,) = advice(GOOD, cores=2, uvloop=True, others={})
    assert "more than 2 cores" in told


def test_a_real_try_sees_every_stream_at_once() -> None:
    workload = Workload(input_tokens=8, output_tokens=4, concurrency=(1, 3))
    figures = selftest(workload, tokens_per_s_per_user=40.0).figures
    assert figures.failed is None
    assert (figures.concurrency, figures.peak, figures.processes) == (3, 3, 1)
    assert figures.rate > 0
    assert figures.late is not None


def test_requests_arrive_at_the_workloads_rate_and_need_not_all_be_there_at_once() -> None:
    workload = Workload(input_tokens=8, output_tokens=4, concurrency=(6,), request_rate=20.0)
    figures = selftest(workload, tokens_per_s_per_user=40.0).figures
    assert figures.failed is None
    assert (figures.concurrency, figures.request_rate) == (6, 20.0)
    assert 1 <= figures.peak <= 6
    assert not any("requests at once" in fault for fault in faults(replace(GOOD, peak=100, request_rate=5.0)))


def test_cut_answers_arrive_so_much_faster_that_as_many_are_under_way() -> None:
    """An answer of 400 tokens takes ten seconds at 40 a second; cut to a second, ten times as many arrive."""
    workload = Workload(input_tokens=8, output_tokens=400, concurrency=(6,), request_rate=0.5)
    figures = selftest(workload, tokens_per_s_per_user=40.0).figures
    assert figures.failed is None
    assert figures.request_rate == 5.0


def test_prompts_of_a_file_and_their_ids_are_tried_as_they_are(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "one two three", "output_tokens": 3}\n', encoding="utf-8")
    workload = Workload.model_validate(
        {"shape": {"kind": "prompts", "file": {"space": "prompts.jsonl"}}, "concurrency": [2]}
    )
    figures = selftest(workload, file=prompts, concurrency=2, tokens_per_s_per_user=200.0).figures
    assert figures.failed is None
    assert figures.peak == 2
