"""The command line: one thin command a file."""

from mobai.cli.main import main

__all__ = ["main"]
