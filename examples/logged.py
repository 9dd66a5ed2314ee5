"""What does a log prove that is already there? Which delivery option is best for refunds, and which for the basket?

python examples/logged.py            (reads examples/logged.csv)

The same from a shell::

    mobai analyse examples/logged.csv --arm-column option \
        --objective refund:min:bernoulli --objective basket:bounded=0..200 --delta 0.05
"""

from __future__ import annotations

from pathlib import Path

from mobai import analyse
from mobai.analysis.analyse import Analysis

LOG = Path(__file__).with_name("logged.csv")


def main() -> Analysis:
    """Read the log as one moment, and print what it proves."""
    objectives = ["refund:min:bernoulli", "basket:bounded=0..200"]
    found = analyse(LOG, objectives, arm="option", delta=0.05)
    print(found)  # noqa: T201
    return found


if __name__ == "__main__":
    main()
