"""A worker in Python: it shows pages to visitors and tells a service what they did, until every metric is decided.

mobai serve &
python examples/worker.py http://127.0.0.1:8321
"""

from __future__ import annotations

import random
import sys

from mobai import ConflictError, Experiment

ARMS = {"plain": (0.10, 9.0), "bold": (0.35, 8.0), "video": (0.20, 4.0)}  # chance of a signup, mean seconds to load


def visit(page: str, luck: random.Random) -> dict[str, float]:
    """Return what a visitor does: this is where your own measurement goes."""
    chance, seconds = ARMS[page]
    return {"signup": float(luck.random() < chance), "seconds": luck.gauss(seconds, 1.0)}


def main(address: str) -> None:
    """Begin the experiment, or join it, and work until it is decided."""
    objectives = ["signup:bernoulli", "seconds:min:bounded=0..30"]
    try:
        test = Experiment.create(address, "landing page", list(ARMS), objectives, delta=0.05)
    except ConflictError:
        test = Experiment.load(address, "landing page")
    luck = random.Random(1)
    waiting = test.ask(5)
    while not test.verdict().stopped:
        # Five visitors at a time; their reports and the next five assignments are one durable call.
        waiting = test.tell_all([(one, visit(one.arm, luck)) for one in waiting], ask=5)
    for one in waiting:
        test.drop(one)
    print(test.status())  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8321")
