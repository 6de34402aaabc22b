"""The command line: the only package that prints or knows exit codes."""

from autotune.cli.app import main

__all__ = ["main"]
