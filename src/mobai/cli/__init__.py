"""The command line: ``mobai demo``, ``mobai plan``, ``mobai run``. One thin command a file."""

from mobai.cli.main import main

__all__ = ["main"]
