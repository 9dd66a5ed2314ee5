"""Storages of the tests in SQLite files: their addresses, changes behind their back, careless copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def keep(path: Path, copy_: Path) -> None:
    """Copy a storage as somebody would who knows no better, with everything in its log."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, copy_)
