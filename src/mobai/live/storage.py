"""Where experiments are kept: an address in, a journal out."""

from __future__ import annotations

from pathlib import Path

from mobai.errors import InputError
from mobai.live.journal import Journal, MemoryJournal

_MEMORY = MemoryJournal()


def open_journal(storage: str | Path | Journal, *, create: bool = False) -> Journal:
    """Return the journal at an address: ``sqlite:///ads.db`` (or a path), ``postgresql://...``, ``memory:``.

    A storage that is not there is made only with ``create``.
    """
    if storage == "memory:":
        return _MEMORY
    if not isinstance(storage, str | Path):
        if not hasattr(storage, "find"):
            raise InputError(f"storage must be an address, a path or a journal, not {storage!r}")
        return storage
    from sqlalchemy import URL

    from mobai.live.sql import SqlJournal

    address = URL.create("sqlite", database=str(storage)) if isinstance(storage, Path) else storage
    return SqlJournal(address, create=create)


def delete(storage: str | Path | Journal, name: str) -> None:
    """Remove an experiment with all its events. There is no way back."""
    open_journal(storage).delete(name)


def experiment_names(storage: str | Path | Journal) -> list[str]:
    """Return the names of the experiments in a storage, in the order of their creation."""
    return open_journal(storage).names()
