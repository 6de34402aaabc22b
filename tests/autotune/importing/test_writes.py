"""The files that a script writes for its server."""

import pytest

from autotune.importing.script import read_script
from tests.autotune.importing.bash import GIVEN, doubted


@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        (
            "printf 'a: %s' 3 > c.yaml\nvllm serve m --config c.yaml",
            "unknown line 2: c.yaml",
        ),
        ("python3 make.py > c.yaml\nvllm serve m --config c.yaml", "unknown line 2: c.yaml"),
        ("{ echo a; echo b; } > c.yaml\nvllm serve m --config c.yaml", "unknown line 2: c.yaml"),
        ("if [ -f x ]; then echo b > c.yaml; fi\nvllm serve m --config c.yaml", "unknown line 2: c.yaml"),
        ("make | tee c.yaml\nvllm serve m --config c.yaml", "unknown line 2: c.yaml"),
        ("cat <<E | sed s/1/2/ > c.yaml\na: 1\nE\nvllm serve m --config c.yaml", "unknown line 4: c.yaml"),
        ("echo a > c.yaml\nsed -i s/a/b/ c.yaml\nvllm serve m --config c.yaml", "unknown line 3: c.yaml"),
        (
            "echo a > ./c.yaml\nvllm serve m --config c.yaml",
            "./c.yaml is written, and the server may",
        ),
        (
            "cd /x; echo a > c.yaml\nvllm serve m --config /x/c.yaml",
            "c.yaml is written, and the server may",
        ),
        (
            "cat > c.yaml <<E && export A=1\na: 1\nE\nvllm serve m --config c.yaml",
            "undecided line 1: `export A=1` stands behind",
        ),
    ],
)
def test_what_is_not_read_is_listed_with_its_line(lines: str, listed: str) -> None:
    assert listed in doubted(lines)


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        ("echo a: $TP > c.yaml; echo b >> c.yaml", "a: 4\nb\n"),
        ("cat > c.yaml <<E.X\na: $TP\nE.X", "a: 4\n"),
        ("cat > c.yaml <<-E\n\ta: 1\n\tE", "a: 1\n"),
        ("tee c.yaml <<'E'\na: $TP\nE", "a: $TP\n"),
        ("cat <<E | tee c.yaml\na: 1\nE", "a: 1\n"),
        ('f() { cat > $1 <<E\na: $2 $((1+1)) "$TP" \\"\nE\n}\nf c.yaml 3', 'a: 3 2 "4" \\"\n'),
    ],
)
def test_a_file_that_is_known_whole_is_kept(lines: str, content: str) -> None:
    script = f"{lines}\nvllm serve m --config c.yaml > c.yaml.log"
    assert {path: text.text for path, text in read_script(script, GIVEN).files.items()} == {"c.yaml": content}
    assert doubted(script) == ""
