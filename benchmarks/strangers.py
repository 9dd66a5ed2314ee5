"""Reports of a client with a token, beside thousands of connections of strangers: silent, slow and dripping.

The service may have 1,024 descriptors. Strangers who are hung up on come again after a second. The client makes a
new connection for every second report.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mobai.service.tokens import create_token
from mobai.store.sql import SqlJournal

STRANGERS = 2_000
DESCRIPTORS = 1_024
SECONDS = 20.0
SECONDS_AWAY = 1.0
# What they say at first, and what they add now and then.
KINDS = (
    (b"", b""),
    (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n"),
    (b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
     b"Content-Length: 60000\r\n\r\n", b"x"),
    (b"POST /api/v1/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     b"Content-Length: 2000000\r\n\r\n", b" " * 1000),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 20_000),
)  # fmt: skip


class Strangers(multiprocessing.Process):
    """Keeps connections open, says little on them, and connects again where it was hung up on."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.came_again = port, multiprocessing.Value("i", -STRANGERS, lock=False)
        self.looks = selectors.DefaultSelector()
        self.away: list[tuple[float, int]] = []

    def connect(self, number: int) -> None:
        plain = socket.socket()
        plain.setblocking(False)
        plain.connect_ex(("127.0.0.1", self.port))
        self.looks.register(plain, selectors.EVENT_READ, [number, False])
        self.came_again.value += 1

    def run(self) -> None:
        for number in range(STRANGERS):
            self.connect(number)
        while True:
            for key, _ in self.looks.select(0.05):
                plain: socket.socket = key.fileobj  # type: ignore[assignment]
                try:
                    if plain.recv(65536):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                self.again(plain, key.data[0])
            for key in list(self.looks.get_map().values()):
                self.speak(key.fileobj, key.data)  # type: ignore[arg-type]
            back = [number for when, number in self.away if when < time.monotonic()]
            self.away = self.away[len(back) :]
            for number in back:
                self.connect(number)
            time.sleep(0.1)

    def speak(self, plain: socket.socket, about: list[int | bool]) -> None:
        first, more = KINDS[about[0] % len(KINDS)]
        try:
            if not about[1]:
                plain.send(first)
                about[1] = True
            elif more:
                plain.send(more)
        except BlockingIOError:
            pass
        except OSError:
            self.again(plain, int(about[0]))

    def again(self, plain: socket.socket, number: int) -> None:
        self.looks.unregister(plain)
        plain.close()
        self.away.append((time.monotonic() + SECONDS_AWAY, number))


def megabytes(pid: int) -> float:
    """Return the memory that a process has."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) / 1024 if found else float("nan")


class Reporter:
    """Asks and reports with a token, in one call."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.assignment = port, 0
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self, path: str, body: object, fresh: bool = False) -> dict[str, list[dict[str, int]]]:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30) if fresh else self.kept
        client.request("POST", path, json.dumps(body), self.headers)
        answer = client.getresponse()
        found = answer.read()
        assert answer.status < 300, found
        if fresh:
            client.close()
        return json.loads(found) if found else {}

    def begin(self) -> None:
        new = {"name": "x", "arms": ["a", "b", "c"], "objectives": ["click:bernoulli", "cost:min:gaussian=1"]}
        self.call("/api/v1/experiments", {**new, "delta": 1e-9})
        self.assignment = self.call("/api/v1/experiments/x/assignments", {"n": 1})["assignments"][0]["assignment"]

    def report(self, fresh: bool) -> float:
        """Return how long a report took."""
        start = time.perf_counter()
        one = {"assignment": self.assignment, "metrics": {"click": self.assignment % 2, "cost": 1.0}}
        found = self.call("/api/v1/experiments/x/reports", {"reports": [one], "ask": 1}, fresh)
        self.assignment = found["assignments"][0]["assignment"]
        return time.perf_counter() - start


def measure(reporter: Reporter) -> np.ndarray:
    """Report for a while, and return the milliseconds of each."""
    taken: list[float] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        taken.append(reporter.report(fresh=len(taken) % 2 == 1))
        time.sleep(0.01)
    return 1000 * np.array(taken)


def main() -> None:
    """Print the times of reports, with and without strangers."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/x.db"
        token = create_token(SqlJournal(storage), "bench", "admin")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        service = subprocess.Popen([sys.executable, "-m", "mobai", "serve", "--storage", storage, "--port", str(port)])
        resource.prlimit(service.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        try:
            reporter = Reporter(port, token)
            while True:
                try:
                    reporter.begin()
                    break
                except OSError:
                    reporter.kept.close()
                    time.sleep(0.1)
            head = ("median", "99 %", "most", "99 % kept", "99 % new", "service MB")
            print(f"{'reports of a client with a token, ms':40}" + "".join(f"{one:>11}" for one in head))
            for name in ("alone", f"beside {STRANGERS:,} strangers"):
                strangers = None if name == "alone" else Strangers(port)
                if strangers is not None:
                    strangers.start()
                    time.sleep(2)
                taken = measure(reporter)
                late = [np.percentile(part, 99) for part in (taken, taken[::2], taken[1::2])]
                row = (np.median(taken), late[0], taken.max(), *late[1:], megabytes(service.pid))
                print(f"{name:40}" + "".join(f"{one:11.1f}" for one in row))
                if strangers is not None:
                    strangers.kill()
                    print(f"{'(strangers who came again)':40}{strangers.came_again.value:11,}")
        finally:
            service.terminate()
            service.wait(30)


if __name__ == "__main__":
    main()
