"""Shared set-up: hypothesis without a clock (shared machines are slow at times) and with reproducible examples."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

import mobai

settings.register_profile("mobai", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mobai")


def pytest_configure() -> None:
    """Make numba renew its cache after a change of any kernel: by itself it looks only at the entries' own files."""
    kernels = Path(mobai.__file__).parent / "kernels"
    newest = max(path.stat().st_mtime for path in kernels.glob("*.py"))
    for entry in (kernels / "oracle.py", kernels / "surrogate.py"):
        if entry.stat().st_mtime < newest:
            entry.touch()
