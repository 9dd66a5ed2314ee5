"""Landing pages, with everything a real test has: visitors who keep their page, late signups, a guardrail, a baseline.

python examples/landing_pages.py

Seconds and errors are known when a visitor leaves; whether they sign up is known a while later, or never, when they
cannot be reached. Visitors are simulated; put your own measurements in their place.
"""

from __future__ import annotations

import random
from collections import deque

from mobai import Experiment, Unit
from mobai.store.journal import MemoryJournal

# The chances of a signup and of an error, and the mean seconds on the page. "video" errs too often.
PAGES = {
    "control": (0.10, 0.01, 30.0),
    "bold": (0.22, 0.01, 31.0),
    "story": (0.14, 0.02, 40.0),
    "video": (0.30, 0.25, 38.0),
}
LATE = 25  # so many visitors later a signup is known


def main() -> Experiment:
    """Send visitors until every metric is decided."""
    luck = random.Random(7)
    test = Experiment.create(
        MemoryJournal(),
        "landing pages",
        list(PAGES),
        ["signup:bernoulli", "seconds:bounded=0..120"],
        guardrails=["errors:bernoulli:at-most=0.05:eps=0.05"],
        baseline="control",
        delta=0.05,
    )
    leaving: deque[tuple[str, float | None]] = deque()
    for number in range(1, 20_001):
        visitor = f"visitor {number}"
        (page,) = test.ask(unit=visitor)
        assert test.ask(unit=visitor) == [page]  # the same visitor sees the same page, however often they come
        signup, errors, seconds = PAGES[page.arm]
        test.tell(unit=visitor, metrics={"errors": float(luck.random() < errors), "seconds": luck.gauss(seconds, 8.0)})
        reached = luck.random() < 0.95  # whatever they did on the page: else the guarantee would be lost
        leaving.append((visitor, float(luck.random() < signup) if reached else None))
        if len(leaving) > LATE:
            gone, signed_up = leaving.popleft()
            test.tell_all([(Unit(gone), {"signup": signed_up})])  # None: it will not come
        if test.verdict().stopped:
            break
    print(test.status())  # noqa: T201
    return test


if __name__ == "__main__":
    main()
