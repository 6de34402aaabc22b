"""Runs the server from wherever this file is, installed or not: `python -P __main__.py serve MODEL ...`."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
runpy.run_module("trials.engines.emulated.server", run_name="__main__", alter_sys=True)
