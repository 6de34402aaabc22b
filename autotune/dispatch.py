"""Where trials run: in this process, or on Ray. The only file that imports ray."""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Protocol

import psutil
import ray
from ray.exceptions import LocalRayletDiedError, RayError, RayTaskError

from search_spaces import serves
from trials.outcome import Lost, Outcome
from trials.plan import Plan
from trials.run import run

MARGIN_S = 10.0  # beyond an engine's own grace, for a cancelled trial to come back
SERVER = "gcs_server"  # the process of a Ray without which its drivers wait a minute and then exit without a word
GONE = "Ray died on this machine: see /tmp/ray/session_latest/logs/{log}, then `autotune resume` the study"


class ClusterLost(Exception):
    """Ray itself is gone: no trial can be run any more."""


class Dispatcher(Protocol):
    """Where trials run."""

    @property
    def slots(self) -> int:
        """How many trials may run at once."""
        ...

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """
        Start a trial; a worker that dies makes it Lost.

        The future raises what a trial raises, which is a bug or the driver's own disk, and `ClusterLost`.
        """
        ...


class InProcess:
    """Runs a trial at once, here: for debuggers, and where Ray can't be had."""

    slots = 1

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Run the trial now; the future is then done."""
        future: Future[Outcome] = Future()
        future.set_result(run(plan))
        return future


@dataclass(frozen=True, slots=True)
class Submitted:
    """A trial that Ray has, and the future that tells of it."""

    plan: Plan
    settled: "Future[Outcome]"


class OnRay:
    """Runs trials as Ray tasks, each on a node with the devices that its recipe asks for."""

    def __init__(self, slots: int, *, local: bool) -> None:
        """Take a connection that `on_ray` has opened, to a cluster or to a Ray of its own."""
        self.slots = slots
        self._local = local
        self._run = ray.remote(run)
        self._running: dict[ray.ObjectRef[Outcome], Submitted] = {}

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """
        Start the trial on a worker.

        Raises:
            ClusterLost: No node will ever have the devices that it needs.
        """
        gpus = _gpus(plan)
        if gpus > (most := _most_gpus()):
            raise ClusterLost(f"a trial needs {gpus} GPUs on one node and Ray has {most:g}: run where they are")
        task = self._run.options(num_cpus=1, num_gpus=gpus, max_retries=0, name=plan.folder.name)
        reference = task.remote(plan)
        submitted = self._running[reference] = Submitted(plan, Future())
        reference.future().add_done_callback(lambda done: self._ended(reference, done))
        return submitted.settled

    def _ended(self, reference: "ray.ObjectRef[Outcome]", done: "Future[Outcome]") -> None:
        submitted = self._running.pop(reference, None)
        if submitted is None:  # abandoned
            return
        error = done.exception()
        if error is None:
            submitted.settled.set_result(done.result())
        else:
            _fail(submitted.settled, error, local=self._local)

    def abandon(self, gone: ClusterLost) -> None:
        """Fail the trials under way: nothing will be heard of them any more."""
        while self._running:
            _, submitted = self._running.popitem()
            submitted.settled.set_exception(gone)

    def cancel(self) -> None:
        """Interrupt the trials under way and wait until their engines had the time to stop."""
        running = dict(self._running)
        for reference in running:
            ray.cancel(reference)
        if running:
            grace_s = max(submitted.plan.deadlines.stop_s for submitted in running.values()) + MARGIN_S
            ray.wait(list(running), num_returns=len(running), timeout=grace_s)


def _gpus(plan: Plan) -> int:
    """Return how many GPUs a trial holds; an emulated engine holds none."""
    if plan.emulation or plan.recipe.target.hardware == "cpu":
        return 0
    return max(serve.gpus for serve, _ in serves(plan.recipe))


def _most_gpus() -> float:
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return max((node["Resources"].get("GPU", 0.0) for node in nodes if node["Alive"]), default=0.0)


def _fail(settled: "Future[Outcome]", error: BaseException, *, local: bool) -> None:
    """Settle a trial that Ray gives no outcome of: a bug, or Ray's own end, or a node's, on which it was lost."""
    if isinstance(error, RayTaskError):
        cause: BaseException = error.cause
        cause.add_note(str(error))
        settled.set_exception(cause)
    elif local and isinstance(error, LocalRayletDiedError):
        settled.set_exception(ClusterLost(GONE.format(log="raylet.out")))
    elif isinstance(error, RayError):
        settled.set_result(Lost(reason=f"ray: {(str(error) or repr(error)).splitlines()[0]}", seconds={}))
    else:
        settled.set_exception(error)


@contextmanager
def in_process(slots: int = 1) -> Iterator[Dispatcher]:  # noqa: ARG001 here they run one after the other anyway
    """Run trials here."""
    yield InProcess()


@contextmanager
def on_ray(slots: int = 1, *, address: str | None = None) -> Iterator[Dispatcher]:
    """
    Run trials on Ray: a cluster at `address`, or one started here for as long as the block lasts.

    Args:
        slots: Of one started here. Two engines on one machine's cores would measure each other: more than one is for
            engines that keep a clock of their own.
    """
    if address is None:
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # Ray's own 15 would be inherited by the engine that we measure
        ray.init(num_cpus=slots, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
        slots = max(1, int(resources.get("GPU", 1)))
    dispatcher, closing = OnRay(slots, local=address is None), Event()
    if address is None:
        Thread(target=_outlive, args=(dispatcher, closing), daemon=True).start()
    try:
        yield dispatcher
    finally:
        dispatcher.cancel()
        closing.set()
        ray.shutdown()


def _outlive(dispatcher: OnRay, closing: Event) -> None:
    """Wait until the server of our own Ray ends; if that was not asked for, end the rest of it and say so."""
    processes = psutil.Process().children()
    for process in processes:
        if _name(process) == SERVER:
            process.wait()
    if closing.is_set():
        return
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    dispatcher.abandon(ClusterLost(GONE.format(log=f"{SERVER}.out")))


def _name(process: psutil.Process) -> str:
    """Return a process's name; one that has ended has none."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""
