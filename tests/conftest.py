"""Shared set-up: databases; hypothesis without a clock (shared machines are slow at times), examples reproducible."""

from __future__ import annotations

from hypothesis import settings
from tests.databases import database, pgbouncer, postgresql, storage

__all__ = ["database", "pgbouncer", "postgresql", "storage"]

settings.register_profile("mobai", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mobai")
