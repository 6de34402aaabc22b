"""Real bash as the judge of what we read: it runs a script whose server is a program that writes down what it got."""

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from autotune.importing.script import read_script

RECORDER = f"""#!{sys.executable} -I
import json, os, sys
with open(os.environ["RECORD"], "w") as file:
    json.dump({{"args": sys.argv[1:], "env": dict(os.environ)}}, file)
"""
GIVEN = {"TP": "4", "CONC": "16"}
PATTERNS = ("x*", "4", '"*.y"', "?")
SILENT = "#!/bin/sh\nexit 0\n"
OF_BASH = ("PWD", "SHLVL", "_", "RECORD", "PATH", "OLDPWD", "LC_CTYPE")


def started(script: str, given: Mapping[str, str], folder: Path) -> tuple[list[str], dict[str, str]] | None:
    """Run a script; return the arguments and the environment of its server, None where it starts none."""
    programs, record = folder / "bin", folder / "record.json"
    programs.mkdir(exist_ok=True)
    record.unlink(missing_ok=True)
    for name in ("vllm", "python3", "sglang"):
        write_program(programs / name, RECORDER)
    for name in ("hf", "rocm-smi", "start_gpu_monitor", "check_env_vars", "wait_for_server_ready"):
        write_program(programs / name, SILENT)
    env = {**given, "RECORD": str(record), "PATH": f"{programs}:/usr/bin:/bin"}
    subprocess.run(["bash", "-c", f"{script}\nwait"], env=env, cwd=folder, capture_output=True, check=False, timeout=30)
    if not record.exists():
        return None
    got = json.loads(record.read_text())
    own = {name: value for name, value in got["env"].items() if not name.startswith("BASH_FUNC_")}
    return got["args"], {name: value for name, value in own.items() if name not in {*OF_BASH, *given}}


def told(script: str, given: Mapping[str, str] = GIVEN) -> tuple[list[str], dict[str, str]]:
    """Return what an import says of a script, as `started` does."""
    launch = read_script(script, given)
    own = {name: value.text for name, value in launch.env.items() if value is not None and name not in given}
    return ["serve", *(word.text for word in launch.args)], own


def doubted(script: str, given: Mapping[str, str] = GIVEN) -> str:
    """Return what an import lists of a script, line by line."""
    return "\n".join(f"{doubt.kind} {doubt}" for doubt in read_script(script, given).doubts)


def write_program(path: Path, text: str) -> None:
    """Write a program once."""
    if not path.exists():
        path.write_text(text)
        path.chmod(0o755)


def drawn(seed: int) -> str:
    """Return a script of the constructs that are read, drawn at random."""
    return _Drawn(random.Random(seed)).script()  # noqa: S311 a test's draw


