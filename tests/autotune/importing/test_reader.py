"""Statements in order, judged by bash: what runs apart changes nothing, and functions have their own."""

from pathlib import Path

import pytest

from tests.autotune.importing.bash import GIVEN, doubted, started, told


@pytest.mark.parametrize(
    "lines",
    [
        "export A=1 &\nwait\nvllm serve m",
        "f() { export A=1; }\nf &\nvllm serve m",
        "f() { export A=1; }\nf | cat\nvllm serve m",
        "(exit 0); vllm serve m",
        "f() { vllm serve m; }\nA=1 f",
        'f() { vllm serve m "$A"; }\nA=1 f 2>&1 | tee log',
        'vllm() { command vllm "$@" --z 1; }\nvllm serve m',
        "echo x | A=1 vllm serve m",
        'CMD="vllm serve m --a \'b c\'"\neval "$CMD"',
        'VAR=TP; eval "X=\\$$VAR"; vllm serve m --x $X',
        "A=1; exec env -u A B=2 vllm serve m",
        "export X=5; env --unset=X vllm serve m",
        "A=1 && export A && vllm serve m",
        'export A=1; [ -n "$A" ] && { vllm serve m --a $A & }\nwait',
        "nohup vllm serve m > log 2>&1 &",
    ],
)
def test_it_is_read_as_bash_reads_it(lines: str, tmp_path: Path) -> None:
    assert told(lines) == started(lines, GIVEN, tmp_path)


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("export A=1\nenv -i vllm serve m", "not run line 2: `env -i` takes away what the server would inherit"),
        ("export A=1\nexec -c vllm serve m", "not run line 2: `exec -c` takes away"),
        ("env --chdir=/x vllm serve m", "not run line 1: `--chdir=/x` of `env` is not read"),
        ("f() { export A=$A; }\nA=1 f\nvllm serve m", "f sets A, which is also set in front of its call"),
        ('A=1\neval "$(cat x)"\nvllm serve m', "not run line 2: `eval"),
        ("vllm serve m \\\n --a ) (", "undecided line 2: "),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)


def test_an_empty_environment_has_but_what_is_put_into_it() -> None:
    assert told("export A=1; B=2 env -i C=3 vllm serve m") == (["serve", "m"], {"C": "3"})
