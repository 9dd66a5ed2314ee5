"""Shared set-up: databases; hypothesis without a clock (shared machines are slow at times), examples reproducible."""

from __future__ import annotations

import pytest
from hypothesis import settings
from tests.databases import database, pgbouncer, postgresql, storage

__all__ = ["database", "pgbouncer", "postgresql", "storage"]

settings.register_profile("mobai", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mobai")


# What takes seconds, or needs a browser or a database server: make test-fast leaves it out.
SLOW = (
    "tests/audit",
    "tests/browser",
    "tests/docs",
    "tests/paper",
    "tests/service",
    "tests/testing",
    "tests/test_examples.py",
    "tests/test_wheel.py",
    "tests/cli/test_simulate.py",
    "tests/engine/test_family_check.py",
    "tests/kernels/test_cache.py",
    "tests/kernels/test_plain.py",
    "tests/lab/test_simulate.py",
    "tests/lab/test_trajectory.py",
    "tests/lab/test_warm_up.py",
    "tests/client",
    "tests/live/test_faults.py",
    "tests/live/test_fold.py",
    "tests/live/test_health.py",
    "tests/live/test_interrupts.py",
    "tests/live/test_late_metrics.py",
    "tests/live/test_sampler.py",
    "tests/live/test_snapshots.py",
    "tests/live/test_warm_up.py",
    "tests/rules/test_successive_elimination.py",
    "tests/theory/test_surrogate.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(config.rootpath).as_posix()
        if place.startswith(SLOW) or "postgresql" in item.name:
            item.add_marker("slow")
