"""Words as arguments, judged by bash: defaults, splitting and quotes."""

from pathlib import Path

import pytest

from tests.autotune.importing.bash import GIVEN, doubted, started, told


@pytest.mark.parametrize(
    "lines",
    [
        'A=2; vllm serve m ${A:+--a $A} ${TP:+--tp "$TP"} ${B:+--b "$B"}',
        'A="x y"; vllm serve m ${A:+--a "$A"} "${A:+--a "$A"}"',
        'A="x y"; vllm serve m ${A:-"p q"} ${B:-"p q"} "${B:-\'p q\'}" ${B:-p q} ${B:-"p"q r}',
        ': ${A:="x  y"} ${B:=$TP} "${C:=a b}"; vllm serve m "$A" $B $C',
        'vllm serve m ${A:-} "${A:-}" x${A:-y}z ${A:+} "${A:+}"',
        'vllm serve m ${L:-${TP}} "${L:-${Z:-$CONC}}" $(( ${Q:-4} * 2 )) $(( ${#TP} + 1 )) $[1+2] $((0x1f))',
        'A=5; X=${A:-${B:=1}}; vllm serve m --b "$B"',
        "X=a,b; IFS=,; vllm serve m $X",
        "IFS=$'\\n\\t'; X='--a 1'; vllm serve m $X",
        'L=(1 2); IFS=,; vllm serve m "${L[*]}"',
        "IFS=:; X=:a::b:; vllm serve m $X",
        'IFS=; X="a b"; vllm serve m $X',
        'vllm serve m --x=\'{"a":1,"b":2}\' --y=\'{"a":\'$TP\',"b":2}\'',
        "A='x\\ny'; vllm serve m $'a\\tb' ${A%y}",
        "$NUMA vllm serve m",
    ],
)
def test_it_is_read_as_bash_reads_it(lines: str, tmp_path: Path) -> None:
    assert told(lines) == started(lines, GIVEN, tmp_path)


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("vllm serve m $'\\x41'", "has an escape that is not read"),
        (": ${A:?missing}\nvllm serve m", "assumed line 1: `${A:?missing}` would end the script"),
        ("vllm serve m --a {a,b}", "braces are not expanded"),
        ("vllm serve m --a a*", "assumed line 1: `a*` stands for itself"),
        ("A='[x]'; vllm serve m $A", "assumed line 1: `$A` stands for itself"),
        ("vllm serve m --a ${HOSTNAME:-x}", "it is HOSTNAME of where this runs"),
        ('vllm serve m "${L[@]}"', "assumed line 1: L is not set"),
        ("A='x*y'; vllm serve m ${A%\\**}", "is a pattern that is not read"),
        ("vllm serve m 'c'\"d\"\\ e", "is part of the word before it"),
        ("A=($(x)); vllm serve m ${#A[@]} ${A[1]}", "`$(x)`: it comes from a program"),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)
