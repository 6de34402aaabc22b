#!/usr/bin/env python3
"""
A program that holds a study's lock as a driver does, and ends, or does not, when it is asked to.

    driver.py STUDY_FOLDER [--stays]
"""

import signal
import sys
import time
from pathlib import Path

from autotune.folder import StudyFolder


def main(root: str, *flags: str) -> None:
    """Hold the lock and say so."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "--stays" in flags else signal.default_int_handler)
    with StudyFolder(Path(root)).locked():
        print("locked", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
