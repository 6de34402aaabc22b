"""Prompts: their length is right, they repeat only when told, and no cache can serve one from another."""

import itertools

import pytest

from trials.load.workload import WORDS, prompts


def first(count: int, input_tokens: int, seed: str) -> list[str]:
    """Return the first prompts of a seed."""
    return list(itertools.islice(prompts(input_tokens, seed), count))


@pytest.mark.parametrize("input_tokens", [1, 2, 64, 4096])
def test_a_prompt_has_as_many_words_as_it_should_have_tokens(input_tokens: int) -> None:
    assert [len(prompt.split(" ")) for prompt in first(3, input_tokens, "seed")] == [input_tokens] * 3


def test_equal_seeds_yield_equal_prompts() -> None:
    assert first(20, 64, "7/4/0") == first(20, 64, "7/4/0")


def test_the_slots_of_a_loop_never_send_the_same_prompt() -> None:
    sent = [prompt for slot in range(64) for prompt in first(50, 64, f"7/64/{slot}")]
    assert len(set(sent)) == len(sent)


def test_no_two_prompts_share_a_prefix_worth_caching() -> None:
    sent = sorted(prompt.split() for slot in range(64) for prompt in first(50, 64, f"7/64/{slot}"))
    assert not [one for one, other in itertools.pairwise(sent) if one[:8] == other[:8]]


def test_a_prompt_is_plain_words_each_in_the_vocabulary_once() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
