"""What a run sends: lengths as InferenceX draws them, contents that nothing has cached, arrivals as vLLM draws them."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from search_spaces import SpaceError, Workload
from trials.load.words import WORDS
from trials.load.workload import Session, arrivals, largest, prefix_share, sessions, words_sent

BLOCK = 16  # tokens: the smallest piece that an engine's prefix cache holds
IDS = (1000, 48000)
PREFIX = {"kind": "shared_prefix", "prefix_tokens": 100, "input_tokens": 20, "output_tokens": 8}
SESSIONS: list[dict[str, Any]] = [
    {"turns": [{"input_tokens": 50, "output_tokens": 5}, {"input_tokens": 10, "output_tokens": 7, "pause_s": 0.5}]},
    {"turns": [{"input_tokens": 30, "output_tokens": 9}]},
]
PROMPTS = [{"prompt": "why?", "output_tokens": 4}, {"prompt": "how? and then?", "output_tokens": 2}]


def workload(**keys: Any) -> Workload:  # noqa: ANN401 YAML
    """Return a workload of 64 tokens in and 32 out, or of the shape that is given."""
    lengths = {} if "shape" in keys else {"input_tokens": 64, "output_tokens": 32}
    return Workload.model_validate({**lengths, "concurrency": [4], **keys})


def run(
    load: Workload, contents: str = "run", *, waves: int = 10, seed: str = "7", file: Path | None = None
) -> list[Session]:
    """Return the sessions of a run of four slots."""
    return sessions(load, concurrency=4, waves=waves, seed=seed, contents=contents, file=file)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace of two sessions."""
    return listed(tmp_path / "trace.jsonl", SESSIONS)


