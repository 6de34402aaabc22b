"""Assignments, `export`, `declare`, `local`, `readonly`, `unset`, `set` and `shift`, judged by bash."""

from pathlib import Path

import pytest

from tests.autotune.importing.bash import GIVEN, doubted, started, told


@pytest.mark.parametrize(
    "lines",
    [
        "export \"A=b c\" 'B=d'\nvllm serve m",
        'declare -x "A=b" B=$TP\nvllm serve m',
        'N=Q; export $N=4 "${N}2=5"\nvllm serve m',
        'export A=1 B=2; unset "A"; unset ${X:-B}\nvllm serve m',
        "A=0; export A=1 B=$A\nvllm serve m",
        "A=1 B=$A\nexport C=$B\nvllm serve m --a $A",
        "A=1 > log\nvllm serve m --a $A",
        "set -a; X=1; set +a; Y=2\nvllm serve m",
        "set -o allexport; X=1\nvllm serve m",
        "set -euo pipefail; X=1\nvllm serve m",
        'set -- --a "b c"\nvllm serve m "$@" --n $# --all "$*"',
        'set -e -- --a 1; shift\nvllm serve m "$@"',
        'f() { export Q=${1:-4}; shift; vllm serve m "$@" ${2:-x}; }\nf 1 --a 2',
        "f() { local A=3 B; B=4; export C=$A$B; }\nA=1; f\nvllm serve m --a $A",
        'f() { declare -g A=1; declare B=2; }\nf\nvllm serve m --a "$A" --b "$B"',
        "export A=1; declare +x A\nvllm serve m",
        "command export A=1; builtin export B=2; ! export C=3\nvllm serve m",
        'A=(1 2); A=5; A+=6\nvllm serve m "${A[@]}"',
        "readonly A=1; A=2\nvllm serve m --a $A",
        'export L=(1 2)\nvllm serve m "${L[@]}"',
        'local X=1\nvllm serve m --x "$X"',
    ],
)
def test_it_is_read_as_bash_reads_it(lines: str, tmp_path: Path) -> None:
    assert told(lines) == started(lines, GIVEN, tmp_path)


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("A=1\nexport $(cat .env)\nvllm serve m", "undecided line 2: `export $(cat .env)`"),
        ("export A=1\nunset $(names)\nvllm serve m", "undecided line 2: `unset $(names)`"),
        ("declare -i N=3+4\nvllm serve m --n $N", "undecided line 1: `declare -i N=3+4` gives a type"),
        ("declare -l N\nN=ABC\nvllm serve m --n $N", "unknown line 3: `--n $N`: `declare` gave it a type"),
        ("declare -A M=([x]=1)\nvllm serve m ${M[@]}", "not known then: M"),
        ("f() { :; }; export -f f\nvllm serve m", "undecided line 1: `export -f f` is about functions"),
        ("readonly A=1\nA=2\nvllm serve m --a $A", "undecided line 2: `A=2` is left out, as A is readonly"),
        ("A=(1 2)\nA[0]=3\nvllm serve m ${A[@]}", "undecided line 2: `A[0]=3` sets one element"),
        ("A=([1]=x [0]=y)\nvllm serve m ${A[@]}", "has keys, and they are not read"),
        ("set -k\nvllm serve m A=1", "undecided line 1: `set -k` sets an option that is not read"),
        ("export A={1,2}\nvllm serve m", "undecided line 1: `export A={1,2}`: braces are not expanded"),
        ("A=1\nexport A='a'\\d\nvllm serve m", "undecided line 2: `\\d` is part of the word before it"),
        ("shift\nvllm serve m", "undecided line 1: `shift` is left out"),
        ('vllm serve m "$@"', "assumed line 1: `$@`: the script is read as if it were given no arguments"),
        ("A=~/x\nvllm serve m --a $A", "`~` is a home folder"),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)
