"""Shared set-up: hypothesis without a clock (shared machines are slow at times) and with reproducible examples."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("mobai", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("mobai")
