"""Where experiments are kept: an address in, a journal out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobai.errors import InputError
from mobai.store.journal import Journal, MemoryJournal

if TYPE_CHECKING:
    from mobai.client.http import HttpClient

_MEMORY = MemoryJournal()


def open_journal(storage: str | Path | Journal, *, create: bool = False) -> Journal:
    """Return the journal at an address: ``sqlite:///ads.db`` (or a path), ``postgresql://...``, ``memory:``, ``http://...``.

    A storage that is not there is made only with ``create``.
    """
    if storage == "memory:":
        return _MEMORY
    client = client_of(storage)
    if client is not None:
        from mobai.client.journal import HttpJournal

        return HttpJournal(client)
    if not isinstance(storage, str | Path):
        if not hasattr(storage, "lock"):
            raise InputError("storage", f"must be an address, a path or a journal, not {storage!r}")
        return storage
    from sqlalchemy import URL

    from mobai.store.sql import SqlJournal

    address = URL.create("sqlite", database=str(storage)) if isinstance(storage, Path) else storage
    return SqlJournal(address, create=create)


def client_of(storage: str | Path | Journal, token: str | None = None) -> HttpClient | None:
    """Return a client of the service at an address, None if it is another kind of storage."""
    address = storage if isinstance(storage, str) else getattr(getattr(storage, "client", None), "address", "")
    if address.lower().startswith(("http://", "https://")):
        from mobai.client.http import HttpClient

        return HttpClient(address, token)
    if token is not None:
        raise InputError("token", "only a service, at http://HOST:PORT, asks for one")
    return None


def delete(storage: str | Path | Journal, name: str) -> None:
    """Remove an experiment with all its events. There is no way back."""
    open_journal(storage).delete(name)


def experiment_names(storage: str | Path | Journal) -> list[str]:
    """Return the names of the experiments in a storage, in the order of their creation."""
    return open_journal(storage).names()
