"""Tests judged by bash."""

from pathlib import Path

import pytest

from tests.autotune.importing.bash import GIVEN, doubted, started, told


@pytest.mark.parametrize(
    "lines",
    [
        '[ -n $A ] && B=1\nvllm serve m --b "$B"',
        '[ -z $A ] && B=1\nvllm serve m --b "$B"',
        'A=; [ $A != 1 ] && B=1\nvllm serve m --b "$B"',
        'A=; [ $A = 1 ] && B=1\nvllm serve m --b "$B"',
        'A=08; [ $A -gt 3 ] && B=1\nvllm serve m --b "$B"',
        '[[ $A -eq 0 ]] && B=1\nvllm serve m --b "$B"',
        '[ x = x* ] && B=1\nvllm serve m --b "$B"',
        '[[ xy == x* ]] && B=1\nvllm serve m --b "$B"',
        '[ "$TP" == 4 ] && B=1\nvllm serve m --b "$B"',
        '(( ${Q:-4} > 3 )) && B=1\nvllm serve m --b "$B"',
    ],
)
def test_it_is_read_as_bash_reads_it(lines: str, tmp_path: Path) -> None:
    assert told(lines) == started(lines, GIVEN, tmp_path)


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("A='a b'; [ $A = x ] && B=1\nvllm serve m --b \"$B\"", "undecided line 1: `B=1` is not decided"),
        ('[ ! $A = x ] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('A=4; [[ A -eq 4 ]] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('[[ b == [^a] ]] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('[[ a == @(a|b) ]] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('[[ x == \\* ]] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('[ 1 = 1 -a 2 = 2 ] && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
        ('A=$(false) && B=1\nvllm serve m --b "$B"', "undecided line 1: `B=1` is not decided"),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)
