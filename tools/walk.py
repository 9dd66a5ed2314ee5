"""Count the functions and files of mobai that one `tell`, one HTTP report and one page go through.

.venv/bin/python -m tools.walk
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.service.serving import API, running

import mobai
from mobai import Experiment

SOURCE = str(Path(mobai.__file__).parent)
seen: set[tuple[str, str]] = set()


def note(frame: FrameType, event: str, _: Any) -> None:
    """Take down a function that is called, in whichever thread."""
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
        seen.add((code.co_filename, code.co_qualname))


def show(what: str, call: Callable[[], Any]) -> None:
    """Make a call, and print how many functions, and in how many files, it went through."""
    seen.clear()
    call()
    sys.stdout.write(f"{what:12} {len(seen)} functions in {len({file for file, _ in seen})} files\n")


def main() -> None:
    """Print the counts, of calls of which nothing is the first of its kind."""
    threading.setprofile(note)
    sys.setprofile(note)
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'walk.db'}"
        metrics = ["click:bernoulli", "seconds:min:bounded=0..30"]
        test = Experiment.create(storage, "walk", ["A", "B", "C"], metrics)
        for assignment in test.ask(20):
            test.tell(assignment, {"click": 1, "seconds": 3.0})
        assignment, first, other = test.ask(3)
        show("tell", lambda: test.tell(assignment, {"click": 0, "seconds": 4.0}))
        with running(storage) as (client, _):
            bodies = [{"reports": [{"assignment": one.id, "metrics": {"click": 1}}]} for one in (first, other)]
            client("POST", f"{API}/walk/reports", bodies[0])
            show("HTTP report", lambda: client("POST", f"{API}/walk/reports", bodies[1]))
            client("GET", "/e/walk", Accept="text/html")
            test.tell(other, {"seconds": 2.0})
            show("page", lambda: client("GET", "/e/walk", Accept="text/html"))


if __name__ == "__main__":
    main()
