"""The tables, their version, and the steps that bring older databases up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable

import sqlalchemy as sa

from mobai.errors import InputError, StorageError
from mobai.live.database import shown

_log = logging.getLogger(__name__)

metadata = sa.MetaData()

version = sa.Table("mobai_schema", metadata, sa.Column("version", sa.Integer, nullable=False))
experiments = sa.Table(
    "mobai_experiments",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
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
    sqlite_with_rowid=False,
)
snapshots = sa.Table(
    "mobai_snapshots",
    metadata,
    sa.Column("experiment", sa.ForeignKey("mobai_experiments.id"), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)


def _first_tables(connection: sa.Connection) -> None:
    metadata.create_all(connection)


# Step n makes version n out of version n - 1. Steps are never changed once released, only added.
MIGRATIONS: list[Callable[[sa.Connection], None]] = [_first_tables]


def migrate(engine: sa.Engine, *, create: bool) -> None:
    """Bring the tables up to date in one transaction, or make them with ``create``; refuse what is not ours."""
    with engine.connect().execution_options(begin="DEFERRED") as connection, connection.begin():
        there = _found(connection)
        if there == len(MIGRATIONS):
            return
        if there == 0 and not create:
            raise InputError(f"storage: {shown(engine.url)} holds no experiments; creating one makes the tables")
    with engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7267001)"))
        there = _found(connection)
        for number, step in enumerate(MIGRATIONS[there:], there + 1):
            what = "migrating to schema" if there else "making the tables of schema"
            _log.info("%s: %s %d", engine.url.render_as_string(hide_password=True), what, number)
            step(connection)
        if there == 0:
            connection.execute(sa.insert(version).values(version=len(MIGRATIONS)))
        elif there < len(MIGRATIONS):
            connection.execute(sa.update(version).values(version=len(MIGRATIONS)))


def _found(connection: sa.Connection) -> int:
    """Return the version of the tables that are there, 0 for none."""
    tables = sa.inspect(connection).get_table_names()
    if version.name not in tables:
        return 0
    there = connection.scalar(sa.select(version.c.version))
    if there is None or there > len(MIGRATIONS):
        url = connection.engine.url.render_as_string(hide_password=True)
        raise StorageError(f"{url}: was written by a newer mobai (schema {there}, this one knows {len(MIGRATIONS)})")
    return int(there)
