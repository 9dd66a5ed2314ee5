"""Where experiments are kept: an address in, a journal out."""

from __future__ import annotations

from pathlib import Path

from mobai.live.journal import Journal, MemoryJournal

_MEMORY = MemoryJournal()


def open_journal(storage: str | Path | Journal, *, create: bool = False) -> Journal:
    """Return the journal at an address: ``sqlite:///ads.db`` (or a path), ``postgresql://...``, ``memory:``.

    A storage that is not there is made only with ``create``.
    """
    if isinstance(storage, Path):
        storage = f"sqlite:///{storage}"
    if not isinstance(storage, str):
        return storage
    if storage == "memory:":
        return _MEMORY
    from mobai.live.sql import SqlJournal

    return SqlJournal(storage, create=create)


def delete(storage: str | Path | Journal, name: str) -> None:
    """Remove an experiment with all its events. There is no way back."""
    open_journal(storage).delete(name)


def experiment_names(storage: str | Path | Journal) -> list[str]:
    """Return the names of the experiments in a storage, in the order of their creation."""
    return open_journal(storage).names()
