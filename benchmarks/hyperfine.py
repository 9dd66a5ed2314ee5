"""Which command is faster, on a machine with and without a load that comes and goes: mobai bench beside hyperfine.

``python -m benchmarks.hyperfine [runs]``; needs hyperfine and a C compiler. Two programs that count, one of them 10 %
or 0 % further. hyperfine runs one after the other (ten times and three seconds each, at least), mobai in rounds until
it is sure. hyperfine names the one with the smaller mean; "beyond its +-" takes that for said only where the ratio it
prints is further from 1 than the deviation that it prints beside.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

RUNS = 20
_COUNT = 40_000_000
_SOURCE = """
#include <stdlib.h>
int main(int n, char **words) {
    volatile long left = atol(words[1]);
    while (left > 0) left--;
    return 0;
}
"""


class Outcome(NamedTuple):
    """What a tool said of two programs: the first is faster (1), slower (-1) or nothing (0); and how often it ran."""

    said: int
    runs: int
    seconds: float


def hyperfine(first: str, second: str, folder: Path) -> dict[str, Outcome]:
    """Return what hyperfine says: by the means, and where these differ by more than the deviation of their ratio."""
    begin = time.monotonic()
    words = ["hyperfine", "-N", "--style", "none", "--export-json", str(folder / "found.json"), first, second]
    subprocess.run(words, check=True, capture_output=True)
    one, two = json.loads((folder / "found.json").read_text())["results"]
    ratio = two["mean"] / one["mean"]
    spread = ratio * ((one["stddev"] / one["mean"]) ** 2 + (two["stddev"] / two["mean"]) ** 2) ** 0.5
    said = Outcome(1 if ratio > 1 else -1, len(one["times"]) + len(two["times"]), time.monotonic() - begin)
    beyond = said if abs(ratio - 1) > spread else said._replace(said=0)
    return {"hyperfine": said, "beyond its +-": beyond}


def mobai(first: str, second: str, folder: Path) -> dict[str, Outcome]:  # noqa: ARG001
    """Return what ``mobai bench`` says."""
    begin = time.monotonic()
    seed = str(random.randrange(10**6))
    words = [sys.executable, "-m", "mobai", "bench", "-N", first, second, "--json", "--seed", seed]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    fastest = found["mobai"]["fastest"]["seconds"]
    runs = sum(len(one["times"]) for one in found["results"])
    return {"mobai bench": Outcome({None: 0, first: 1, second: -1}[fastest], runs, time.monotonic() - begin)}


def _burn(seed: int) -> None:
    """Keep a core busy for a while, and leave it alone for a while."""
    coins = random.Random(seed)
    while True:
        until = time.monotonic() + coins.uniform(0.5, 3.0)
        while time.monotonic() < until:
            pass
        time.sleep(coins.uniform(0.5, 3.0))


@contextmanager
def load(on: bool) -> Iterator[None]:
    """Have programs come and go, two on every core."""
    busy = [multiprocessing.Process(target=_burn, args=(n,), daemon=True) for n in range(2 * (os.cpu_count() or 1))]
    for one in busy if on else []:
        one.start()
    try:
        yield
    finally:
        for one in busy if on else []:
            one.kill()
            one.join()


def main(runs: int = RUNS) -> None:
    """Print a table: how often each tool is wrong, says nothing, and how many runs it takes."""
    if shutil.which("hyperfine") is None or shutil.which("cc") is None:
        print("needs hyperfine and cc")
        return
    print(f"mobai bench beside hyperfine: {runs} comparisons each")
    print("programs      load             tool           right  wrong  nothing  runs  seconds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "count.c").write_text(_SOURCE)
        for program in ("one", "two"):
            words = ["cc", "-O1", "-o", str(folder / program), str(folder / "count.c")]
            subprocess.run(words, check=True)
        for share in (0.1, 0.0):
            first, second = f"{folder}/one {_COUNT}", f"{folder}/two {round(_COUNT * (1 + share))}"
            for on in (False, True):
                found: dict[str, list[Outcome]] = {}
                with load(on):
                    for n in range(runs):
                        # Each is first in the command line half of the time.
                        pair, sign = ((first, second), 1) if n % 2 == 0 else ((second, first), -1)
                        for tool in (hyperfine, mobai):
                            for tool_name, outcome in tool(*pair, folder).items():
                                found.setdefault(tool_name, []).append(outcome._replace(said=sign * outcome.said))
                for tool_name, outcomes in found.items():
                    print(_line(share, on, tool_name, outcomes))


def _line(share: float, on: bool, tool: str, outcomes: list[Outcome]) -> str:
    truth = 1 if share else 0
    right = sum(one.said == truth for one in outcomes)
    nothing = sum(one.said == 0 for one in outcomes) if truth else 0
    runs = sum(one.runs for one in outcomes) / len(outcomes)
    seconds = sum(one.seconds for one in outcomes) / len(outcomes)
    what = f"{100 * share:.0f} % apart" if share else "equal"
    how = "comes and goes" if on else "none"
    wrong = len(outcomes) - right - nothing
    return f"{what:12}  {how:15}  {tool:13}  {right:5}  {wrong:5}  {nothing:7}  {runs:4.0f}  {seconds:7.1f}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
