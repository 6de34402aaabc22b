"""What is not read makes unknown what it sets."""

import pytest

from tests.autotune.importing.bash import doubted


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("FOO=3\n((FOO+=2))\nvllm serve m --a $FOO", "undecided line 2: `((FOO+=2))` is not read; not known then: FOO"),
        ("FOO=3\n((FOO=7))\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`"),
        ("FOO=3\n((FOO++))\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`"),
        ("FOO=3\n((--FOO))\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`"),
        (
            "FOO=3\nB=$((FOO=9))\nvllm serve m --a $FOO",
            "undecided line 2: `$((FOO=9))` is not read; not known then: FOO",
        ),
        ("FOO=3\n: $((FOO<<=1))\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`"),
        ("FOO=3\nlet FOO+=2\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`: `let FOO+=2` is not run"),
        ('FOO=3\nlet "FOO = 2" BAR=1\nvllm serve m --a $FOO', "not run line 2: `let"),
        ("FOO=3\nif [ -f x ]; then ((FOO++)); fi\nvllm serve m --a $FOO", "unknown line 3: `--a $FOO`"),
        ('if [ -f x ]; then export "A=1"; fi\nvllm serve m', "unknown line 2: `A=$A`"),
        ("if [ -f x ]; then declare -x A=1; fi\nvllm serve m", "unknown line 2: `A=$A`"),
        ('export A=1\nif [ -f x ]; then unset "A"; fi\nvllm serve m', "unknown line 3: `A=$A`"),
        ("export A=1\nif [ -f x ]; then A=2 B=3\ntrue; fi\nvllm serve m", "unknown line 4: `A=$A`"),
        ('if [ -f x ]; then set -- --a 1; fi\nvllm serve m "$@"', "unknown line 2: `$@`"),
        ("if [ -f x ]; then IFS=,; fi\nA=1,2\nvllm serve m $A", "unknown line 3: `1,2`: IFS is not known"),
        ('read -r "A"\nvllm serve m --a $A', "unknown line 2: `--a $A`"),
        ("read\nvllm serve m --a $REPLY", "unknown line 2: `--a $REPLY`"),
        ("mapfile -t L < file\nvllm serve m ${L[1]}", "unknown line 2: `$L`"),
        ('printf -v "A" x\nvllm serve m --a $A', "unknown line 2: `--a $A`"),
        ("trap 'export A=3' DEBUG\nvllm serve m", "not run line 1: `trap"),
        ("shopt -s lastpipe\nvllm serve m", "not run line 1: `shopt -s lastpipe`"),
        ("[[ abc =~ b(.) ]]\nvllm serve m --a ${BASH_REMATCH[1]}", "unknown line 2: `--a $BASH_REMATCH`"),
        (
            "f() { if [ -f x ]; then return; fi; export A=1; }\nf\nvllm serve m",
            "undecided line 1: `[ -f x ]` is not decided",
        ),
        ("export A=1\nif [ -f x ]; then unset ${V:-A}; fi\nvllm serve m", "not run line 2: `unset ${V:-A}`"),
        ("for v in A; do export $v=1; done\nvllm serve m", "not run line 1: `export $v=1`"),
        ("f() { source x.sh; }\nif [ -f x ]; then f; fi\nvllm serve m", "not run line 2: `f` is not run"),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)


@pytest.mark.parametrize(
    "lines", ["trap 'echo bye' EXIT INT", "set -x; set +e", "set -o pipefail", "echo $((1 + 1))", "sleep 1"]
)
def test_what_changes_nothing_is_not_listed(lines: str) -> None:
    assert doubted(f"{lines}\nvllm serve m") == ""
