"""A phase's deadline: how much is left, and what is said when nothing is."""

from trials.deadline import Deadline


def test_a_deadline_has_no_more_left_than_it_was_given() -> None:
    assert 0 < Deadline("the load", 60.0).left_s <= 60.0


def test_a_deadline_that_has_passed_has_nothing_left_and_says_of_what() -> None:
    deadline = Deadline("the load", 0.0)
    assert (deadline.left_s, deadline.reason) == (0.0, "the load took longer than its 0 s")
