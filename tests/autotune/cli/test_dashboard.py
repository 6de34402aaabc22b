"""`autotune dashboard`: Optuna's dashboard, on a copy, for this machine, until Ctrl-C."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

from tests.autotune.searched import searched
from tests.conftest import Autotune

BAD_INPUT, UNFIT = 2, 3

installed = pytest.mark.skipif(
    find_spec("optuna_dashboard") is None, reason="no optuna-dashboard: pip install 'autotune-serve[dashboard]'"
)
WITHOUT = "import sys; sys.modules['optuna_dashboard'] = None; from autotune.cli import main; main()"
"""The command as it is where the package was not installed."""


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run the command on a free port for the length of the block; give the process and the line that it says."""
    argv: list[str | Path] = [Path(sys.executable).with_name("autotune"), "dashboard", "one", "--port", "0"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline()
        finally:
            process.kill()


def asked(url: str, path: str, method: str = "GET") -> Any:  # noqa: ANN401 JSON
    """Return what the dashboard answers."""
    request = Request(urljoin(url, path), method=method)  # noqa: S310 our own
    with urlopen(request, timeout=60) as answer:  # noqa: S310 our own
        body = answer.read()
    return json.loads(body) if path.startswith("/api/") and body else body.decode()


@installed
def test_the_study_is_shown_until_ctrl_c(tmp_path: Path) -> None:
    searched(tmp_path)
    with opened(tmp_path) as (process, said):
        url = said.split(": ", 1)[0]
        assert url.startswith("http://127.0.0.1:")
        assert "figures of its search and no evidence; Ctrl-C ends it" in said
        assert "<html" in asked(url, "/dashboard/")
        (study,) = asked(url, "/api/studies")["study_summaries"]
        assert study["study_name"] == "one"
        assert len(asked(url, f"/api/studies/{study['study_id']}")["trials"]) == 32
        process.send_signal(signal.SIGINT)
        left = process.communicate(timeout=60)
    assert (process.returncode, left) == (0, ("", ""))


@installed
def test_what_is_done_in_the_dashboard_leaves_the_study_as_it_is_and_a_rehearsal_is_marked(tmp_path: Path) -> None:
    folder = searched(tmp_path, rehearsal=True)
    before = folder.database.read_bytes()
    with opened(tmp_path) as (_, said):
        assert said.startswith("EMULATED http://")
        url = said.removeprefix("EMULATED ").split(": ", 1)[0]
        (study,) = asked(url, "/api/studies")["study_summaries"]
        assert study["study_name"] == "EMULATED one"
        asked(url, f"/api/studies/{study['study_id']}", method="DELETE")
        assert asked(url, "/api/studies")["study_summaries"] == []
    assert folder.database.read_bytes() == before
    assert not folder.database.with_name("study.db-journal").exists()


@installed
def test_a_port_that_is_taken_is_one_message(autotune: Autotune, tmp_path: Path) -> None:
    searched(tmp_path, count=1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = autotune("dashboard", "one", "--port", port, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (UNFIT, "")
    assert ran.stderr == f"autotune: port {port} of 127.0.0.1 is taken: choose another one with --port, or 0 for any\n"


@installed
def test_without_an_index_there_is_one_message(autotune: Autotune, tmp_path: Path) -> None:
    searched(tmp_path, count=1).database.unlink()
    ran = autotune("dashboard", "one", "--port", "0", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (BAD_INPUT, "")
    assert len(ran.stderr.splitlines()) == 1
    assert "`autotune resume` makes it anew from the trials" in ran.stderr


def test_where_it_is_not_installed_the_message_is_how_to_install_it(tmp_path: Path) -> None:
    searched(tmp_path, count=1)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, "dashboard", "one"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (UNFIT, "")
    assert ran.stderr == "autotune: optuna-dashboard is not installed: pip install 'autotune-serve[dashboard]'\n"
