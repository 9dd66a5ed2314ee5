"""The errors a user can cause. Each message is one line that names the argument and what would be accepted."""

from __future__ import annotations


class InputError(ValueError):
    """An argument, a file or a reward that mobai cannot accept. Nothing was changed."""


class TieError(InputError):
    """Two arms share the best mean of an objective, so no number of samples can tell them apart."""


class ConvergenceError(RuntimeError):
    """A solver could not certify its answer to the accuracy it promises. Please report the instance."""


class StorageError(Exception):
    """A storage that cannot be read or written as it should: full, read-only, damaged, foreign or too new."""
