"""When to stop asking."""

from evals.gate import Gate, Scored, verdict
from evals.sequential import broken, decided

GATE = Gate(task="gsm8k", threshold=0.90, filters=("strict-match", "flexible-extract"), questions=1319)


def answers(*, strict: str, flexible: str) -> list[Scored]:
    """Return one answer a letter: r for right, anything else for wrong."""
    return [
        Scored(index=index, correct={"strict-match": one == "r", "flexible-extract": other == "r"})
        for index, (one, other) in enumerate(zip(strict, flexible, strict=True))
    ]


def test_a_fail_is_decided_at_the_132nd_wrong_answer() -> None:
    assert not decided(answers(strict="w" * 131, flexible="w" * 131), GATE)
    assert decided(answers(strict="w" * 132, flexible="w" * 132), GATE)


def test_one_filter_decides_alone() -> None:
    assert decided(answers(strict="w" * 132, flexible="r" * 132), GATE)


def test_wrong_answers_of_two_filters_are_not_added_up() -> None:
    assert not decided(answers(strict="w" * 131 + "r" * 131, flexible="r" * 131 + "w" * 131), GATE)


def test_a_pass_is_never_decided_early() -> None:
    assert not decided(answers(strict="r" * 1318, flexible="r" * 1318), GATE)


def test_a_decided_fail_stays_a_fail_whatever_follows() -> None:
    early = answers(strict="w" * 132, flexible="r" * 132)
    late = answers(strict="w" * 132 + "r" * 1187, flexible="r" * 1319)
    assert decided(early, GATE)
    assert verdict(early, GATE).result == verdict(late, GATE).result == "fail"


def test_errors_and_cut_answers_decide_nothing() -> None:
    cut = [
        Scored(index=index, correct={"strict-match": False, "flexible-extract": False}, truncated=True)
        for index in range(200)
    ]
    assert not decided([*cut, *(Scored(index=200 + place, error="timed out") for place in range(200))], GATE)


def test_three_errors_before_any_answer_end_the_asking() -> None:
    silent = [Scored(index=index, error="connection refused") for index in range(3)]
    assert broken(silent)
    assert not broken(silent[:2])


def test_errors_after_an_answer_do_not_end_the_asking() -> None:
    later = [Scored(index=1 + place, error="timed out") for place in range(5)]
    assert not broken([*answers(strict="r", flexible="r"), *later])


def test_a_refusal_ends_the_asking_at_once() -> None:
    assert broken([*answers(strict="r", flexible="r"), Scored(index=1, error="HTTP 400", refused=True)])
