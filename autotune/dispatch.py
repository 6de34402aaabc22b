"""Where trials run: in this process, or on Ray. The only file that imports ray."""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol

import ray
from ray.exceptions import LocalRayletDiedError, RayError, RayTaskError

from search_spaces import serves
from trials.outcome import Lost, Outcome
from trials.plan import Plan
from trials.run import run

MARGIN_S = 10.0  # beyond an engine's own grace, for a cancelled trial to come back


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


class OnRay:
    """Runs trials as Ray tasks, each on a node with the devices that its recipe asks for."""

    def __init__(self, slots: int, *, local: bool) -> None:
        """Take a connection that `on_ray` has opened, to a cluster or to a Ray of its own."""
        self.slots = slots
        self._local = local
        self._run = ray.remote(run)
        self._running: dict[ray.ObjectRef[Outcome], Plan] = {}

    def submit(self, plan: Plan) -> "Future[Outcome]":
        """Start the trial on a worker."""
        gpus = max(serve.gpus for serve, _ in serves(plan.recipe)) if plan.recipe.target.hardware != "cpu" else 0
        task = self._run.options(num_cpus=1, num_gpus=gpus, max_retries=0, name=plan.folder.name)
        reference = task.remote(plan)
        self._running[reference] = plan
        settled: Future[Outcome] = Future()
        reference.future().add_done_callback(lambda done: self._ended(reference, done, settled))
        return settled

    def _ended(self, reference: "ray.ObjectRef[Outcome]", done: "Future[Outcome]", settled: "Future[Outcome]") -> None:
        del self._running[reference]
        error = done.exception()
        if error is None:
            settled.set_result(done.result())
        else:
            _fail(settled, error, local=self._local)

    def cancel(self) -> None:
        """Interrupt the trials under way and wait until their engines had the time to stop."""
        running = dict(self._running)
        for reference in running:
            ray.cancel(reference)
        if running:
            grace_s = max(plan.deadlines.stop_s for plan in running.values()) + MARGIN_S
            ray.wait(list(running), num_returns=len(running), timeout=grace_s)


def _fail(settled: "Future[Outcome]", error: BaseException, *, local: bool) -> None:
    """Settle a trial that Ray gives no outcome of: a bug, or Ray's own end, or a node's, on which it was lost."""
    if isinstance(error, RayTaskError):
        cause: BaseException = error.cause
        cause.add_note(str(error))
        settled.set_exception(cause)
    elif local and isinstance(error, LocalRayletDiedError):
        gone = "Ray died on this machine: see /tmp/ray/session_latest/logs/raylet.out, then `autotune resume` the study"
        settled.set_exception(ClusterLost(gone))
    elif isinstance(error, RayError):
        settled.set_result(Lost(reason=f"ray: {str(error).splitlines()[0]}", seconds={}))
    else:
        settled.set_exception(error)


@contextmanager
def in_process() -> Iterator[Dispatcher]:
    """Run trials here."""
    yield InProcess()


@contextmanager
def on_ray(address: str | None = None) -> Iterator[Dispatcher]:
    """
    Run trials on Ray: a cluster at `address`, or one started here for as long as the block lasts.

    A local one has a single slot: two engines on one machine's cores would measure each other.
    """
    if address is None:
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # Ray's own 15 would be inherited by the engine that we measure
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        slots = 1
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
        slots = max(1, int(resources.get("GPU", 1)))
    dispatcher = OnRay(slots, local=address is None)
    try:
        yield dispatcher
    finally:
        dispatcher.cancel()
        ray.shutdown()
