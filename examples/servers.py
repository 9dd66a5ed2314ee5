"""Which server answers fastest where it matters, the slowest twentieth, in every region, and for what money?"""

from __future__ import annotations

import random

from mobai import Segments

SERVERS = {"old": 0.02, "new": 0.03, "huge": 0.60}  # dollars for a thousand requests, which sampling saves
# Median seconds, by region and server, and how unevenly they answer: what nobody knows.
SECONDS = {"europe": {"old": 0.30, "new": 0.18, "huge": 0.45}, "asia": {"old": 0.25, "new": 0.55, "huge": 0.40}}
SPREAD = {"old": 0.5, "new": 0.6, "huge": 0.4}


def main() -> None:
    """Send batches of requests from every region until its fastest server is known."""
    chance = random.Random(1)
    test = Segments.create(
        "memory:",
        "servers",
        list(SERVERS),
        ["seconds:min:p95", "errors/requests:min:bounded=0..50/0..50:eps=0.02"],
        list(SECONDS),
        costs=SERVERS,
        cost_unit="USD",
        guardrails=["seconds:p99:at-most=5:eps=1"],
        delta=0.05,
    )
    for region, experiment in test.items():
        while not experiment.verdict().stopped:
            reports = []
            for one in experiment.ask(20):
                # Here goes a request to the server; fifty are sent, and the seconds are those of one of them.
                seconds = SECONDS[region][one.arm] * chance.lognormvariate(0, SPREAD[one.arm])
                failed = sum(chance.random() < 0.01 for _ in range(50))
                reports.append((one, {"seconds": seconds, "errors": failed, "requests": 50}))
            experiment.tell_all(reports)
    status = test.status()
    print(status)  # noqa: T201
    for region, found in status.by_segment.items():
        print(f"{region}: {found.spending.words if found.spending else ''}")  # noqa: T201


if __name__ == "__main__":
    main()
