"""A server of somebody else on our port that looks right in every way: nothing of it is ever measured."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import plans
from tests.fakes.running import ENGINE
from trials.outcome import Lost
from trials.plan import Plan
from trials.ports import HOST
from trials.run import run


@contextlib.contextmanager
def squatter(plan: Plan) -> Iterator[None]:
    """Start a healthy engine with the right model id on the trial's port, once that is known and before it is bound."""
    started: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def squat() -> None:
        while not (plan.folder / "supervisor.json").exists() and not over.wait(0.01):
            continue
        port = json.loads((plan.folder / "spec.json").read_text())["argv"][-1]
        argv = [sys.executable, str(ENGINE), "--alias", "m", "--host", HOST, "--port", port]
        started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL))

    watching = threading.Thread(target=squat)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
        for process in started:
            process.kill()
            process.wait()


def test_a_stale_server_with_the_right_model_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_LLAMA_SERVER", str(ENGINE))
    plan = plans.plan(tmp_path / "trial", "--never-listen")
    with squatter(plan):
        outcome = run(plan)
    assert isinstance(outcome, Lost), outcome
    assert "belongs to process" in outcome.reason
    assert not (plan.folder / "requests.parquet").exists()
