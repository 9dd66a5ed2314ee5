"""Processes for the tests of concurrency and faults: run as a script, outside of pytest.

``fleet.py work STORAGE ROUNDS WORKERS FORK`` lets several processes ask and tell at once; with FORK 1 they are forked,
and each goes on with the experiment, and so the journal, that its parent had in its hands and then lets go of.
``fleet.py kill STORAGE TELLS KILLS SEED`` kills a telling process with SIGKILL again and again, at random moments, and
checks after each time that everything it had acknowledged is there.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mobai import Experiment

CHANCES, TIMES = {"A": 0.30, "B": 0.34, "C": 0.32}, {"A": 80.0, "B": 78.0, "C": 79.0}


def measure(number: int, arm: str) -> dict[str, float]:
    """What a pull brings: a function of its number and arm."""
    rng = np.random.default_rng([number, ord(arm)])
    return {"click": float(rng.random() < CHANCES[arm]), "latency": float(rng.normal(TIMES[arm], 10))}


def create(storage: str) -> Experiment:
    """An experiment that will not be decided soon."""
    objectives = ["click:bernoulli", "latency:min:unknown-variance"]
    guardrails = ["click:at-least=0.05:eps=0.02"]
    return Experiment.create(storage, "fleet", ["A", "B", "C"], objectives, delta=1e-6, guardrails=guardrails)


def work(given: str | Experiment, rounds: int, results: Any) -> None:
    """Ask and tell, so often; report the ids, or the error."""
    try:
        test, ids = Experiment.load(given, "fleet") if isinstance(given, str) else given, []
        for n in range(rounds):
            unit = f"{os.getpid()} {n}" if n % 2 else None
            (assignment,) = test.ask(unit=unit)
            if unit is not None and test.ask(unit=unit) != [assignment]:
                raise ValueError(f"{unit} has another assignment now")
            test.tell(assignment, measure(*assignment), by="fleet")
            ids.append(assignment.id)
        results.put(ids)
    except Exception as error:
        results.put(f"{type(error).__name__}: {error}")


def work_together(storage: str, rounds: int, workers: int, fork: int) -> dict[str, Any]:
    """Let several processes work at once and compare what they say with the journal."""
    test = create(storage)
    context: Any = multiprocessing.get_context("fork" if fork else "spawn")
    results = context.Queue()
    given = [test if fork else storage]
    del test
    processes = [context.Process(target=work, args=(given[0], rounds, results)) for _ in range(workers)]
    for process in processes:
        process.start()
    given.clear()
    gc.collect()
    reports = [results.get() for _ in processes]
    for process in processes:
        process.join()
    test = Experiment.load(storage, "fleet")
    status, replayed = test.status(), test.replay()
    ids = sorted(number for report in reports if isinstance(report, list) for number in report)
    return {
        "errors": [report for report in reports if isinstance(report, str)],
        "ids_once": ids == list(range(1, workers * rounds + 1)),
        "told": status.verdict.pulls,
        "pending": status.pending,
        "replay_equal": replayed.verdict.evidence.tolist() == status.verdict.evidence.tolist(),
    }


def tell_until_killed(storage: str, most: int, acknowledged: int) -> None:
    """Ask and tell, and write every id to a pipe as soon as it is acknowledged."""
    test = Experiment.load(storage, "fleet")
    while (pulls := test.status().verdict.pulls) < most:
        # Killed in between, the same unit is asked for again, and has the same assignment.
        (assignment,) = test.ask(unit=f"unit {pulls}")
        test.tell(assignment, measure(*assignment))
        os.write(acknowledged, b"%d\n" % assignment.id)


def kill_again_and_again(storage: str, tells: int, kills: int, seed: int) -> dict[str, Any]:
    """Kill the teller so often within so many tells; gives what was found."""
    create(storage)
    luck, known, killed, lost, twice = random.Random(seed), set[int](), 0, 0, 0
    told: list[int] = []
    while True:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            tell_until_killed(storage, tells, writing)
            os._exit(0)
        os.close(writing)
        if killed < kills:
            gap = 2 * (tells - len(told)) // (kills - killed + 1)
            killed += _kill_at_a_random_moment(child, reading, luck.randrange(1, max(gap, 2)), known, luck)
        else:
            known |= {int(line) for line in _read_all(reading).split()}
        os.close(reading)
        os.waitpid(child, 0)
        test = Experiment.load(storage, "fleet")
        told = [report[0] for event in test.history() if event.kind == "told" for report in event.body["reports"]]
        lost += len(known - set(told))
        twice += len(told) - len(set(told))
        if test.status().verdict.pulls >= tells:
            break
    replayed = test.replay()
    return {
        "kills": killed,
        "tells": len(told),
        "acknowledged": len(known),
        "lost": lost,
        "twice": twice,
        "replay_equal": replayed.verdict.evidence.tolist() == test.verdict().evidence.tolist(),
        "rewards_right": _rewards_right(test),
    }


def _kill_at_a_random_moment(child: int, reading: int, after: int, known: set[int], luck: random.Random) -> int:
    """Kill the child some time after so many acknowledgements."""
    text = b""
    while text.count(b"\n") < after:
        part = os.read(reading, 65536)
        if not part:
            break
        text += part
    time.sleep(luck.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    text += _read_all(reading)
    known |= {int(line) for line in text.split()}
    return 1


def _read_all(reading: int) -> bytes:
    text = b""
    while part := os.read(reading, 65536):
        text += part
    return text


def _rewards_right(test: Experiment) -> bool:
    """Compare every reward in the journal with what was measured."""
    arms: list[int] = []
    told: dict[int, dict[str, float]] = {}
    for event in test.history():
        if event.kind == "asked":
            arms += event.body["arms"]
        if event.kind == "told":
            told.update(event.body["reports"])
    names = test.problem.arms
    return all(metrics == measure(number, names[arms[number - 1]]) for number, metrics in told.items())


if __name__ == "__main__":
    what, address, *numbers = sys.argv[1:]
    jobs: dict[str, Callable[..., dict[str, Any]]] = {"work": work_together, "kill": kill_again_and_again}
    print(json.dumps(jobs[what](address, *map(int, numbers))))  # noqa: T201
