"""
A process that serves an engine and then ends in the way it is told.

    owner.py FOLDER ENDING [ENGINE FLAGS...]     ENDING: return, raise, exit, hang

$LAUNCHER and $IMAGE say how, where it is not a bare process, and $READS which paths the image is to see.
"""

import os
import signal
import sys
import time
from pathlib import Path

from trials.serving import Launch, serving


def main(folder: str, ending: str, *args: str) -> None:
    """Serve, say so, end."""
    launch = Launch(
        engine="llamacpp",
        model="m",
        args=args,
        env={},
        files={path: Path(path) for path in os.environ.get("READS", "").split(os.pathsep) if path},
        data_root=Path(folder),
        folder=Path(folder),
        ready_s=60.0,
        stop_s=10.0,
        request_s=10.0,
        launcher=os.environ.get("LAUNCHER", "process"),
        image=os.environ.get("IMAGE"),
    )
    with serving(launch) as endpoint:
        print(endpoint.url, flush=True)
        if ending == "raise":
            raise ValueError(ending)
        if ending == "exit":
            sys.exit(7)
        if ending == "hang":
            time.sleep(600)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is born deaf to it
    main(*sys.argv[1:])
