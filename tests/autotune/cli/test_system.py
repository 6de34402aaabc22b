"""What a user is told about an error of the operating system."""

import errno
import os

import pytest

from autotune.cli.system import MENDS, advice


@pytest.mark.parametrize("number", MENDS)
def test_an_error_that_can_be_mended_says_what_where_and_what_to_do(number: int) -> None:
    error = OSError(number, os.strerror(number), "studies/one")
    assert advice(error) == f"studies/one: {os.strerror(number)}: {MENDS[number]}"


def test_an_error_without_a_file_says_the_rest() -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    assert advice(error) == "No space left on device: free some space, then `autotune resume` the study"


@pytest.mark.parametrize("error", [FileExistsError("a launch already"), OSError(errno.EBADF, "Bad file descriptor")])
def test_an_error_of_ours_is_left_to_be_seen_as_a_bug(error: OSError) -> None:
    assert advice(error) is None
