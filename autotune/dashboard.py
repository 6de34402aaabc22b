"""Optuna's dashboard on a copy of a study's index, for this machine alone."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from autotune.search.index import copied

HOST = "127.0.0.1"
PACKAGE = "optuna_dashboard"


class DashboardMissing(Exception):
    """Optuna's dashboard is not installed."""


class PortTaken(Exception):
    """Another program listens where the dashboard shall."""


class Server(ThreadingMixIn, WSGIServer):
    """Answers a page's requests beside one another."""

    daemon_threads = True

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.server_port}/dashboard/"


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its signature
        pass


@contextmanager
def dashboard(database: Path, *, name: str, port: int) -> Iterator[Server]:
    """
    Give a server of the dashboard, bound and not yet serving, for the length of the block.

    Args:
        name: Of the study in the dashboard.
        port: 0 takes a free one.

    Raises:
        DashboardMissing: It is not installed.
        PortTaken: Somebody else has the port.
        autotune.search.index.NoIndex: There is no index to show.
    """
    if find_spec(PACKAGE) is None:
        raise DashboardMissing("optuna-dashboard is not installed: pip install 'autotune-serve[dashboard]'")
    app = import_module(PACKAGE).wsgi(copied(database, name))
    try:
        server = make_server(HOST, port, app, server_class=Server, handler_class=_Silent)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTaken(f"port {port} of {HOST} is taken: choose another one with --port, or 0 for any") from error
    with server:
        yield server
