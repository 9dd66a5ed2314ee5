"""Which command is fastest? Each runs once per round, in a random order, so that a busy machine fools nobody.

The same from a shell, with a command that times itself and prints ``{"seconds": 0.12}``::

    mobai run --rounds --command './timed.sh {arm}' --arm sort --arm awk --metric seconds:min:wins
"""

from __future__ import annotations

import subprocess
import sys
import time

import mobai

COMMANDS = {
    "sum": "sum(range(200_000))",
    "loop": "total = 0\nfor n in range(200_000): total += n",
    "formula": "200_000 * 199_999 // 2",
}


def run(code: str, _: object) -> dict[str, float | None]:
    """Run a command once, and return how long it took."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
    return {"seconds": time.perf_counter() - start}


def main() -> None:
    """Run the commands until it is known which is the fastest in more rounds than not."""
    found = mobai.race(COMMANDS, None, run, ["seconds:min:wins"], rounds=True, budget=1_500)
    print(found)  # noqa: T201


if __name__ == "__main__":
    main()
