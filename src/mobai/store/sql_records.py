"""What a service keeps in a database beside the experiments: tokens, webhooks, what was delivered.

Each kind has a sum: the hashes of its rows added up, kept with the version of the tables. A row that is changed or
lost behind our back changes the sum, and nothing of that kind is read any more: a lost token must not open a service.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from mobai.errors import StorageError
from mobai.store.database import Database
from mobai.store.journal import ANYTHING, encode
from mobai.store.schema import add_up, records, row_sum, version

TOKEN = "token"


class SqlRecords:
    """The records of a storage, by kind and key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the records of one kind, by key; StorageError if they are not what was written."""
        found = sa.select(records.c.key, records.c.body).where(records.c.kind == kind).order_by(records.c.key)
        with self._database.errors, self._database.connection("DEFERRED") as connection:
            rows = connection.execute(found).all()
            expected = _sums(connection).get(kind, 0)
        if add_up(row_sum(kind, key, text) for key, text in rows) != expected:
            raise StorageError(f"the {kind}s of the service are damaged: a row was changed or lost")
        return {key: _record(text) for key, text in rows}

    def put(self, kind: str, key: str, body: Mapping[str, Any] | None, *, was: object = ANYTHING) -> bool:
        """Keep a record, or with None remove it; False if it is not as it ``was``."""
        this = (records.c.kind == kind) & (records.c.key == key)
        with self._database.errors, self._database.connection("IMMEDIATE") as connection:
            if not self._database.sqlite:
                # SQLite has its write lock; here one writer of records at a time.
                connection.execute(sa.text(f"LOCK TABLE {records.name} IN SHARE ROW EXCLUSIVE MODE"))
            before = connection.scalar(sa.select(records.c.body).where(this))
            if was is not ANYTHING and (None if before is None else _record(before)) != was:
                return False
            after = None if body is None else encode(dict(body))
            connection.execute(sa.delete(records).where(this))
            if after is not None:
                connection.execute(sa.insert(records).values(kind=kind, key=key, body=after))
            sums = _sums(connection)
            gone = 0 if before is None else -row_sum(kind, key, before)
            come = 0 if after is None else row_sum(kind, key, after)
            sums[kind] = add_up([sums.get(kind, 0), gone, come])
            written = encode({one: f"{number:x}" for one, number in sums.items()})
            connection.execute(sa.update(version).values(records=written))
            return True

    def forget_secrets(self) -> None:
        """Keep of every token that there was one, and nothing else: for a copy that goes elsewhere."""
        for key, body in self.read(TOKEN).items():
            self.put(TOKEN, key, {"revoked_at": time.time(), "created_at": body.get("created_at")})
        with self._database.errors, self._database.connection("DEFERRED") as connection:
            kinds = list(connection.scalars(sa.select(records.c.kind).distinct()))
        for kind in kinds:
            for key in () if kind == TOKEN else self.read(kind):
                self.put(kind, key, None)

    def damage(self) -> list[str]:
        """Return which kinds are not what was written."""
        with self._database.errors, self._database.connection("DEFERRED") as connection:
            kinds = set(connection.scalars(sa.select(records.c.kind).distinct()))
            try:
                kinds |= set(_sums(connection))
            except StorageError as error:
                return [str(error)]
        return [found for kind in sorted(kinds) if (found := self._damage_of(kind))]

    def _damage_of(self, kind: str) -> str | None:
        try:
            self.read(kind)
        except StorageError as error:
            return str(error)
        return None


def _sums(connection: sa.Connection) -> dict[str, int]:
    found = _record(connection.scalar(sa.select(version.c.records)))
    try:
        return {kind: int(number, 16) for kind, number in found.items()}
    except (ValueError, TypeError):
        raise StorageError("the sums of the service's records are damaged") from None


def _record(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StorageError("a record of the service is damaged: it is no JSON object")
    return found