def listed(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows to a file, one a line."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("ids", [None, IDS])
def test_no_two_of_5120_prompts_share_a_prefix_worth_caching(ids: tuple[int, int] | None) -> None:
    sent = sessions(workload(token_ids=ids), concurrency=512, waves=10, seed="7", contents="a")
    begun = Counter(str(one.prompt).split()[0] if ids is None else one.prompt[:BLOCK] for (one,) in sent)
    assert len(sent) == 5120
    assert max(begun.values()) == 1


@pytest.mark.parametrize("ids", [None, IDS])
def test_a_run_sends_nothing_that_another_run_has_sent(ids: tuple[int, int] | None) -> None:
    load = workload(token_ids=ids, range_ratio=0.5)
    first, second = run(load, "warm-up 1"), run(load, "warm-up 2")
    assert {one.prompt for (one,) in first}.isdisjoint(one.prompt for (one,) in second)
    assert [one.output_tokens for (one,) in first] == [one.output_tokens for (one,) in second]
    assert [one.input_tokens for (one,) in first] == [one.input_tokens for (one,) in second]


@pytest.mark.parametrize("ids", [None, IDS])
def test_equal_seeds_and_contents_give_equal_requests(ids: tuple[int, int] | None) -> None:
    load = workload(token_ids=ids, range_ratio=0.5)
    assert run(load) == run(load)
    assert run(load) != run(load, seed="8")


def test_ids_come_from_the_whole_range_and_no_other() -> None:
    sent = run(workload(token_ids=(1000, 1299), input_tokens=500), waves=10)
    assert {token for (one,) in sent for token in one.prompt} == set(range(1000, 1300))


def test_a_prompt_of_ids_has_as_many_as_asked_and_a_text_as_many_words() -> None:
    assert {len(one.prompt) for (one,) in run(workload(token_ids=IDS))} == {64}
    texts = [one for (one,) in run(workload())]
    assert {len(str(one.prompt).split(" ")) for one in texts} == {64}
    assert {one.input_tokens for one in texts} == {None}
    assert {word for one in texts for word in str(one.prompt).split(" ")[1:]} <= set(WORDS)


def test_lengths_are_uniform_whole_numbers_between_the_ratio_and_the_length() -> None:
    """As InferenceX draws them: both ends can come, the mean is 0.9 of the length at a ratio of 0.8."""
    load = workload(token_ids=IDS, input_tokens=50, output_tokens=20, range_ratio=0.8)
    drawn = [one for (one,) in sessions(load, concurrency=512, waves=10, seed="7", contents="")]
    inputs, outputs = Counter(one.input_tokens for one in drawn), Counter(one.output_tokens for one in drawn)
    assert sorted(map(int, filter(None, inputs))) == list(range(40, 51))
    assert sorted(outputs) == list(range(16, 21))
    for counts in (inputs, outputs):
        expected = len(drawn) / len(counts)
        chi_squared = sum((count - expected) ** 2 / expected for count in counts.values())
        assert chi_squared < 30  # 10 degrees of freedom: once in 1,000 draws


def test_a_ratio_never_draws_an_empty_request() -> None:
    load = workload(token_ids=IDS, input_tokens=2, output_tokens=2, range_ratio=0.1)
    drawn = [one for (one,) in run(load, waves=50)]
    assert {one.input_tokens for one in drawn} == {one.output_tokens for one in drawn} == {1, 2}


@pytest.mark.parametrize("ids", [None, IDS])
def test_a_shared_prefix_is_the_same_in_all_runs_of_a_point_and_what_follows_never_is(
    ids: tuple[int, int] | None,
) -> None:
    load = workload(shape=PREFIX, token_ids=ids)
    prompts = [
        tuple(one.prompt.split(" ")) if isinstance(one.prompt, str) else one.prompt
        for contents in ("warm-up 1", "measured 1")
        for (one,) in run(load, contents)
    ]
    assert {len(prompt) for prompt in prompts} == {120}
    assert len({prompt[:100] for prompt in prompts}) == 1
    assert len({prompt[100:] for prompt in prompts}) == len(prompts)
    (other,), *_ = sessions(load, concurrency=8, waves=1, seed="7", contents="")
    assert str(other.prompt)[:100] != str(run(load)[0][0].prompt)[:100]


def test_a_turn_sends_all_that_came_before_it(trace: Path) -> None:
    long = next(turns for turns in run(workload(shape=_trace(), token_ids=IDS), file=trace) if len(turns) == 2)
    first, second = long
    assert (first.input_tokens, first.output_tokens, first.pause_s) == (50, 5, 0.0)
    assert (second.input_tokens, second.output_tokens, second.pause_s) == (50 + 5 + 10, 7, 0.5)
    assert second.prompt[:50] == first.prompt


def test_a_turn_of_text_repeats_the_words_before_it(trace: Path) -> None:
    long = next(turns for turns in run(workload(shape=_trace()), file=trace) if len(turns) == 2)
    first, second = (str(turn.prompt) for turn in long)
    assert second.startswith(f"{first} ")
    assert len(second.split(" ")) == 65


def test_a_trace_is_sent_over_and_over_each_session_as_often(trace: Path) -> None:
    sent = Counter(len(turns) for turns in run(workload(shape=_trace(), token_ids=IDS), file=trace))
    assert sent == {1: 20, 2: 20}


def test_a_users_prompts_begin_with_a_nonce_unless_they_are_to_stay_as_they_are(tmp_path: Path) -> None:
    file = listed(tmp_path / "mine.jsonl", PROMPTS)
    shape = {"kind": "prompts", "file": {"space": "mine.jsonl"}}
    unique = [str(one.prompt) for (one,) in run(workload(shape=shape), file=file)]
    assert len(set(unique)) == len(unique) == 40
    assert {prompt.partition("\n")[2] for prompt in unique} == {"why?", "how? and then?"}
    plain = run(workload(shape={**shape, "nonce": False}), file=file)
    assert {(one.prompt, one.output_tokens, one.input_tokens) for (one,) in plain} == {
        ("why?", 4, None),
        ("how? and then?", 2, None),
    }


def test_a_fault_of_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = listed(tmp_path / "trace.jsonl", [*SESSIONS, {"turns": []}])
    with pytest.raises(SpaceError, match=r"trace\.jsonl: line 3: turns: "):
        run(workload(shape=_trace()), file=file)


def test_a_shape_with_a_file_needs_it() -> None:
    with pytest.raises(ValueError, match="needs it"):
        run(workload(shape=_trace()))


def share(load: Workload, file: Path | None = None) -> float | None:
    """Return what a cache should serve of a run of four slots."""
    return prefix_share(load, concurrency=4, waves=10, seed="7", file=file)


def test_the_share_that_a_cache_should_serve_is_what_the_shape_says(trace: Path) -> None:
    mine = {"kind": "prompts", "file": {"space": "mine.jsonl"}}
    assert share(workload()) == 0
    assert share(workload(shape=PREFIX)) == pytest.approx(100 / 120)
    known, total = 20 * 50, 20 * (50 + 65) + 20 * 30
    assert share(workload(shape=_trace(), token_ids=IDS), trace) == pytest.approx(known / total)
    assert share(workload(shape=mine)) == 0
    assert share(workload(shape={**mine, "nonce": False})) is None


def test_the_words_of_a_run_are_counted_where_they_are_ours(trace: Path) -> None:
    def words(load: Workload, file: Path | None = None) -> float | None:
        return words_sent(load, concurrency=4, waves=10, seed="7", file=file)

    assert words(workload()) == 64
    assert words(workload(shape=PREFIX)) == 120
    assert words(workload(shape=_trace()), trace) == pytest.approx((50 + 65 + 30) / 3)
    assert words(workload(token_ids=IDS)) is None
    assert words(workload(shape={"kind": "prompts", "file": {"space": "mine.jsonl"}})) is None


def test_the_largest_request_is_as_long_as_any_that_comes(tmp_path: Path, trace: Path) -> None:
    fixed = largest(workload(token_ids=IDS, range_ratio=0.5), seed="7")
    assert (fixed.input_tokens, fixed.output_tokens) == (64, 32)
    shared = largest(workload(shape=PREFIX, token_ids=IDS), seed="7")
    assert (shared.input_tokens, shared.output_tokens) == (120, 8)
    turn = largest(workload(shape=_trace(), token_ids=IDS), seed="7", file=trace)
    assert (turn.input_tokens, turn.output_tokens) == (65, 7)
    file = listed(tmp_path / "mine.jsonl", PROMPTS)
    own = largest(workload(shape={"kind": "prompts", "file": {"space": "mine.jsonl"}}), seed="7", file=file)
    assert str(own.prompt).endswith("\nhow? and then?")
    assert own.output_tokens == 4


def test_a_closed_loop_has_no_arrivals() -> None:
    assert arrivals(workload(), 10, "7") is None


@pytest.mark.parametrize("burstiness", [0.5, 1.0, 4.0])
def test_gaps_have_the_rates_mean_and_the_variation_of_the_burstiness(burstiness: float) -> None:
    moments = arrivals(workload(request_rate=8.0, burstiness=burstiness), 20_000, "7")
    assert moments is not None
    gaps = [after - before for before, after in itertools.pairwise((0.0, *moments))]
    assert fmean(gaps) == pytest.approx(1 / 8)
    assert pstdev(gaps) / fmean(gaps) == pytest.approx(1 / math.sqrt(burstiness), rel=0.05)
    assert arrivals(workload(request_rate=8.0, burstiness=burstiness), 20_000, "7") == moments


def test_every_seed_offers_the_same_load() -> None:
    for seed in ("7", "8", "9"):
        moments = arrivals(workload(request_rate=4.0), 100, seed)
        assert moments is not None
        assert moments[-1] == pytest.approx(25.0)


def test_a_word_is_plain_and_in_the_vocabulary_once() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)


def _trace() -> dict[str, object]:
    return {"kind": "trace", "file": {"space": "trace.jsonl"}}
