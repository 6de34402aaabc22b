"""The fake engine as a `with` block, for tests that need a server and no supervisor."""

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENGINE = Path(__file__).with_name("engine.py")


@dataclass(frozen=True, slots=True)
class Seen:
    """
    What a fake engine was asked.

    Attributes:
        completions: The body of each completion, in the order of their coming.
        connections: How many brought one.
        peak: The most that were being answered at once.
    """

    completions: list[dict[str, Any]]
    connections: int
    peak: int

    @property
    def prompts(self) -> list[str]:
        """The prompt of each completion."""
        return [str(body["prompt"]) for body in self.completions]


@contextlib.contextmanager
def running(*flags: str) -> Iterator[str]:
    """Run the fake engine as model `m` with these flags; yield its URL."""
    argv = [sys.executable, str(ENGINE), *flags, "--alias", "m", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            port = next(line.split()[1] for line in process.stdout if line.startswith("port "))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def seen(url: str) -> Seen:
    """Return what the fake engine at `url` was asked until now."""
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)) as connection:
        connection.request("GET", "/seen")
        return Seen(**json.loads(connection.getresponse().read()))
