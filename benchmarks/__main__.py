"""Print every benchmark's table."""

from __future__ import annotations

from benchmarks import oracle

oracle.main()
