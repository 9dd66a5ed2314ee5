"""Ctrl-C at any moment, and forks at any moment."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.rounds import new, run

from mobai import Experiment, StorageError
from mobai.store.interrupts import ForkGate, ctrl_c_waits

# Works until it was interrupted so many times; whatever else happens is printed.
WORKER = """
import signal, sys
from mobai import Experiment

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started it may have it ignored
test, tries, seen, deaf = Experiment.load(sys.argv[1], "test"), int(sys.argv[2]), 0, False

def work():
    global seen, deaf
    while seen < tries:
        try:
            (assignment,) = test.ask()
            test.tell(assignment, {"click": 1.0, "latency": 80.0})
            test.status()
        except KeyboardInterrupt:
            seen += 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    deaf = True

def guard(depth):  # an interrupt may fall between two statements of the worker itself
    while not deaf:
        try:
            work() if depth == 0 else guard(depth - 1)
        except KeyboardInterrupt:
            pass

(assignment,) = test.ask()  # everything is compiled before it begins
test.tell(assignment, {"click": 1.0, "latency": 80.0})
test.status()
print("ready", flush=True)
guard(8)
print("done", flush=True)
"""


@pytest.fixture(autouse=True)
def python_hears_ctrl_c() -> Iterator[None]:
    """Processes that run in the background may have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_at_any_moment(storage: str, tmp_path: Path) -> None:
    """A slice of the full test (900 tries): nothing but KeyboardInterrupt, and no traceback of a library."""
    new(storage)
    errors = tmp_path / "errors.txt"
    with errors.open("w") as file:
        command = [sys.executable, "-c", WORKER, storage, "60"]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    luck, end = random.Random(1), time.monotonic() + 120
    while not select.select([worker.stdout], [], [], 0.001 + 0.01 * luck.random())[0]:
        if time.monotonic() > end:
            worker.kill()
        worker.send_signal(signal.SIGINT)
    assert worker.stdout.read() == "done\n"
    assert worker.wait(30) == 0
    worker.stdout.close()
    assert errors.read_text() == ""
    assert Experiment.load(storage, "test").verify().intact


def test_ctrl_c_waits_for_the_end_and_then_surfaces() -> None:
    done, cancelled = [], []

    def work() -> None:
        with ctrl_c_waits(lambda: cancelled.append(True)):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append(True)
            raise StorageError("because it was cancelled")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (done, cancelled) == ([True], [True])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mobai.store.interrupts._SECONDS_OF_PATIENCE", 0.0)
    reached = []

    def work() -> None:
        with ctrl_c_waits():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == []


def test_a_handler_of_somebody_elses_stays() -> None:
    mine: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: mine.append(number))
    try:
        with ctrl_c_waits():
            os.kill(os.getpid(), signal.SIGINT)
            assert mine == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_fork_while_threads_are_in_calls(storage: str) -> None:
    """The child goes on with the experiment that other threads were in the middle of using; none hangs."""
    test = new(storage)
    ending, errors = threading.Event(), []

    def work() -> None:
        while not ending.is_set():
            try:
                run(test, 1)
            except BaseException as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    run(test, 2)
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        ending.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert test.status().pending == 0
    assert test.verify().intact


def test_the_gate_lets_a_thread_in_twice() -> None:
    gate, order = ForkGate(), []

    def fork() -> None:
        gate.shut()
        order.append("shut")
        gate.reopen()

    with gate:
        other = threading.Thread(target=fork)
        other.start()
        time.sleep(0.05)
        with gate:
            order.append("inside")
    other.join()
    assert order == ["inside", "shut"]
