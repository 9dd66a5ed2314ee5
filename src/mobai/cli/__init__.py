"""The command line: one thin command per file."""

from mobai.cli.main import main

__all__ = ["main"]
