"""Print every benchmark's table."""

from __future__ import annotations

from benchmarks import kernels, oracle, surrogate

kernels.main()
surrogate.main()
print()
oracle.main()
