"""Print every benchmark's table."""

from __future__ import annotations

from benchmarks import kernels, live, oracle, pages, service, surrogate, trials

kernels.main()
surrogate.main()
print()
oracle.main()
print()
trials.main()
print()
live.main()
print()
service.main()
print()
pages.main()
