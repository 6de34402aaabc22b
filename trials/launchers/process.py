"""A bare process on this machine."""

from pathlib import Path

from trials.engines import Engine, Failure
from trials.launchers.launcher import Job, family
from trials.supervisor import Ended, Spec, Started


class Process:
    """The launcher; it has no state."""

    contained = False

    def spec(self, job: Job) -> Spec:
        """Return the engine's own command."""
        return Spec(job.argv, job.env, job.stop_s)

    def owns(self, listeners: set[int], started: Started, spec: Spec) -> bool:  # noqa: ARG002  # of a container
        """Say whether a listener is in the supervisor's tree."""
        return bool(listeners & family(started.supervisor_pid))

    def why(self, ended: Ended, log: str) -> Failure | None:  # noqa: ARG002  # a process has no other end than its own
        """Return None: it is the engine that ended."""
        return None

    def version(self, engine: Engine, image: str | None, data_root: Path) -> str:  # noqa: ARG002  # of a container
        """
        Return which program would run.

        Raises:
            EngineNotFound: None would.
        """
        return engine.version(data_root)
