"""Studies on the fake engine through the real command line, each in a folder of its own that leaves nothing behind."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import evals
from search_spaces import text
from tests.fakes.running import ENGINE
from trials.engines.llamacpp import LAUNCHER, PROGRAM

AUTOTUNE = Path(sys.executable).with_name("autotune")
SUMS = Path(evals.__file__).parent / "tasks/sums/test.jsonl"
MARK = "AUTOTUNE_TEST_HOME"  # in the environment of all that comes of a bench, engines and Ray's own processes too
STOP_S = 5.0
OURS = ("supervisor.py", LAUNCHER.name, ENGINE.name)  # the programs of a launch


def solutions() -> Mapping[str, str]:
    """Return the worked answer to each prompt of the gate's task."""
    rows = [json.loads(line) for line in SUMS.read_text(encoding="utf-8").splitlines()]
    return {f"Question: {row['question']}\nAnswer:": f" {row['answer']}" for row in rows}


@dataclass(frozen=True, slots=True)
class Bench:
    """
    A home folder with a space, and the command line to be run in it.

    Attributes:
        name: Of the space and of its study.
        engine: The variables that say which engine a study finds; the fake one by default.
    """

    home: Path
    name: str = "fake"
    engine: Mapping[str, str] = field(default_factory=lambda: {PROGRAM: str(ENGINE)})

    @property
    def study(self) -> Path:
        """The folder of the one study."""
        return self.home / "studies" / self.name

    @property
    def space(self) -> Path:
        """The space file."""
        return self.home / f"{self.name}.yaml"

    def write_space(
        self,
        knobs: Mapping[str, Any],
        baseline: Mapping[str, Any],
        *,
        flags: Sequence[str] = (),
        **sections: Any,  # noqa: ANN401 YAML
    ) -> None:
        """Write a space with these knobs, a short load and a short gate; `sections` update or replace the others."""
        answers = self.home / "answers.json"
        answers.write_text(json.dumps(solutions()), encoding="utf-8")
        space: dict[str, Any] = {
            "summary": "the fake engine",
            "target": {"engine": "llamacpp", "model": "m", "hardware": "cpu"},
            "workload": {"input_tokens": 4, "output_tokens": 3, "concurrency": [1], "waves": 4, "warmup_waves": 1},
            "serve": {"args": ["--answers", str(answers), *flags]},
            "baseline": dict(baseline),
            "knobs": dict(knobs),
            "gate": {
                "task": "sums",
                "endpoint": "completions",
                "threshold": 0.9,
                "filters": ["strict-match"],
                "questions": {"search": 8, "confirm": 12},
                "smell": 8,
                "concurrency": 2,
                "max_tokens": 64,
            },
            "budget": {"trials": 20, "hours": 1, "confirm_launches": 2, "ablation_launches": 0, "regime_launches": 0},
            "deadlines": {"ready_s": 60, "stop_s": STOP_S, "request_s": 20},
            "sampler": "random",
        }
        for section, value in sections.items():
            old = space.get(section)
            space[section] = {**old, **value} if isinstance(old, dict) and isinstance(value, Mapping) else value
        self.space.write_text(text(space), encoding="utf-8")

    def environment(self, *, sitting: int = 0) -> dict[str, str]:
        """Return the environment of a command, with the mark of this bench and sitting."""
        return {
            **os.environ,
            "AUTOTUNE_DATA": str(self.home / "data"),
            **self.engine,
            MARK: f"{self.home}#{sitting}",
        }

    def run(
        self,
        *arguments: str,
        program: Sequence[str] = (str(AUTOTUNE),),
        env: Mapping[str, str] | None = None,
        timeout_s: float = 120.0,
    ) -> "subprocess.CompletedProcess[str]":
        """Run `autotune`, or another program, with these arguments to its end."""
        return subprocess.run(
            [*program, *arguments],
            cwd=self.home,
            env={**self.environment(), **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self, *arguments: str, sitting: int = 0) -> "subprocess.Popen[bytes]":
        """Start `autotune` with these arguments; what it says is kept for `said`."""
        with self._said(sitting).open("wb") as said:
            return subprocess.Popen(
                [str(AUTOTUNE), *arguments],
                cwd=self.home,
                env=self.environment(sitting=sitting),
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def said(self, *, sitting: int = 0) -> str:
        """Return what a sitting has said so far."""
        return self._said(sitting).read_text(encoding="utf-8")

    def _said(self, sitting: int) -> Path:
        return self.home / f"said-{sitting}"

    def trials(self) -> list[dict[str, Any]]:
        """Return each trial's `trial.json` with its outcome, None where it has none."""
        return [
            {**json.loads(path.read_text()), "outcome": _json(path.with_name("outcome.json"))}
            for path in sorted(self.study.glob("trials/*/trial.json"))
        ]

    def outcome_of(self, **config: object) -> dict[str, Any]:
        """Return the outcome of the last trial with this config."""
        *_, last = (trial["outcome"] for trial in self.trials() if trial["config"] == config)
        return dict(last)

    def evidence(self) -> dict[str, Any]:
        """Return what the study proved."""
        return dict(json.loads((self.study / "evidence.json").read_text()))

    def living(self) -> dict[psutil.Process, int]:
        """Return every process that came of this bench and still runs, with the number of its sitting."""
        found = {}
        for process in psutil.process_iter():
            try:
                home, _, sitting = process.environ().get(MARK, "").rpartition("#")
                if home == str(self.home) and process.status() != psutil.STATUS_ZOMBIE:
                    found[process] = int(sitting)
            except psutil.Error:
                continue
        return found

    def engines(self) -> dict[psutil.Process, int]:
        """Return the engines and supervisors among them."""
        return {process: sitting for process, sitting in self.living().items() if serves(process)}

    def left_after(self, seconds: float) -> list[str]:
        """Return the command lines of what still runs when it had `seconds` to end."""
        deadline = time.monotonic() + seconds
        while (rest := self.living()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return [command_of(process) for process in rest]

    def wait_for(self, path: str, *, saying: str = "", seconds: float = 60.0) -> None:
        """Wait until a file of the study is there and holds these words."""
        file, deadline = self.study / path, time.monotonic() + seconds
        while not (file.exists() and saying in file.read_text()):
            assert time.monotonic() < deadline, f"no {path} with {saying!r} after {seconds:g} s"
            time.sleep(0.02)


@contextlib.contextmanager
def leaving_nothing(bench: Bench, *, within_s: float) -> Iterator[Bench]:
    """Yield a bench; check after the block that all that came of it has ended in time, and end what has not."""
    try:
        yield bench
    finally:
        left = bench.left_after(within_s)
        for process in bench.living():
            process.kill()
        assert not left, f"still running after {within_s:g} s: {left}"


def serves(process: psutil.Process) -> bool:
    """Say whether a process is an engine or its supervisor."""
    return any(name in command_of(process) for name in OURS)


def command_of(process: psutil.Process) -> str:
    """Return a process's command line; nothing if it has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _json(path: Path) -> dict[str, Any] | None:
    return dict(json.loads(path.read_text())) if path.exists() else None
