"""The ways to run an engine: a process, or a container of one kind or another."""

from collections.abc import Mapping

from trials.launchers.apptainer import Apptainer
from trials.launchers.container import Container
from trials.launchers.launcher import Job, Launcher
from trials.launchers.process import Process

__all__ = ["CLIENTS", "LAUNCHERS", "Job", "Launcher"]

CLIENTS = ("docker", "podman")
"""Those whose containers outlive their client."""

LAUNCHERS: Mapping[str, Launcher] = {
    "process": Process(),
    "apptainer": Apptainer(),
    **{client: Container(client) for client in CLIENTS},
}
