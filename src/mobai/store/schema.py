"""The tables, their version, and the steps that bring older databases up to date."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Iterable

import sqlalchemy as sa

from mobai.errors import InputError, StorageError
from mobai.store.addresses import shown
from mobai.store.journal import link

_log = logging.getLogger(__name__)

metadata = sa.MetaData()

# One row: the version of the tables, what tells this storage from a copy of it that was restored, and the sums of the
# service's records by kind.
version = sa.Table(
    "mobai_schema",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("identity", sa.Text, nullable=False, server_default=""),
    sa.Column("records", sa.Text, nullable=False, server_default="{}"),
)
experiments = sa.Table(
    "mobai_experiments",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    # The last event: a journal that was cut off is noticed.
    sa.Column("seq", sa.Integer, nullable=False, server_default="0"),
    sa.Column("head", sa.Text, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)
events = sa.Table(
    "mobai_events",
    metadata,
    sa.Column("experiment", sa.ForeignKey("mobai_experiments.id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)
snapshots = sa.Table(
    "mobai_snapshots",
    metadata,
    sa.Column("experiment", sa.ForeignKey("mobai_experiments.id"), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
# What a service keeps beside the experiments: tokens, webhooks, what was delivered; a JSON text each.
records = sa.Table(
    "mobai_records",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)


def _chain_events(connection: sa.Connection) -> None:
    """Add its hash to every event, and an identity to the storage. Snapshots of before are of no use."""
    _refuse_newer(connection, "mobai_events", "hash")
    connection.execute(sa.text("ALTER TABLE mobai_events ADD COLUMN hash TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("ALTER TABLE mobai_schema ADD COLUMN identity TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("ALTER TABLE mobai_experiments ADD COLUMN seq INTEGER NOT NULL DEFAULT 0"))
    connection.execute(sa.text("ALTER TABLE mobai_experiments ADD COLUMN head TEXT NOT NULL DEFAULT ''"))
    connection.execute(sa.text("DELETE FROM mobai_snapshots"))
    order = "SELECT seq, kind, at, body FROM mobai_events WHERE experiment = :number ORDER BY seq"
    write = sa.text("UPDATE mobai_events SET hash = :hash WHERE experiment = :number AND seq = :seq")
    for (number,) in connection.execute(sa.text("SELECT id FROM mobai_experiments")).all():
        head, last = "", 0
        for rows in connection.execute(sa.text(order), {"number": number}).partitions(10_000):
            hashes = []
            for seq, kind, at, body in rows:
                head, last = link(head, seq, kind, at, body), seq
                hashes.append({"number": number, "seq": seq, "hash": head})
            connection.execute(write, hashes)
        end = {"number": number, "seq": last, "head": head}
        connection.execute(sa.text("UPDATE mobai_experiments SET seq = :seq, head = :head WHERE id = :number"), end)


def _refuse_newer(connection: sa.Connection, table: str, column: str) -> None:
    """Refuse tables that have a column which their version has not."""
    if column in {one["name"] for one in sa.inspect(connection).get_columns(table)}:
        raise StorageError(f"{shown(connection.engine.url)}: is damaged: its tables are newer than their version")


def _make_records(connection: sa.Connection) -> None:
    """Make the table of records."""
    connection.execute(
        sa.text("CREATE TABLE mobai_records (kind TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, key))")
    )


def _sum_records(connection: sa.Connection) -> None:
    """Add up the records of each kind."""
    _refuse_newer(connection, "mobai_schema", "records")
    connection.execute(sa.text("ALTER TABLE mobai_schema ADD COLUMN records TEXT NOT NULL DEFAULT '{}'"))
    sums: dict[str, int] = {}
    for kind, key, body in connection.execute(sa.text("SELECT kind, key, body FROM mobai_records")):
        sums[kind] = add_up([sums.get(kind, 0), row_sum(kind, key, body)])
    text = json.dumps({kind: f"{number:x}" for kind, number in sums.items()}, separators=(",", ":"))
    connection.execute(sa.text("UPDATE mobai_schema SET records = :text"), {"text": text})


def row_sum(kind: str, key: str, body: str) -> int:
    """Return what a record adds to the sum of its kind."""
    return int.from_bytes(hashlib.sha256(f"{kind}\n{key}\n{body}".encode()).digest())


def add_up(numbers: Iterable[int]) -> int:
    """Return the sum of hashes; the order does not matter, and one can be taken away again."""
    return sum(numbers) % 2**256


# Step n makes version n + 1 out of version n. Steps are never changed once released, only added.
MIGRATIONS: list[Callable[[sa.Connection], None]] = [_chain_events, _make_records, _sum_records]
VERSION = 1 + len(MIGRATIONS)


def migrate(engine: sa.Engine, *, create: bool) -> None:
    """Bring the tables up to date in one transaction, or make them with ``create``; refuse what is not ours."""
    with engine.connect().execution_options(begin="DEFERRED") as connection, connection.begin():
        there = _found(connection)
        if there == VERSION:
            return
        if there == 0 and not create:
            raise InputError("storage", f"{shown(engine.url)} holds no experiments; creating one makes the tables")
    with engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7267001)"))
        there = _found(connection)
        if there == 0:
            _log.info("%s: making the tables of schema %d", shown(engine.url), VERSION)
            metadata.create_all(connection)
            connection.execute(sa.insert(version).values(version=VERSION, identity=uuid.uuid4().hex))
        elif there < VERSION:
            for number in range(there, VERSION):
                _log.info("%s: migrating to schema %d", shown(engine.url), number + 1)
                MIGRATIONS[number - 1](connection)
            connection.execute(sa.update(version).values(version=VERSION))
            if connection.scalar(sa.select(version.c.identity)) == "":
                new_identity(connection)


def new_identity(connection: sa.Connection) -> str:
    """Change the identity of the storage, and return the new one."""
    made = uuid.uuid4().hex
    connection.execute(sa.update(version).values(identity=made))
    return made


def _found(connection: sa.Connection) -> int:
    """Return the version of the tables that are there, 0 for none."""
    tables = sa.inspect(connection).get_table_names()
    if version.name not in tables:
        return 0
    rows = connection.execute(sa.select(version.c.version)).all()
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 1:
        raise StorageError(f"{shown(connection.engine.url)}: is damaged: it must have one version of its tables")
    check_version(rows[0][0], shown(connection.engine.url))
    return int(rows[0][0])


def check_version(there: int, address: str) -> None:
    """Refuse tables of a newer version."""
    if there > VERSION:
        raise StorageError(f"{address}: was written by a newer mobai (schema {there}, this one knows {VERSION})")