class _Drawn:
    """Draws a script; every name may be unset, a number or a text."""

    names = ("A", "B", "C", "TP", "CONC")
    texts = ("1", "4", "08", "x", "a b", " ", "", "--flag", "*.y", 'q"q', "-1", "x=y")

    def __init__(self, chance: random.Random) -> None:
        """Keep the source of chance."""
        self.chance = chance

    def script(self) -> str:
        """Return some statements, then a server's start."""
        lines = [self.statement(depth=2) for _ in range(self.chance.randint(2, 8))]
        words = " ".join(self.word() for _ in range(self.chance.randint(1, 5)))
        return "\n".join([*lines, f'P=1 vllm serve m {words} "${{L[@]}}" > log 2>&1 &'])

    def statement(self, depth: int) -> str:
        """Return one statement."""
        name, c = self.chance.choice(self.names[:3]), self.chance
        simple = [
            f"{name}={self.word()}",
            f"export {name}={self.word()}",
            f"{name}+={self.word()}",
            f"L=({self.word()} {self.word()})",
            f"L+=({self.word()})",
            f"unset {name}",
            f"export {name}",
            f"{self.test()} && {name}={self.word()}",
            f"{self.test()} || {name}={self.word()}",
            f": ${{{name}:={c.choice(['1', 'z'])}}}",
            f'f() {{ {name}=$1; L=("$@"); }}; f {self.word()} {self.word()}',
            *self.builtins(name),
        ]
        if depth == 0 or c.random() < 0.5:
            return c.choice(simple)
        inner, other = self.statement(depth - 1), self.statement(depth - 1)
        return c.choice(
            [
                f"if {self.test()}; then\n  {inner}\nelse\n  {other}\nfi",
                f"if {self.test()}; then {inner}; elif {self.test()}; then {other}; fi",
                f'case {self.word()} in\n  1|4) {inner} ;;\n  x*) {other} ;;\n  "") : ;;\n  *) {name}=e ;;\nesac',
                f"{{ {inner}; }}",
                f"( {inner} )",
                f"! {self.test()} && {inner}",
            ]
        )

    def builtins(self, name: str) -> list[str]:
        """Return statements that set variables, their attributes and the arguments in the less usual ways."""
        other, c = self.chance.choice(self.names[:3]), self.chance
        return [
            f'export "{name}=${other}"',
            f"declare -x '{name}=x y' {other}=${name}",
            f"export {name}=$1 {other}=${name}",
            f"{name}={self.word()} {other}=${name}\n:",
            f"export -n {name}",
            f'unset "{name}"',
            f"f() {{ local {name}={self.word()}; {other}+=${name}; export {other}; }}; f {self.word()}",
            f'f() {{ shift; set -- "$@" ${{1:-y}}; {name}="$# $*"; }}; f {self.word()} {self.word()}',
            f"f() {{ export {other}=${name}; }}; {name}={self.word()} f",
            f"set -- {self.word()} {self.word()}",
            f"set {c.choice(['-a', '+a', '-o allexport', '-x', '+o pipefail'])}",
            f"IFS={c.choice(['x', ':', chr(34) * 2, '=', '$' + chr(39) + chr(92) + 'n' + chr(39)])}",
            "unset IFS",
            f"export {name}={self.word()} &\nwait",
            f"{{ {name}={self.word()}; export {name}; }} | :",
            f'eval "{name}=\\${other}"',
            f"eval 'export {name}=1'",
            f"L=({self.word()} {self.word()}); L=z; L+=y",
            f"f() {{ [ -n ${name} ] || return; {other}=r; }}; f",
            f"((1)) || exit; (exit 1)\ncommand export {name}=c",
        ]

    def test(self) -> str:
        """Return a condition."""
        name, c = self.chance.choice(self.names), self.chance
        number = c.choice(["0", "1", "4", "8"])
        return c.choice(
            [
                f'[ "${name}" = "{c.choice(self.texts[:4])}" ]',
                f"[[ ${name} == {c.choice(PATTERNS)} ]]",
                f"[[ -n ${name} && -z $B ]]",
                f"[ -n ${name} ]",
                f"[ ${name} != {number} ]",
                f"[[ ${name} -le {number} ]]",
                f"[ $# -gt {number} ]",
                f"[[ ! -v {name} || ${name} != x ]]",
                f'[ -z "${name}" ]',
                f'[ "${{{name}:-0}}" -gt {number} ]',
                f"(( TP {c.choice(['<', '>=', '==', '!='])} {number} ))",
                f"(( CONC * 2 > TP + {number} ))",
            ]
        )

    def word(self) -> str:
        """Return a word."""
        name, c = self.chance.choice(self.names), self.chance
        text = c.choice(self.texts)
        quoted = "'" + text + "'"
        return c.choice(
            [
                quoted,
                f"${name}",
                f'"${name}"',
                f"${{{name}:-{c.choice(['7', 'd'])}}}",
                f'"${{{name}:+y y}}"',
                f"${{{name}-n}}",
                f'--o="${name}"',
                f"--o=${name}z",
                f'"a ${name}  b"',
                f'"{{\\"k\\":\\"${name}\\", \\"n\\": $((TP * 2 - 1))}}"',
                "$(( CONC / 3 % 5 ))",
                '"${#L[@]}"',
                '"${L[0]}"',
                '"${L[@]}"',
                '"${L[*]}"',
                '"$@"',
                '"$*"',
                "${2:-w}",
                "$'q\\'r'",
                f"${{{name}##*=}}",
                f"${{{name}%q*}}",
                f"${{{name}^^}}",
                f"x{c.choice(['a', 'b'])}\\ y",
                "$'t\\tb'",
            ]
        )
