"""Answers of a service that are not what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mobai.errors import InputError, StorageError


@contextmanager
def reading() -> Iterator[None]:
    """Turn what is not of the form a service answers in into one clear line."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise StorageError("the service did not answer as mobai does; is it at that address?") from error
